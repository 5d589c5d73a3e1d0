import { it } from "@effect/vitest"
import { onFiles } from "../support/sqliteContract.js"
import { available } from "../support/sqliteLibraries.js"

if (available.includes("node:sqlite")) onFiles("node:sqlite")
else it.skip("SqliteStore by node:sqlite, which this Node does not have")
