import { it } from "@effect/vitest"
import * as ContractSuite from "holdfast/testing/ContractSuite"
import { onFiles } from "../support/sqliteContract.js"
import { available } from "../support/sqliteLibraries.js"

if (available.includes("bun:sqlite")) onFiles("bun:sqlite", ContractSuite.suite)
else it.skip("SqliteStore by bun:sqlite, which only Bun has")
