import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import { ExecutionStore } from "holdfast/ExecutionStore"
import type * as Processor from "holdfast/Processor"
import * as SqliteStore from "holdfast/SqliteStore"
import type { StoreError } from "holdfast/StoreError"
import * as measure from "./measure.js"
import * as order from "./order.js"
import type * as raw from "./raw.js"
import { databaseFile, type Settings } from "./settings.js"

export const named = (count: number): ReadonlyArray<string> => measure.range(count).map((i) => `order-${i}`)

export const executions = named(64)

/** A round of so many seconds of sending, and the time until all that was sent is done. */
export type Round<E> = (seconds: number) => Effect.Effect<measure.Sample, E>

/** What a transition is given. */
export type Given = Parameters<Processor.Transition>[0]

/**
 * - `executions`: to whom the senders send, each to one after the other of its share; by default each has one.
 * - `bytes`: the size of their contexts, 1 KiB by default.
 */
export interface Options {
  readonly transition: Processor.Transition
  /** How many commits each event causes. */
  readonly commits: number
  readonly executions?: ReadonlyArray<string> | undefined
  readonly bytes?: number | undefined
}

/** A runtime on a file of its own, and its rounds: 64 senders, each of which sends one event after the other, to the last commit. */
export const make = (settings: Settings, durability: raw.Durability, options: Options) =>
  Effect.gen(function* () {
    const store = yield* SqliteStore.make({ filename: yield* databaseFile(settings), durability })
    return yield* on(store, options)
  })

/** The same on a store that is open. */
export const on = (store: ExecutionStore, { bytes, commits, executions: ids = executions, transition }: Options) =>
  Effect.gen(function* () {
    const runtime = yield* ExecutionRuntime.make({
      definitions: { order: transition },
      concurrency: executions.length,
      pageSize: 1000
    }).pipe(Effect.provideService(ExecutionStore, store))
    yield* Effect.forEach(ids, (id) => runtime.create(order.make(id, bytes)), { concurrency: 64, discard: true })

    let committed = 0
    let expected = Number.POSITIVE_INFINITY
    let done = yield* Deferred.make<void>()
    yield* store.listen((notice) => {
      if (Option.isSome(notice.committed) && ++committed === expected) Deferred.unsafeDone(done, Effect.void)
    })
    /** Does what tells how many events it sent, and waits until these have caused all their commits. */
    const committing = <E>(sending: Effect.Effect<number, E>): Effect.Effect<number, E> =>
      Effect.gen(function* () {
        committed = 0
        expected = Number.POSITIVE_INFINITY
        done = yield* Deferred.make<void>()
        const count = yield* sending
        expected = commits * count
        if (committed < expected) yield* Effect.raceFirst(Deferred.await(done), runtime.awaitFatal)
        return count
      })
    let events = 0
    const sendTo = (id: string | undefined) => runtime.send(id ?? null, order.paid(`event-${events++}`))
    const sent = Array.from(executions, () => 0)
    const send = (sender: number) => {
      const turn = sent[sender] ?? 0
      sent[sender] = turn + 1
      return sendTo(ids[(sender + turn * executions.length) % ids.length])
    }
    const round: Round<StoreError> = (seconds) =>
      measure.timed(committing(Effect.map(measure.loop(executions.length, seconds, send), ({ count }) => count)))
    /** A round in which so many events a second are sent, to one execution after the other, however long each takes. */
    const paced = (rate: number, seconds: number) =>
      measure.timed(
        committing(
          Effect.gen(function* () {
            const begun = performance.now()
            const count = Math.max(1, Math.floor(rate * seconds))
            const sending: Array<Fiber.RuntimeFiber<unknown, StoreError>> = []
            while (sending.length < count) {
              yield* Effect.sleep("1 millis")
              const due = Math.min(count, Math.ceil(((performance.now() - begun) * rate) / 1000))
              while (sending.length < due) sending.push(yield* Effect.fork(sendTo(ids[sending.length % ids.length])))
            }
            yield* Fiber.joinAll(sending)
            return count
          })
        )
      )
    return { runtime, round, paced, committing, sendTo }
  })
