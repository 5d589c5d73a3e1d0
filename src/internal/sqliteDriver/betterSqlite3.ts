import * as Predicate from "effect/Predicate"
import { exact, type Library } from "./database.js"
import { nameOf } from "./resultCode.js"

const codeOf = (cause: unknown): string => (Predicate.hasProperty(cause, "code") ? nameOf(cause.code) : "")

/** better-sqlite3, an optional peer. */
export const load = async (): Promise<Library> => {
  const { default: Sqlite } = await import("better-sqlite3")
  // It brings in its native part with the first connection, which fails where that was built for another Node or not at all.
  new Sqlite(":memory:").close()
  return {
    name: "better-sqlite3",
    codeOf,
    open: (filename) => {
      const handle = new Sqlite(filename, { timeout: 0 })
      handle.defaultSafeIntegers(true)
      return {
        prepare: (sql) => {
          const statement = handle.prepare<Array<unknown>, ReadonlyArray<unknown>>(sql)
          if (statement.reader) statement.raw(true)
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
