import { createRequire } from "node:module"
import * as Predicate from "effect/Predicate"
import { exact, type Library } from "./database.js"
import { nameOf } from "./resultCode.js"

const codeOf = (cause: unknown): string => (Predicate.hasProperty(cause, "code") ? nameOf(cause.code) : "")

// What version 13 is built for does not exist in Node 20: it would end the process with a segmentation fault.
const checkVersion = (): void => {
  const found: unknown = createRequire(import.meta.url)("better-sqlite3/package.json")
  const version = Predicate.hasProperty(found, "version") ? String(found.version) : ""
  if (Number.parseInt(version, 10) >= 13 && Number.parseInt(process.versions.node, 10) < 22) {
    throw new Error(`${version} needs Node 22: install better-sqlite3@12`)
  }
}

/** better-sqlite3, an optional peer. */
export const load = async (): Promise<Library> => {
  checkVersion()
  const { default: Sqlite } = await import("better-sqlite3")
  // It brings in its native part with the first connection, which fails where that was built for another Node or not at all.
  new Sqlite(":memory:").close()
  return {
    name: "better-sqlite3",
    codeOf,
    open: (filename, access) => {
      const handle = new Sqlite(filename, { timeout: 0, readonly: access === "read-only" })
      handle.defaultSafeIntegers(true)
      return {
        prepare: (sql) => {
          const statement = handle.prepare<Array<unknown>, ReadonlyArray<unknown>>(sql)
          if (statement.reader) statement.raw(true)
          // What is read of a write are its changes and a row's number: as a number that is the same, and costs less.
          else statement.safeIntegers(false)
          const run = (params: ReadonlyArray<unknown>) => {
            const { changes, lastInsertRowid } = statement.run(...params)
            return { changes, lastRowid: Number(lastInsertRowid) }
          }
          return {
            run,
            all: (params) => {
              if (statement.reader) return statement.all(...params).map((row) => row.map(exact))
              run(params)
              return []
            },
            release: () => undefined
          }
        },
        close: () => void handle.close()
      }
    }
  }
}
