import * as ContractShare from "../support/contractShare.js"
import { onFiles } from "../support/sqliteContract.js"

onFiles("better-sqlite3", (name, layer, options) =>
  ContractShare.suite(name, layer, { ...options, part: { of: 2, rest: 0 } })
)
