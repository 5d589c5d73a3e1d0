import { describe } from "@effect/vitest"
import type * as LibsqlStore from "holdfast/LibsqlStore"
import * as ContractSuite from "holdfast/testing/ContractSuite"
import * as Subject from "holdfast/testing/Subject"
import { long } from "../support/extent.js"
import * as Libsql from "../support/libsql.js"

const layerWith = (options: Omit<LibsqlStore.Options, "url">) => Libsql.layer({ ...options, url: ":memory:" })

const name = "LibsqlStore in memory"
const options = { layerWith, raw: Libsql.raw }

if (long) ContractSuite.suite(name, layerWith({}), options)
else {
  // It is the store on a file but for its one connection, on which all commits and reads are; the file has the whole suite.
  describe(name, () => {
    const subject = Subject.make(layerWith({}), options)
    const { commit, concurrency, histories, outbox, prefix, timers, together } = ContractSuite.topics
    for (const topic of [commit, concurrency, histories, outbox, prefix, timers, together]) topic(subject)
  })
}
