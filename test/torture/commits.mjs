// node commits.mjs FILE SYNCHRONOUS N: commits N rows one after the other, says how many were acknowledged, or the code of the first error,
// and waits to be killed.
import Database from "better-sqlite3"

const [filename, synchronous, count] = process.argv.slice(2)

const commit = () => {
  const db = new Database(filename)
  db.pragma("journal_mode = WAL")
  db.pragma(`synchronous = ${synchronous}`)
  db.exec("CREATE TABLE t (n INTEGER PRIMARY KEY, text TEXT)")
  const insert = db.prepare("INSERT INTO t (text) VALUES (?)")
  for (let i = 0; i < Number(count); i++) insert.run("x".repeat(2000))
  return `acknowledged ${count}`
}

const said = () => {
  try {
    return commit()
  } catch (error) {
    return error.code
  }
}

process.stdout.write(`${said()}\n`)
setInterval(() => undefined, 1000)
