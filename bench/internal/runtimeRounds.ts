import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
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

export const executions = measure.range(64).map((i) => `order-${i}`)

/** A round of so many seconds of sending, and the time until all that was sent is done. */
export type Round<E> = (seconds: number) => Effect.Effect<measure.Sample, E>

export interface Options {
  readonly transition: Processor.Transition
  /** How many commits each event causes. */
  readonly commits: number
}

/** A runtime on a file of its own, and its rounds: 64 senders, each of which sends its execution one event after the other, to the last commit. */
export const make = (settings: Settings, durability: raw.Durability, { commits, transition }: Options) =>
  Effect.gen(function* () {
    const store = yield* SqliteStore.make({ filename: yield* databaseFile(settings), durability })
    const runtime = yield* ExecutionRuntime.make({
      definitions: { order: transition },
      concurrency: executions.length,
      pageSize: 1000
    }).pipe(Effect.provideService(ExecutionStore, store))
    for (const id of executions) yield* runtime.create(order.make(id))

    let committed = 0
    let expected = Number.POSITIVE_INFINITY
    let done = yield* Deferred.make<void>()
    yield* store.listen((notice) => {
      if (Option.isSome(notice.committed) && ++committed === expected) Deferred.unsafeDone(done, Effect.void)
    })
    let events = 0
    const send = (sender: number) => runtime.send(executions[sender] ?? null, order.paid(`event-${events++}`))
    const round: Round<StoreError> = (seconds) =>
      measure.timed(
        Effect.gen(function* () {
          committed = 0
          expected = Number.POSITIVE_INFINITY
          done = yield* Deferred.make<void>()
          const { count } = yield* measure.loop(executions.length, seconds, send)
          expected = commits * count
          if (committed < expected) yield* Effect.raceFirst(Deferred.await(done), runtime.awaitFatal)
          return count
        })
      )
    return { runtime, round }
  })
