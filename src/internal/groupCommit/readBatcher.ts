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

const pages = new Set([
  "loadForEvents",
  "listExecutions",
  "listDeadLetters",
  "pendingOutbox",
  "pendingSpawns",
  "dueTimers",
  "export",
  "readTrace",
  "idsWithPrefix",
  "counts",
  "workOf"
])

/** Whether an operation reads so many rows that it shares no request: nobody has to wait for another one's long answer. */
export const isPage = (operation: string): boolean => pages.has(operation)

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
 * The reads that wait, and the requests on their way.
 *
 * - `gathering`: whether a request has begun and not yet taken what it asks for.
 * - `expected`: how many bytes a read brings, judging by those before.
 */
interface State<E> {
  readonly options: Options<E>
  readonly fork: (request: Effect.Effect<void>) => Fiber.RuntimeFiber<void>
  queue: Array<Entry<E>>
  requests: number
  gathering: boolean
  expected: number
}

/** Takes as much as fits one request, and at least one read where any waits. */
const take = <E>(state: State<E>): ReadonlyArray<Entry<E>> => {
  const { maxBytes, maxReads } = state.options
  let bytes = 0
  const end = state.queue.findIndex((entry, i) => {
    bytes += entry.bytes + state.expected
    return i > 0 && (i === maxReads || bytes > maxBytes)
  })
  const entries = end < 0 ? state.queue : state.queue.slice(0, end)
  state.queue = end < 0 ? [] : state.queue.slice(end)
  return entries
}

const noAnswer = Effect.dieMessage("a read got no answer")

const runAlone = <E>({ run }: Options<E>, { done, statement }: Entry<E>): Effect.Effect<unknown> =>
  run([statement]).pipe(
    Effect.flatMap(([result]) => result ?? noAnswer),
    Effect.exit,
    Effect.flatMap((exit) => Deferred.done(done, exit))
  )

type Answer<E> = Exit.Exit<ReadonlyArray<Either.Either<Rows, E>>, E>

/** Gives each read its part of the answer to their request. */
const settle = <E>(state: State<E>, entries: ReadonlyArray<Entry<E>>, answer: Answer<E>): Effect.Effect<void> => {
  const { options } = state
  if (Exit.isFailure(answer)) {
    return entries.length > 1 && Option.exists(Cause.failureOption(answer.cause), options.isSplit)
      ? Effect.forEach(entries, (entry) => runAlone(options, entry), {
          concurrency: options.maxRequests,
          discard: true
        })
      : Effect.forEach(entries, ({ done }) => Deferred.failCause(done, answer.cause), { discard: true })
  }
  const answered = answer.value.flatMap((result) => (Either.isRight(result) ? result.right.flat() : []))
  state.expected = (state.expected + sizeOf(answered) / entries.length) / 2
  return Effect.forEach(entries, ({ done }, i) => Deferred.complete(done, answer.value[i] ?? noAnswer), {
    discard: true
  })
}

/** One request for what waits when it begins. */
const request = <E>(state: State<E>, batch: Batch): Effect.Effect<void> =>
  Effect.gen(function* () {
    // Lets every fiber that is about to read do so first.
    yield* Effect.yieldNow()
    const entries = take(state)
    state.gathering = false
    begin(state)
    batch.waiting = entries.length
    for (const entry of entries) entry.batch = batch
    if (entries.length === 0) return
    yield* metrics.update(size, entries.length)
    const run = state.options.run(entries.map((entry) => entry.statement))
    // One that only polls asked for makes no spans, as the polls themselves make none.
    const traced = entries.some((entry) => entry.traced)
    const asked = telemetryContext.unparented(Effect.withTracerEnabled(run, traced))
    yield* settle(state, entries, yield* Effect.exit(asked))
  })

/** Begins a request where something waits and one more may be on its way. */
const begin = <E>(state: State<E>): void => {
  if (state.gathering || state.queue.length === 0 || state.requests === state.options.maxRequests) return
  state.gathering = true
  state.requests++
  const batch: Batch = { waiting: 0, giveUp: Effect.void }
  const ended = Effect.sync(() => {
    state.requests--
    begin(state)
  })
  batch.giveUp = Fiber.interruptFork(state.fork(Effect.ensuring(request(state, batch), ended)))
}

/** The caller of a read is gone. */
const leave = <E>(state: State<E>, entry: Entry<E>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { batch } = entry
    if (batch === undefined) {
      state.queue = state.queue.filter((other) => other !== entry)
      return Effect.void
    }
    batch.waiting--
    return batch.waiting === 0 ? batch.giveUp : Effect.void
  })

const read = <E>(state: State<E>, statement: Statement): Effect.Effect<Rows, E> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.gen(function* () {
      const done = yield* Deferred.make<Rows, E>()
      const traced = yield* FiberRef.get(FiberRef.currentTracerEnabled)
      const entry: Entry<E> = { statement, bytes: sizeOf(statement.params), traced, done, batch: undefined }
      state.queue.push(entry)
      begin(state)
      return yield* Effect.onInterrupt(restore(Deferred.await(done)), () => leave(state, entry))
    })
  )

/**
 * Makes reads of the same moment share one request. A lone read waits for nobody, and each gets its own rows or its own error. A caller
 * that is interrupted leaves at once and disturbs nobody; the request ends when it was the last.
 */
export const make = <E>(options: Options<E>): Effect.Effect<(statement: Statement) => Effect.Effect<Rows, E>> =>
  Effect.map(Effect.runtime<never>(), (runtime) => {
    const state: State<E> = {
      options,
      // A request belongs to no caller: not to its fiber, and not to its span.
      fork: Runtime.runFork(runtime),
      queue: [],
      requests: 0,
      gathering: false,
      expected: 0
    }
    return (statement) => read(state, statement)
  })
