import { it } from "@effect/vitest"
import * as ContractShare from "../support/contractShare.js"
import { onFiles } from "../support/sqliteContract.js"
import { available } from "../support/sqliteLibraries.js"

if (available.includes("node:sqlite")) {
  onFiles("node:sqlite", (name, layer, options) =>
    ContractShare.suite(name, layer, { ...options, part: { of: 6, rest: 5 } })
  )
} else {
  it.skip("SqliteStore by node:sqlite, which this Node does not have")
}
