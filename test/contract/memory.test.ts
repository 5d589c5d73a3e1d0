import { describe } from "@effect/vitest"
import * as MemoryStore from "holdfast/MemoryStore"
import * as ContractSuite from "holdfast/testing/ContractSuite"
import * as Subject from "holdfast/testing/Subject"
import * as ContractShare from "../support/contractShare.js"
import * as memoryRows from "../support/memoryRows.js"

// All of it: it takes little but for the properties.
ContractShare.suite("MemoryStore", MemoryStore.layer, {
  layerWith: MemoryStore.layerWith,
  part: { of: 1, rest: 0 }
})

describe("MemoryStore with rows of others", () => {
  const subject = Subject.make(memoryRows.layer, { raw: memoryRows.raw })
  const { corruption, deadLetters, failures, foreign, ledger, purge, stats, verify } = ContractSuite.topics
  for (const topic of [foreign, corruption, ledger, purge, failures, deadLetters, stats, verify]) topic(subject)
})
