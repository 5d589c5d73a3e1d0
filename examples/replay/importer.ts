/**
 * The replay itself: brings the log to its importer, batch after batch, and waits for what becomes of it.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import { ExecutionStore, streamExecutions } from "holdfast/ExecutionStore"
import type { StoreRejected } from "holdfast/StoreError"
import { type Log, rows } from "./log.js"
import { child, definitions, ImporterState, importerId, newImporter, rowsEvent } from "./machine.js"
import type { Progress } from "./progress.js"

export interface Options {
  /** How many rows one commit sends. */
  readonly batch: number
  readonly inactivity: Duration.Duration
  readonly progress: Progress
}

/** What one run did; the rest was done by runs before it. */
export interface Run {
  readonly rows: number
  readonly seconds: number
}

/**
 * Replays the log to its end, from where the database says that it is. It can be interrupted, or the process killed, at any moment, and
 * run again.
 */
export const replay = (log: Log, { batch, inactivity, progress }: Options) =>
  Effect.gen(function* () {
    const runtime = yield* ExecutionRuntime.ExecutionRuntime
    const id = importerId(log.digest)

    yield* runtime.create(newImporter(log)).pipe(Effect.catchTag("AlreadyExists", () => Effect.void))
    const sent = yield* rowsSent(id)
    const begun = yield* Clock.currentTimeMillis
    yield* progress(sent)
    // What a run before this one sent and did not see delivered.
    yield* runtime.awaitIdle
    yield* rows(log).pipe(
      Stream.drop(sent),
      Stream.grouped(batch),
      Stream.runFoldEffect(sent, (from, group) =>
        Effect.gen(function* () {
          yield* runtime.process(id, rowsEvent(from, Array.from(group)))
          // Waiting here bounds what is on its way at any moment to one batch, however long the log is.
          yield* runtime.awaitIdle
          yield* progress(from + group.length)
          // SQLite answers without ever waiting: only here does the process get round to its signals.
          yield* Effect.sleep(0)
          return from + group.length
        })
      )
    )
    const seconds = ((yield* Clock.currentTimeMillis) - begun) / 1000
    return { rows: log.rows - sent, seconds } satisfies Run
  }).pipe(Effect.provide(runtimeLayer(inactivity)), failFast)

// Many cases side by side: what is committed at the same moment shares one sync of the disk.
const runtimeLayer = (inactivity: Duration.Duration) =>
  ExecutionRuntime.layer({ definitions: definitions(inactivity), child, concurrency: 64 })

/** How many other logs the database holds: each has an importer. */
export const othersThan = (log: Log) =>
  streamExecutions({ definitionId: "importer" }).pipe(
    Stream.filter(({ id }) => id !== importerId(log.digest)),
    Stream.runCount
  )

const rowsSent = (id: string) =>
  Effect.gen(function* () {
    const importer = yield* Effect.flatMap(ExecutionStore, (store) => store.load(id))
    if (Option.isNone(importer)) return 0
    const { sent } = yield* Schema.decodeUnknown(ImporterState)(importer.value.context)
    return sent
  })

/**
 * Ends with the first commit that the store refuses, because the disk is full, say. The runtime itself would try again for as long as it
 * runs, as a service should; a batch job had better say what is wrong, and be started again.
 */
const failFast = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const refused = yield* Deferred.make<never, StoreRejected>()
    const watched: ExecutionStore = {
      ...store,
      commit: (execution, commit) =>
        store
          .commit(execution, commit)
          .pipe(Effect.tapErrorTag("StoreRejected", (rejected) => Deferred.fail(refused, rejected)))
    }
    return yield* effect.pipe(Effect.provideService(ExecutionStore, watched), Effect.raceFirst(Deferred.await(refused)))
  })
