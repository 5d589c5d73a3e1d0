import { describe } from "@effect/vitest"
import * as MemoryStore from "holdfast/MemoryStore"
import * as ContractSuite from "holdfast/testing/ContractSuite"
import { corruption } from "holdfast/testing/contract/corruption"
import { deadLetters } from "holdfast/testing/contract/deadLetters"
import { failures } from "holdfast/testing/contract/failures"
import { foreign } from "holdfast/testing/contract/foreign"
import { ledger } from "holdfast/testing/contract/ledger"
import { purge } from "holdfast/testing/contract/purge"
import { stats } from "holdfast/testing/contract/stats"
import * as Subject from "holdfast/testing/Subject"
import * as memoryRows from "../support/memoryRows.js"

ContractSuite.suite("MemoryStore", MemoryStore.layer, { layerWith: MemoryStore.layerWith })

describe("MemoryStore with rows of others", () => {
  const subject = Subject.make(memoryRows.layer, { raw: memoryRows.raw })
  for (const topic of [foreign, corruption, ledger, purge, failures, deadLetters, stats]) topic(subject)
})
