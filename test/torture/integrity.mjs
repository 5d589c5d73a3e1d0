// node integrity.mjs FILE: prints what SQLite finds wrong with a database, a line each; nothing where all is well.
import Database from "better-sqlite3"

try {
  const db = new Database(process.argv[2])
  const found = db.pragma("integrity_check")
  db.close()
  for (const { integrity_check: text } of found) if (text !== "ok") console.log(text)
} catch (error) {
  console.log(String(error))
}
