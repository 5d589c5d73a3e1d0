import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Call, Param, Statement } from "../../SqlDriver.js"
import * as ambiguousWrite from "./ambiguousWrite.js"
import type { Database, Failure } from "./database.js"

/**
 * Runs statements that do the same when they are applied again, until they certainly were. Gives how many rows they changed, as far as the
 * last answer tells.
 */
export const run = (
  { budget, driver }: Database,
  call: Call,
  statements: ReadonlyArray<Statement>
): Effect.Effect<number, Failure> => {
  const send = Effect.map(driver.transaction(call, statements), (results) =>
    Option.some(results.reduce((sum, { changes }) => sum + changes, 0))
  )
  return Effect.map(ambiguousWrite.run({ send, look: Effect.succeed(ambiguousWrite.open) }, budget), ({ outcome }) =>
    Option.getOrElse(outcome, () => 0)
  )
}

/** {@link run} with one statement. */
export const write = (
  database: Database,
  call: Call,
  sql: string,
  ...params: ReadonlyArray<Param>
): Effect.Effect<void, Failure> => Effect.asVoid(run(database, call, [{ sql, params }]))
