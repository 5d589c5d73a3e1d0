import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as Metrics from "../../Metrics.js"
import type { Call, SqlDriver, Statement, StatementResult } from "../../SqlDriver.js"
import { StoreRejected, StoreUnavailable } from "../../StoreError.js"
import * as telemetryContext from "../telemetry/context.js"
import * as metrics from "../telemetry/metrics.js"

type Failure = StoreUnavailable | StoreRejected
type Results = ReadonlyArray<StatementResult>

/** - `maxCommits`, `maxBytes`: how much one transaction takes at most; a single larger list still goes, alone. */
export interface GroupOptions {
  readonly maxCommits: number
  readonly maxBytes: number
}

/** For a database within the process: one sync serves so many, beyond that a group only makes its first members wait. */
export const embedded: GroupOptions = { maxCommits: 128, maxBytes: 8_000_000 }

/** A driver that asks for the statements of a transaction when it has begun it; where it begins anew, it asks again. */
export interface LazyDriver extends Omit<SqlDriver, "transaction"> {
  readonly transaction: (call: Call, statements: () => ReadonlyArray<Statement>) => Effect.Effect<Results, Failure>
  /**
   * Runs a transaction on the spot, which needs no fiber. Gives nothing where that cannot be, or where it fails: then nothing is written, and
   * `transaction` is to be run.
   */
  readonly attempt?: (statements: () => ReadonlyArray<Statement>) => Results | undefined
}

/** A driver whose transactions need no beginning of their own: one request, or one batch. */
export const lazy = (driver: SqlDriver): LazyDriver => ({
  ...driver,
  transaction: (call, statements) => Effect.suspend(() => driver.transaction(call, statements()))
})

type Outcome = Exit.Exit<Results, Failure>

interface Entry {
  readonly call: Call
  readonly statements: ReadonlyArray<Statement>
  readonly bytes: number
  readonly traced: boolean
  /** Counts the calls. */
  readonly number: number
  running: boolean
  outcome: Outcome | undefined
  /** Who waits for the outcome. */
  tell: ((outcome: Outcome) => void) | undefined
}

const settle = (entry: Entry, outcome: Outcome): void => {
  entry.outcome = outcome
  entry.tell?.(outcome)
}

const outcomeOf = (entry: Entry): Effect.Effect<Results, Failure> =>
  Effect.async((resume) => {
    if (entry.outcome === undefined) entry.tell = resume
    else resume(entry.outcome)
  })

const succeedAll = (entries: ReadonlyArray<Entry>, results: Results): void => {
  let end = 0
  for (const entry of entries) {
    const start = end
    end += entry.statements.length
    settle(entry, Exit.succeed(results.slice(start, end)))
  }
}

/** One transaction, and those who share it as soon as it has begun. */
interface Round {
  taken: ReadonlyArray<Entry> | undefined
  readonly statements: () => ReadonlyArray<Statement>
}

const size = metrics.instrument(Metrics.batchSize, { batch: "writes" })

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
 * came, and each caller gets its own results. A lone transaction waits for nobody, and a fiber that calls twice in a row, with no other
 * in between, is alone: it runs on the spot where the driver can.
 *
 * - The statements of a transaction are guarded by what they expect, so one that does not apply writes nothing and disturbs nobody.
 * - Where the shared transaction is rejected, its members run again each by itself: the poisoned one fails alone.
 * - Who shares a transaction is decided when it has begun: what comes while it waits for a lock is in it, and a caller that is interrupted
 *   by then is not, and has written nothing. One that is interrupted later is so when the outcome is known.
 * - When the scope closes, what waits is still run; later calls fail with `StoreUnavailable` (`reason: "shutdown"`).
 */
