import { describe } from "@effect/vitest"
import * as MemoryStore from "holdfast/MemoryStore"
import * as ContractSuite from "holdfast/testing/ContractSuite"
import * as Subject from "holdfast/testing/Subject"
import * as memoryRows from "../support/memoryRows.js"

ContractSuite.suite("MemoryStore", MemoryStore.layer, { layerWith: MemoryStore.layerWith })

describe("MemoryStore with rows of others", () => {
  const subject = Subject.make(memoryRows.layer, { raw: memoryRows.raw })
  const { corruption, deadLetters, failures, foreign, ledger, purge, stats, verify } = ContractSuite.topics
  for (const topic of [foreign, corruption, ledger, purge, failures, deadLetters, stats, verify]) topic(subject)
})
