import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as Metrics from "../../Metrics.js"
import type { Statement } from "../../SqlDriver.js"
import * as telemetryContext from "../telemetry/context.js"
import * as metrics from "../telemetry/metrics.js"

export type Rows = ReadonlyArray<ReadonlyArray<unknown>>

/**
 * - `run`: one request: each statement's rows or its error, or why the request failed as a whole.
 * - `isSplit`: after which failure of a whole request its reads are tried again, each by itself.
 * - `maxReads`, `maxBytes`: how much one request takes at most. Bytes are those that it asks with, and those that come back, judging by the
 *   reads before.
 * - `maxRequests`: how many requests there are at the same time; further reads wait, and share the next one.
 */
export interface Options<E> {
  readonly run: (statements: ReadonlyArray<Statement>) => Effect.Effect<ReadonlyArray<Either.Either<Rows, E>>, E>
  readonly isSplit: (error: E) => boolean
  readonly maxReads: number
  readonly maxBytes: number
  readonly maxRequests: number
}

interface Entry<E> {
  readonly statement: Statement
  readonly bytes: number
  readonly traced: boolean
  readonly done: Deferred.Deferred<Rows, E>
  batch: Batch | undefined
}

/** A request, how many still wait for it, and what gives it up. */
interface Batch {
  waiting: number
  giveUp: Effect.Effect<void>
}

const size = metrics.instrument(Metrics.batchSize, { batch: "reads" })

// Two bytes a character are enough for a bound; counting exactly would read every text once more.
const sizeOf = (values: ReadonlyArray<unknown>): number =>
  values.reduce<number>((bytes, value) => bytes + (typeof value === "string" ? value.length * 2 : 8), 0)

/**
 * Makes reads of the same moment share one request. A lone read waits for nobody, and each gets its own rows or its own error. A caller
 * that is interrupted leaves at once and disturbs nobody; the request ends when it was the last.
 */
export const make = <E>(options: Options<E>): Effect.Effect<(statement: Statement) => Effect.Effect<Rows, E>> =>
  Effect.map(Effect.runtime<never>(), (runtime) => {
    // A request belongs to no caller: not to its fiber, and not to its span.
    const fork = Runtime.runFork(runtime)
    let queue: Array<Entry<E>> = []
    let requests = 0
    /** Whether a request has begun and not yet taken what it asks for. */
    let gathering = false
    /** How many bytes a read brings. */
    let expected = 0

    const take = (): ReadonlyArray<Entry<E>> => {
      let bytes = 0
      const end = queue.findIndex((entry, i) => {
        bytes += entry.bytes + expected
        return i > 0 && (i === options.maxReads || bytes > options.maxBytes)
      })
      const entries = end < 0 ? queue : queue.slice(0, end)
      queue = end < 0 ? [] : queue.slice(end)
      return entries
    }

    const runAlone = ({ done, statement }: Entry<E>) =>
      options.run([statement]).pipe(
        Effect.flatMap(([result]) => result ?? Effect.dieMessage("a read got no answer")),
        Effect.exit,
        Effect.flatMap((exit) => Deferred.done(done, exit))
      )

    const settle = (
      entries: ReadonlyArray<Entry<E>>,
      exit: Exit.Exit<ReadonlyArray<Either.Either<Rows, E>>, E>
    ): Effect.Effect<void> => {
      if (Exit.isFailure(exit)) {
        return entries.length > 1 && Option.exists(Cause.failureOption(exit.cause), options.isSplit)
          ? Effect.forEach(entries, runAlone, { concurrency: options.maxRequests, discard: true })
          : Effect.forEach(entries, ({ done }) => Deferred.failCause(done, exit.cause), { discard: true })
      }
      const answered = exit.value.flatMap((result) => (Either.isRight(result) ? result.right.flat() : []))
      expected = (expected + sizeOf(answered) / entries.length) / 2
      return Effect.forEach(
        entries,
        ({ done }, i) => Deferred.complete(done, exit.value[i] ?? Effect.dieMessage("a read got no answer")),
        { discard: true }
      )
    }

    const request = (batch: Batch) =>
      Effect.gen(function* () {
        // Lets every fiber that is about to read do so first.
        yield* Effect.yieldNow()
        const entries = take()
        gathering = false
        next()
        batch.waiting = entries.length
        for (const entry of entries) entry.batch = batch
        if (entries.length === 0) return
        yield* metrics.update(size, entries.length)
        const run = options.run(entries.map((entry) => entry.statement))
        // One that only polls asked for makes no spans, as the polls themselves make none.
        const traced = entries.some((entry) => entry.traced)
        const asked = telemetryContext.unparented(Effect.withTracerEnabled(run, traced))
        yield* settle(entries, yield* Effect.exit(asked))
      })

    const next = (): void => {
      if (gathering || queue.length === 0 || requests === options.maxRequests) return
      gathering = true
      requests++
      const batch: Batch = { waiting: 0, giveUp: Effect.void }
      const fiber = fork(
        Effect.ensuring(
          request(batch),
          Effect.sync(() => {
            requests--
            next()
          })
        )
      )
      batch.giveUp = Fiber.interruptFork(fiber)
    }

    const leave = (entry: Entry<E>): Effect.Effect<void> =>
      Effect.suspend(() => {
        const { batch } = entry
        if (batch === undefined) {
          queue = queue.filter((other) => other !== entry)
          return Effect.void
        }
        batch.waiting--
        return batch.waiting === 0 ? batch.giveUp : Effect.void
      })

    return (statement) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.gen(function* () {
          const done = yield* Deferred.make<Rows, E>()
          const traced = yield* FiberRef.get(FiberRef.currentTracerEnabled)
          const entry: Entry<E> = { statement, bytes: sizeOf(statement.params), traced, done, batch: undefined }
          queue.push(entry)
          next()
          return yield* Effect.onInterrupt(restore(Deferred.await(done)), () => leave(entry))
        })
      )
  })
