import * as Predicate from "effect/Predicate"
import type { Param } from "../../SqlDriver.js"
import { checkCount, exact, type Library, type Rows } from "./database.js"
import { nameOf } from "./resultCode.js"

/** What is used of bun:sqlite, whose types come with Bun alone. */
interface Statement {
  readonly paramsCount: number
  readonly values: (...params: ReadonlyArray<Param>) => Rows
  readonly run: (...params: ReadonlyArray<Param>) => {
    readonly changes: number
    readonly lastInsertRowid: number | bigint
  }
  readonly finalize: () => void
}

interface Handle {
  readonly prepare: (sql: string) => Statement
  readonly close: () => void
}

interface Options {
  readonly create?: true
  readonly readwrite?: true
  readonly readonly?: true
  readonly safeIntegers: true
}

interface Module {
  readonly Database: new (filename: string, options: Options) => Handle
}

const isModule = (u: unknown): u is Module => Predicate.hasProperty(u, "Database") && Predicate.isFunction(u.Database)

const codeOf = (cause: unknown): string => (Predicate.hasProperty(cause, "code") ? nameOf(cause.code) : "")

/** Bun's own SQLite. */
export const load = async (): Promise<Library> => {
  const module: unknown = process.getBuiltinModule("bun:sqlite")
  if (!isModule(module)) throw new TypeError("this is not Bun")
  const { Database } = module
  return {
    name: "bun:sqlite",
    codeOf,
    open: (filename, access) => {
      const handle = new Database(
        filename,
        access === "read-only"
          ? { readonly: true, safeIntegers: true }
          : { create: true, readwrite: true, safeIntegers: true }
      )
      return {
        prepare: (sql) => {
          const statement = handle.prepare(sql)
          const { paramsCount } = statement
          return {
            run: (params) => {
              checkCount(params, paramsCount)
              const { changes, lastInsertRowid } = statement.run(...params)
              return { changes, lastRowid: Number(lastInsertRowid) }
            },
            all: (params) => {
              checkCount(params, paramsCount)
              return statement.values(...params).map((row) => row.map(exact))
            },
            release: () => statement.finalize()
          }
        },
        close: () => handle.close()
      }
    }
  }
}
