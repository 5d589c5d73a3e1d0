// node lockFile.mjs FILE BEGIN: holds the lock that the statement BEGIN takes, from saying "locked" until a line comes on standard input.
import Database from "better-sqlite3"

const [filename, begin] = process.argv.slice(2)

const db = new Database(filename)
db.exec(begin)
process.stdout.write("locked\n")
process.stdin.once("data", () => {
  db.exec("ROLLBACK")
  process.stdout.write("released\n")
})
process.stdin.once("end", () => process.exit(0))
