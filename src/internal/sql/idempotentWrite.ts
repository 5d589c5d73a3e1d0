import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Ids from "../../Ids.js"
import type { Call, SqlDriver, Statement, StatementResult } from "../../SqlDriver.js"
import { type StoreRejected, StoreUnavailable } from "../../StoreError.js"
import * as ambiguousWrite from "./ambiguousWrite.js"
import type { Sql } from "./statements.js"

/** A write. Each statement of `before` and `main` takes the key it is given as its last parameter, and does nothing where it is stored. */
export interface Marked {
  readonly before?: ReadonlyArray<Statement> | undefined
  readonly main: Statement
  readonly after?: ReadonlyArray<Statement> | undefined
}

/**
 * Runs writes that have no guard of their own to keep them from being applied twice, and gives what `main` did. The write stores a key
 * with what it did: one that is sent again finds it, and so does a look at what became of it.
 */
export type Once = (
  call: Call,
  build: (key: string) => Marked
) => Effect.Effect<StatementResult, StoreUnavailable | StoreRejected>

// Nothing of a write is still on its way so long after its answer came, or after it was sent where none came.
const answeredFor = 60 * 1000
const sentFor = 24 * 60 * 60 * 1000

const maxRemoved = 100

const keyPrefix = "once:"

/** A key, in the order of time; the clocks of machines may differ. */
const keyOf = (millis: number, token: string): string => `${keyPrefix}${String(millis).padStart(16, "0")}:${token}`

const resultOf = (mark: unknown): StatementResult => {
  const [changes, lastRowid] = String(mark).split(" ").map(Number)
  return { changes: changes ?? 0, lastRowid: lastRowid ?? 0 }
}

export const make = (driver: SqlDriver, sql: Sql, budget: Duration.Duration): Once => {
  // Keys of writes whose answer came, in the order of time. Later writes remove them.
  const answered: Array<{ readonly key: string; readonly at: number }> = []

  // An answer of a database within the process is never lost, so that nothing is sent twice and no key is ever stored.
  if (driver.embedded === true) {
    return (call, build) => {
      const { after = [], before = [], main } = build(keyPrefix)
      return Effect.map(
        driver.transaction(call, [...before, main, ...after]),
        (results) => results[before.length] ?? { changes: 0, lastRowid: 0 }
      )
    }
  }

  return (call, build) =>
    Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const key = keyOf(now, yield* Ids.next)
      const { after = [], before = [], main } = build(key)
      const removed = answered.slice(0, maxRemoved).filter(({ at }) => at <= now - answeredFor)
      answered.splice(0, removed.length)
      const statements = [
        ...before,
        main,
        { sql: sql.mark, params: [key] },
        ...after,
        {
          sql: sql.sweepMarks,
          params: [JSON.stringify(removed.map(({ key }) => key)), keyOf(Math.max(0, now - sentFor), "")]
        }
      ]
      // A network that sends the request twice may answer with the second one, which found the key.
      const twice = () =>
        new StoreUnavailable({
          ...call,
          reason: "connection",
          outcome: "unknown",
          detail: "the write arrived twice, and the answer is that to the second one"
        })
      const send = Effect.flatMap(driver.transaction(call, statements), (results) => {
        const result = results[before.length + 1]?.changes === 1 ? results[before.length] : undefined
        return result === undefined ? Effect.fail(twice()) : Effect.succeed(Option.some(result))
      })
      const look = Effect.map(driver.query(call, { sql: sql.readMark, params: [key] }), ([row]) =>
        row === undefined ? ambiguousWrite.open : ambiguousWrite.known(resultOf(row[0]))
      )
      const { lost, outcome } = yield* Effect.onExit(ambiguousWrite.run({ send, look }, budget), (exit) =>
        Effect.sync(() => {
          if (Exit.isFailure(exit)) answered.unshift(...removed)
        })
      )
      if (!lost) answered.push({ key, at: yield* Clock.currentTimeMillis })
      return Option.getOrElse(outcome, () => ({ changes: 0, lastRowid: 0 }))
    })
}
