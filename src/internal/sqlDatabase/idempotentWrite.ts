import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Ids from "../../Ids.js"
import type { Call, Statement, StatementResult } from "../../SqlDriver.js"
import { StoreUnavailable } from "../../StoreError.js"
import * as ambiguousWrite from "./ambiguousWrite.js"
import type { Answered, Database, Failure, Row } from "./database.js"

/** A write. Each statement of `before` and `main` takes the key it is given, and does nothing where it is stored. */
export interface Marked {
  readonly before?: ReadonlyArray<Statement> | undefined
  readonly main: Statement
  readonly after?: ReadonlyArray<Statement> | undefined
}

// Nothing of a write is still on its way so long after its answer came, or after it was sent where none came.
const answeredFor = 60 * 1000
const sentFor = 24 * 60 * 60 * 1000

const maxRemoved = 100

const keyPrefix = "once:"

/** A key, in the order of time; the clocks of machines may differ. */
const keyOf = (millis: number, token: string): string => `${keyPrefix}${String(millis).padStart(16, "0")}:${token}`

const nothing: StatementResult = { changes: 0, lastRowid: 0 }

const resultOf = ([mark]: Row): StatementResult => {
  const [changes = 0, lastRowid = 0] = String(mark).split(" ").map(Number)
  return { changes, lastRowid }
}

// A network that sends the request twice may answer with the second one, which found the key.
const arrivedTwice = (call: Call) =>
  new StoreUnavailable({
    ...call,
    reason: "connection",
    outcome: "unknown",
    detail: "the write arrived twice, and the answer is that to the second one"
  })

/** Takes the keys that nobody looks for any more from those that are known. */
const takeOld = (database: Database, now: number): ReadonlyArray<Answered> => {
  const old = database.answered.slice(0, maxRemoved).filter(({ at }) => at <= now - answeredFor)
  database.answered.splice(0, old.length)
  return old
}

/** An answer of a database within the process is never lost, so that nothing is sent twice and no key is ever stored. */
const unmarked = <A>(
  { driver }: Database,
  call: Call,
  { after = [], before = [], main }: Marked,
  read: (result: StatementResult) => A
): Effect.Effect<A, Failure> =>
  Effect.map(driver.transaction(call, [...before, main, ...after]), (results) =>
    read(results[before.length] ?? nothing)
  )

/** Sends the write and its key, removes old keys with it, and finds out what became of it. */
const marked = ({ budget, driver, sql }: Database, call: Call, write: Marked, key: string, old: Statement) => {
  const { after = [], before = [], main } = write
  const statements = [...before, main, { sql: sql.once.mark, params: [key] }, ...after, old]
  const send = Effect.flatMap(driver.transaction(call, statements), (results) => {
    const result = results[before.length + 1]?.changes === 1 ? results[before.length] : undefined
    return result === undefined ? Effect.fail(arrivedTwice(call)) : Effect.succeed(Option.some(result))
  })
  const look = Effect.map(driver.query(call, { sql: sql.once.read, params: [key] }), ([row]) =>
    row === undefined ? ambiguousWrite.open : ambiguousWrite.known(resultOf(row))
  )
  return ambiguousWrite.run({ send, look }, budget)
}

/**
 * Runs a write that has no guard of its own to keep it from being applied twice, and gives what `main` did. The write stores a key with
 * what it did: one that is sent again finds it, and so does a look at what became of it.
 */
export const run = (
  database: Database,
  call: Call,
  build: (key: string) => Marked
): Effect.Effect<StatementResult, Failure> => runAs(database, call, build, (result) => result)

/** {@link run}, which gives what is read of that. */
export const runAs = <A>(
  database: Database,
  call: Call,
  build: (key: string) => Marked,
  read: (result: StatementResult) => A
): Effect.Effect<A, Failure> => {
  if (database.driver.embedded === true) return unmarked(database, call, build(keyPrefix), read)
  return Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const key = keyOf(now, yield* Ids.next)
    const removed = takeOld(database, now)
    const sweep = {
      sql: database.sql.once.sweep,
      params: [JSON.stringify(removed.map(({ key }) => key)), keyOf(Math.max(0, now - sentFor), "")]
    }
    const { lost, outcome } = yield* Effect.onExit(marked(database, call, build(key), key, sweep), (exit) =>
      Effect.sync(() => {
        if (Exit.isFailure(exit)) database.answered.unshift(...removed)
      })
    )
    if (!lost) database.answered.push({ key, at: yield* Clock.currentTimeMillis })
    return read(Option.getOrElse(outcome, () => nothing))
  })
}
