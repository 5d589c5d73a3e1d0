import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
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

/** A driver that asks for the statements of a transaction when it has begun it; where it begins anew, it asks again. */
export interface LazyDriver extends Omit<SqlDriver, "transaction"> {
  readonly transaction: (call: Call, statements: () => ReadonlyArray<Statement>) => Effect.Effect<Results, Failure>
}

/** A driver whose transactions need no beginning of their own: one request, or one batch. */
export const lazy = (driver: SqlDriver): LazyDriver => ({
  ...driver,
  transaction: (call, statements) => Effect.suspend(() => driver.transaction(call, statements()))
})

interface Entry {
  readonly call: Call
  readonly statements: ReadonlyArray<Statement>
  readonly bytes: number
  readonly done: Deferred.Deferred<Results, Failure>
  running: boolean
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
 * - Who shares a transaction is decided when it has begun: what comes while it waits for a lock is in it, and a caller that is interrupted
 *   by then is not, and has written nothing. One that is interrupted later is so when the outcome is known.
 * - When the scope closes, what waits is still run; later calls fail with `StoreUnavailable` (`reason: "shutdown"`).
 */
export const make = (driver: LazyDriver, options: GroupOptions): Effect.Effect<SqlDriver, never, Scope.Scope> =>
  Effect.gen(function* () {
    let queue: Array<Entry> = []
    let open = true
    /** The shared transaction, as long as it has not begun. */
    let beginning: Fiber.Fiber<Results, Failure> | undefined
    const wake = yield* Effect.makeLatch(false)

    const takeGroup = (): ReadonlyArray<Entry> => {
      let bytes = 0
      const end = queue.findIndex((entry, i) => {
        bytes += entry.bytes
        return i > 0 && (i === options.maxCommits || bytes > options.maxBytes)
      })
      const group = end < 0 ? queue : queue.slice(0, end)
      queue = end < 0 ? [] : queue.slice(end)
      for (const entry of group) entry.running = true
      beginning = undefined
      return group
    }

    const failAll = (entries: ReadonlyArray<Entry>, cause: Cause.Cause<Failure>) =>
      Effect.forEach(
        entries,
        (entry) =>
          Deferred.failCause(
            entry.done,
            Cause.map(cause, (error) => attribute(entry.call, error))
          ),
        { discard: true }
      )

    const runAlone = (entry: Entry) =>
      Effect.flatMap(Effect.exit(driver.transaction(entry.call, () => entry.statements)), (exit) =>
        Deferred.done(entry.done, exit)
      )

    const settle = (group: ReadonlyArray<Entry>, exit: Exit.Exit<Results, Failure>) => {
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
      const rejected = Option.exists(Cause.failureOption(exit.cause), (error) => error._tag === "StoreRejected")
      return rejected && group.length > 1
        ? Effect.forEach(group, runAlone, { discard: true })
        : failAll(group, exit.cause)
    }

    const runGroup = Effect.gen(function* () {
      // Lets every fiber that is about to commit do so first.
      yield* Effect.yieldNow()
      const waited = new Set(queue)
      let group: ReadonlyArray<Entry> | undefined
      const statements = () => {
        group ??= takeGroup()
        return group.flatMap((entry) => entry.statements)
      }
      const fiber = yield* Effect.fork(Effect.interruptible(driver.transaction({ operation: "commit" }, statements)))
      if (group === undefined) beginning = fiber
      const exit = yield* Fiber.await(fiber)
      beginning = undefined
      if (group !== undefined) return yield* settle(group, exit)
      if (Exit.isSuccess(exit) || Exit.isInterrupted(exit)) return
      const failed = queue.filter((entry) => waited.has(entry))
      queue = queue.filter((entry) => !waited.has(entry))
      yield* failAll(failed, exit.cause)
    })

    const worker = yield* Effect.gen(function* () {
      while (open || queue.length > 0) {
        if (queue.length > 0) {
          yield* runGroup
        } else {
          // in the same step as the look at the queue, or a wake-up between the two would be lost
          wake.unsafeClose()
          yield* wake.await
        }
      }
    }).pipe(Effect.uninterruptible, Effect.forkDaemon)

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        open = false
        wake.unsafeOpen()
        return Fiber.await(worker)
      })
    )

    /** Nobody waits for the entry any more: ends when it is certain what became of it. */
    const leave = (entry: Entry): Effect.Effect<unknown> =>
      Effect.suspend((): Effect.Effect<unknown> => {
        if (entry.running) return Effect.exit(Deferred.await(entry.done))
        queue = queue.filter((other) => other !== entry)
        return queue.length === 0 && beginning !== undefined ? Fiber.interruptFork(beginning) : Effect.void
      })

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
          const entry: Entry = { call, statements, bytes: sizeOf(statements), done, running: false }
          queue.push(entry)
          wake.unsafeOpen()
          return yield* Effect.onInterrupt(restore(Deferred.await(done)), () => leave(entry))
        })
      )

    return { ...driver, transaction }
  })
