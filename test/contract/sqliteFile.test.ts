import { onFiles } from "../support/sqliteContract.js"

onFiles("better-sqlite3")
