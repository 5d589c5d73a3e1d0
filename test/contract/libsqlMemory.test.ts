import { describe } from "@effect/vitest"
import type * as LibsqlStore from "holdfast/LibsqlStore"
import * as ContractSuite from "holdfast/testing/ContractSuite"
import * as Subject from "holdfast/testing/Subject"
import { long, longer } from "../support/extent.js"
import * as Libsql from "../support/libsql.js"

const layerWith = (options: Omit<LibsqlStore.Options, "url">) => Libsql.layer({ ...options, url: ":memory:" })

const subject = Subject.make(layerWith({}), { layerWith, raw: Libsql.raw })

const { commit, concurrency, histories, outbox, prefix, timers, together, ...others } = ContractSuite.topics

// It is the store on a file but for its one connection, on which all commits and reads are; the file has the whole suite.
describe("LibsqlStore in memory", () => {
  for (const topic of [commit, concurrency, histories, outbox, prefix, timers, together]) topic(subject)
})

if (long) {
  describe(longer("LibsqlStore in memory"), () => {
    for (const topic of Object.values(others)) topic(subject)
  })
}
