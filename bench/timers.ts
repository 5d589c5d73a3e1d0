import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Commit from "holdfast/Commit"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Figure from "./internal/figure.js"
import * as measure from "./internal/measure.js"
import * as order from "./internal/order.js"
import * as raw from "./internal/raw.js"
import { named } from "./internal/runtimeRounds.js"
import { databaseFile, type Settings, type Topic } from "./internal/settings.js"

/** From the start of a runtime until all timers that were due by then have fired, and by how much each came later than that start. */
const due = (settings: Settings, count: number) =>
  Effect.gen(function* () {
    const store = yield* SqliteStore.make({ filename: yield* databaseFile(settings), durability: "full" })
    const fireAt = (yield* Clock.currentTimeMillis) / 1000
    yield* store.commitEach(
      named(count).map((id) => ({
        execution: order.make(id),
        commit: { timers: [Commit.scheduleTimer("payment", fireAt)] }
      }))
    )
    const late: Array<number> = []
    const done = yield* Deferred.make<void>()
    const sample = yield* measure.timed(
      Effect.gen(function* () {
        const begun = performance.now()
        const runtime = yield* ExecutionRuntime.make({
          definitions: {
            order: (execution) =>
              Effect.sync(() => {
                if (late.push(performance.now() - begun) === count) Deferred.unsafeDone(done, Effect.void)
                return { execution }
              })
          },
          concurrency: 64,
          pageSize: 1000
        }).pipe(Effect.provideService(ExecutionStore, store))
        yield* Effect.raceFirst(Deferred.await(done), runtime.awaitFatal)
        yield* runtime.awaitIdle
        return count
      })
    )
    return { ...sample, late }
  }).pipe(Effect.scoped)

/** Events, each consumed in a transaction of its own: the same rows as timers, but for the table that the work is in. */
const byHand = (settings: Settings, count: number) =>
  Effect.gen(function* () {
    const database = yield* raw.make(yield* databaseFile(settings), "full")
    const context = order.contextOf(1024)
    const alone = { ...order.sideWrites("made"), emits: [], timers: [] }
    database.transaction(() => {
      for (const id of named(count)) {
        database.commit(raw.newOrder(id, context), "made", alone)
        database.enqueue(id, order.paid(`due-${id}`))
      }
    })
    return yield* measure.timedSync(() => {
      for (const id of named(count)) database.transaction(() => database.consume(id))
      return count
    })
  }).pipe(Effect.scoped)

export const timers: Topic = (settings) =>
  Effect.gen(function* () {
    const count = settings.quick ? 500 : 10_000
    const topic = `${count.toLocaleString("en-US")} timers that are due at once, each of an execution of its own, FULL`
    yield* due(settings, count)
    const rounds = yield* Effect.replicateEffect(
      Effect.all({ fired: due(settings, count), hand: byHand(settings, count / 10) }),
      settings.quick ? 1 : 3
    )
    const against = "better-sqlite3, a transaction each"
    const figure = (name: string, unit: string, of: (sample: measure.Sample) => number) =>
      Figure.make({
        topic,
        name,
        unit,
        against,
        rounds: rounds.map(({ fired, hand }) => ({ value: of(fired), baseline: of(hand) }))
      })
    const lateness = (name: string, part: number) =>
      Figure.make({
        topic,
        name,
        unit: "ms",
        against,
        rounds: rounds.map(({ fired, hand }) => ({
          value: measure.quantile(fired.late, part),
          baseline: hand.seconds * 10_000 * part
        }))
      })
    return [
      figure("timers", "/s", measure.rate),
      figure("timers, processor", "us", measure.cpuMicros),
      lateness("later than the start of the runtime, p50", 0.5),
      lateness("later than the start of the runtime, the last", 1)
    ]
  })