export const make = (driver: LazyDriver, options: GroupOptions): Effect.Effect<SqlDriver, never, Scope.Scope> =>
  Effect.gen(function* () {
    // The fiber that opens the store ends, and its span with it.
    const runtime = yield* telemetryContext.unparented(Effect.runtime<never>())
    const fork = Runtime.runFork(runtime)
    const refs = runtime.fiberRefs
    const scheduler = FiberRefs.getOrDefault(refs, FiberRef.currentScheduler)
    const tracing = FiberRefs.getOrDefault(refs, FiberRef.currentTracerEnabled)
    const labels = FiberRefs.getOrDefault(refs, FiberRef.currentMetricLabels)
    let queue: Array<Entry> = []
    let count = 0
    let open = true
    /** Who called last, by the number of the fiber. */
    let last: number | undefined
    /** The shared transaction, whether it has begun, and the fiber that it has where it cannot be run on the spot. */
    let running: { fiber: Fiber.RuntimeFiber<void> | undefined; begun: boolean } | undefined
    const drained = yield* Effect.makeLatch(true)

    const takeGroup = (): ReadonlyArray<Entry> => {
      let bytes = 0
      const end = queue.findIndex((entry, i) => {
        bytes += entry.bytes
        return i > 0 && (i === options.maxCommits || bytes > options.maxBytes)
      })
      const group = end < 0 ? queue : queue.slice(0, end)
      queue = end < 0 ? [] : queue.slice(end)
      for (const entry of group) entry.running = true
      if (running !== undefined) running.begun = true
      return group
    }

    const failAll = (entries: ReadonlyArray<Entry>, cause: Cause.Cause<Failure>): void => {
      for (const entry of entries) {
        settle(entry, Exit.failCause(Cause.map(cause, (error) => attribute(entry.call, error))))
      }
    }

    const runAlone = (entry: Entry) =>
      Effect.map(Effect.exit(driver.transaction(entry.call, () => entry.statements)), (exit) => settle(entry, exit))

    const settleAll = (group: ReadonlyArray<Entry>, exit: Outcome): Effect.Effect<void> => {
      if (Exit.isSuccess(exit)) {
        succeedAll(group, exit.value)
        return Effect.void
      }
      const rejected = Option.exists(Cause.failureOption(exit.cause), (error) => error._tag === "StoreRejected")
      if (rejected && group.length > 1) return Effect.forEach(group, runAlone, { discard: true })
      failAll(group, exit.cause)
      return Effect.void
    }

    const runGroup = (round: Round) =>
      Effect.suspend(() => {
        const known = count
        // What only upkeep asks for makes no spans, as the upkeep itself makes none.
        const traced = queue.some((entry) => entry.traced)
        const run = driver.transaction({ operation: "commit" }, round.statements)
        const ran = traced === tracing ? run : Effect.withTracerEnabled(run, traced)
        return Effect.flatMap(Effect.exit(Effect.interruptible(ran)), (exit) => {
          if (round.taken !== undefined) {
            size(round.taken.length, labels)
            return settleAll(round.taken, exit)
          }
          if (Exit.isFailure(exit) && !Exit.isInterrupted(exit)) {
            const failed = queue.filter((entry) => entry.number <= known)
            queue = queue.filter((entry) => entry.number > known)
            failAll(failed, exit.cause)
          }
          return Effect.void
        })
      })

    const ended = (): void => {
      running = undefined
      if (queue.length > 0) begin()
      else drained.unsafeOpen()
    }

    const runSlowly = (round: Round): void => {
      const fiber = fork(Effect.uninterruptible(runGroup(round)))
      if (running !== undefined) running.fiber = fiber
      fiber.addObserver(ended)
    }

    const run = (): void => {
      // Everybody may have left meanwhile.
      if (queue.length === 0) {
        ended()
        return
      }
      const round: Round = {
        taken: undefined,
        statements: () => {
          round.taken ??= takeGroup()
          return round.taken.flatMap((entry) => entry.statements)
        }
      }
      const results = driver.attempt?.(round.statements)
      if (results === undefined || round.taken === undefined) {
        runSlowly(round)
      } else {
        size(round.taken.length, labels)
        succeedAll(round.taken, results)
        ended()
      }
    }

    const soon = (task: () => void): void => scheduler.scheduleTask(task, 0)

    // Lets every fiber that is about to commit do so first; where there are some, also those that are only being forked.
    const begin = (): void => {
      running = { fiber: undefined, begun: false }
      soon(() => {
        if (queue.length > 1) soon(() => soon(run))
        else run()
      })
    }

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        open = false
        return drained.await
      })
    )

    /** Nobody waits for the entry any more: ends when it is certain what became of it. */
    const leave = (entry: Entry): Effect.Effect<unknown> =>
      Effect.suspend((): Effect.Effect<unknown> => {
        if (entry.running) return Effect.exit(outcomeOf(entry))
        queue = queue.filter((other) => other !== entry)
        const waiting = queue.length === 0 && running?.begun === false ? running.fiber : undefined
        if (waiting === undefined) return Effect.void
        // At once: in a fiber of its own the interruption might come when others have joined.
        return Effect.fiberIdWith((id) => Effect.sync(() => waiting.unsafeInterruptAsFork(id)))
      })

    const transaction: SqlDriver["transaction"] = (call, statements) =>
      Effect.uninterruptibleMask((restore) => {
        if (!open) {
          const detail = "the store is closed"
          const closed = { operation: call.operation, reason: "shutdown", outcome: "not-applied", detail } as const
          return Effect.fail(attribute(call, new StoreUnavailable(closed)))
        }
        return Effect.withFiberRuntime((fiber) => {
          const { id } = fiber.id()
          const alone = id === last && running === undefined
          last = id
          const results = alone ? driver.attempt?.(() => statements) : undefined
          if (results !== undefined) {
            size(1, labels)
            return Effect.succeed(results)
          }
          const entry: Entry = {
            call,
            statements,
            bytes: sizeOf(statements),
            traced: fiber.getFiberRef(FiberRef.currentTracerEnabled),
            number: ++count,
            running: false,
            outcome: undefined,
            tell: undefined
          }
          queue.push(entry)
          if (running === undefined) {
            drained.unsafeClose()
            begin()
          }
          return Effect.onInterrupt(restore(outcomeOf(entry)), () => leave(entry))
        })
      })

    return { ...driver, transaction }
  })
