import type { Database, Library, Prepared } from "../../../internal/sqliteDriver/database.js"
import * as dice_ from "./dice.js"

/**
 * A statement that fails.
 *
 * - `nth`: which one of a request's, the BEGIN too; the COMMIT where there are not so many.
 * - `code`: SQLite's result code, without `SQLITE_`.
 * - `rollsBack`: whether that has ended the transaction, as some failures do.
 * - `takesEffect`: whether the statement has done what it failed with.
 * - `rollbacks`: how many of the ROLLBACKs that follow fail too.
 */
export interface BrokenStatement {
  readonly nth: number
  readonly code: string
  readonly rollsBack: boolean
  readonly takesEffect: boolean
  readonly rollbacks: number
}

/** A broken statement, by a number that decides all of it. */
export const ofNumber = (n: number): BrokenStatement => {
  const dice = dice_.make(n, "statement")
  const code = dice.pick(
    "FULL",
    "READONLY",
    "BUSY",
    "IOERR_WRITE",
    "IOERR_FSYNC",
    "NOMEM",
    "CORRUPT",
    "INTERRUPT",
    "TOOBIG"
  )
  const mayRollBack = !["READONLY", "BUSY", "TOOBIG"].includes(code)
  return {
    nth: dice.below(10),
    code,
    rollsBack: mayRollBack && dice.chance(0.3),
    // Only of an I/O error it is said that what failed may have happened.
    takesEffect: code.startsWith("IOERR") && dice.chance(0.5),
    rollbacks: dice.chance(0.2) ? dice.between(1, 2) : 0
  }
}

class Failed extends Error {
  constructor(readonly code: string) {
    super(`a statement was made to fail`)
  }
}

/** An SQLite whose statements can be made to fail. */
export class Breakable {
  private broken: BrokenStatement | undefined
  private count = 0
  private rollbacks = 0

  readonly library: Library

  constructor(library: Library) {
    this.library = {
      ...library,
      codeOf: (cause) => (cause instanceof Failed ? cause.code : library.codeOf(cause)),
      open: (filename, access) => this.database(library.open(filename, access))
    }
  }

  /** Runs something during which a statement fails. */
  during<A>(broken: BrokenStatement | undefined, run: () => A): A {
    this.broken = broken
    this.count = 0
    this.rollbacks = broken?.rollbacks ?? 0
    try {
      return run()
    } finally {
      this.broken = undefined
      this.rollbacks = 0
    }
  }

  private database(database: Database): Database {
    const rollBack = () => void database.prepare("ROLLBACK").run([])
    return {
      close: () => database.close(),
      prepare: (sql) => {
        const prepared = database.prepare(sql)
        const asked = <A>(run: () => A): A => this.run(sql, run, rollBack)
        return {
          all: (params) => asked(() => prepared.all(params)),
          run: (params) => asked(() => prepared.run(params)),
          release: () => prepared.release()
        } satisfies Prepared
      }
    }
  }

  private run<A>(sql: string, run: () => A, rollBack: () => void): A {
    if (sql === "ROLLBACK") {
      if (this.rollbacks > 0) {
        this.rollbacks--
        throw new Failed("IOERR_WRITE")
      }
      return run()
    }
    const { broken } = this
    if (broken === undefined || (this.count++ < broken.nth && sql !== "COMMIT")) return run()
    this.broken = undefined
    if (sql === "COMMIT" && broken.takesEffect) run()
    else if (sql !== "BEGIN IMMEDIATE" && broken.rollsBack) rollBack()
    throw new Failed(broken.code)
  }
}
