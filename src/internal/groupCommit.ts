import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import type { Call, SqlDriver, Statement, StatementResult } from "../SqlDriver.js"
import { StoreRejected, StoreUnavailable } from "../StoreError.js"

type Failure = StoreUnavailable | StoreRejected
type Results = ReadonlyArray<StatementResult>

/** - `maxCommits`, `maxBytes`: how much one transaction takes at most; a single larger list still goes, alone. */
export interface GroupOptions {
  readonly maxCommits: number
  readonly maxBytes: number
}

interface Entry {
  readonly call: Call
  readonly statements: ReadonlyArray<Statement>
  readonly bytes: number
  readonly done: Deferred.Deferred<Results, Failure>
  state: "queued" | "running" | "cancelled"
}

// Two bytes a character is enough for a bound; counting exactly would read every text once more.
const sizeOf = (statements: ReadonlyArray<Statement>): number => {
  let bytes = 0
  for (const statement of statements) {
    for (const param of statement.params) bytes += typeof param === "string" ? param.length * 2 : 8
  }
  return bytes
}

/** An error that befell a whole group, as each caller must see it. */
const attribute = (call: Call, error: Failure): Failure => {
  const at = { operation: call.operation, ...(call.executionId === undefined ? {} : { executionId: call.executionId }) }
  const { cause, detail } = error
  const why = cause === undefined ? { detail } : { detail, cause }
  return error._tag === "StoreUnavailable"
    ? new StoreUnavailable({ ...at, ...why, reason: error.reason, outcome: error.outcome })
    : new StoreRejected({ ...at, ...why, reason: error.reason })
}

/**
 * A driver whose concurrent transactions share one: transactions that wait at the same time run as one list, in the order in which they
 * came, and each caller gets its own results. A lone transaction waits for nobody.
 *
 * - The statements of a transaction are guarded by what they expect, so one that does not apply writes nothing and disturbs nobody.
 * - Where the shared transaction is rejected, its members run again each by itself: the poisoned one fails alone.
 * - A caller that is interrupted while it waits is taken out, and nothing of it is written; one whose transaction runs already is
 *   interrupted when the outcome is known.
 * - When the scope closes, what waits is still run; later calls fail with `StoreUnavailable` (`reason: "shutdown"`).
 */
export const make = (driver: SqlDriver, options: GroupOptions): Effect.Effect<SqlDriver, never, Scope.Scope> =>
  Effect.gen(function* () {
    let queue: Array<Entry> = []
    let open = true
    const wake = yield* Effect.makeLatch(false)

    const takeGroup = (): ReadonlyArray<Entry> => {
      const group: Array<Entry> = []
      let bytes = 0
      let next = 0
      for (; next < queue.length && group.length < options.maxCommits; next++) {
        const entry = queue[next]
        if (entry === undefined || entry.state === "cancelled") continue
        bytes += entry.bytes
        if (group.length > 0 && bytes > options.maxBytes) break
        entry.state = "running"
        group.push(entry)
      }
      queue = queue.slice(next)
      return group
    }

    const runAlone = (entry: Entry) =>
      Effect.flatMap(Effect.exit(driver.transaction(entry.call, entry.statements)), (exit) =>
        Deferred.done(entry.done, exit)
      )

    const runGroup = (group: ReadonlyArray<Entry>): Effect.Effect<unknown> => {
      const [first] = group
      if (first === undefined) return Effect.void
      if (group.length === 1) return runAlone(first)
      const statements = group.flatMap((entry) => entry.statements)
      return Effect.flatMap(Effect.exit(driver.transaction({ operation: "commit" }, statements)), (exit) => {
        if (Exit.isSuccess(exit)) {
          let end = 0
          return Effect.forEach(
            group,
            (entry) => {
              const start = end
              end += entry.statements.length
              return Deferred.succeed(entry.done, exit.value.slice(start, end))
            },
            { discard: true }
          )
        }
        const failure = Cause.failureOption(exit.cause)
        if (failure._tag === "Some" && failure.value._tag === "StoreUnavailable") {
          const error = failure.value
          return Effect.forEach(group, (entry) => Deferred.fail(entry.done, attribute(entry.call, error)), {
            discard: true
          })
        }
        return Effect.forEach(group, runAlone, { discard: true })
      })
    }

    const worker = yield* Effect.gen(function* () {
      while (open || queue.length > 0) {
        if (queue.length === 0) {
          // in the same step as the look at the queue, or a wake-up between the two would be lost
          wake.unsafeClose()
          yield* wake.await
        }
        // Lets every fiber that is about to commit do so first.
        yield* Effect.yieldNow()
        yield* runGroup(takeGroup())
      }
    }).pipe(Effect.uninterruptible, Effect.forkDaemon)

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        open = false
        wake.unsafeOpen()
        return Fiber.await(worker)
      })
    )

    const transaction: SqlDriver["transaction"] = (call, statements) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          if (!open) {
            return yield* attribute(
              call,
              new StoreUnavailable({
                operation: call.operation,
                reason: "shutdown",
                outcome: "not-applied",
                detail: "the store is closed"
              })
            )
          }
          const done = yield* Deferred.make<Results, Failure>()
          const entry: Entry = { call, statements, bytes: sizeOf(statements), done, state: "queued" }
          queue.push(entry)
          wake.unsafeOpen()
          return yield* restore(Deferred.await(done)).pipe(
            Effect.onInterrupt(() =>
              Effect.suspend(() => {
                if (entry.state === "running") return Effect.exit(Deferred.await(done))
                entry.state = "cancelled"
                return Effect.void
              })
            )
          )
        })
      )

    return { ...driver, transaction }
  })
