import { fileURLToPath } from "node:url"
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import * as SqliteStore from "holdfast/SqliteStore"
import { StoreRejected } from "holdfast/StoreError"
import { type Options, othersThan, replay } from "../../examples/replay/importer.js"
import { type Log, survey } from "../../examples/replay/log.js"
import { caseId } from "../../examples/replay/machine.js"
import * as Progress from "../../examples/replay/progress.js"
import { totals } from "../../examples/replay/report.js"
import { verify } from "../../examples/replay/verify.js"
import { extent, longer, shareOfTests } from "../support/extent.js"

const columns = { case: "case:concept:name", activity: "concept:name", timestamp: "time:timestamp" }
const sample = survey(fileURLToPath(new URL("../../examples/replay/sample.csv", import.meta.url)), columns)
const options: Options = { batch: 50, inactivity: Duration.hours(1), progress: Progress.none }

const expected = { cases: 60, events: 419, duplicates: 9, timers: 419 }
const compared = { executions: 75, cases: 60, counters: 14 }

/** Runs to the end, with the time passing that retries ask for. */
const drive = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(effect)
    yield* Effect.repeat(TestClock.adjust("1 second"), { until: () => fiber.unsafePoll() !== null })
    return yield* Fiber.join(fiber)
  })

/** The replay of a log that is stopped in the middle of whatever it does when so many commits are made. */
const stopAfter = (log: Log, commits: number, batch: number) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const reached = yield* Deferred.make<"stopped">()
    let count = 0
    yield* store.listen((notice) => {
      if (Option.isSome(notice.committed) && ++count === commits) {
        Deferred.unsafeDone(reached, Effect.succeed("stopped"))
      }
    })
    return yield* drive(
      replay(log, { ...options, batch }).pipe(Effect.as("ended"), Effect.raceFirst(Deferred.await(reached)))
    )
  }).pipe(Effect.scoped)

/** Checks that the database holds what the log says, nothing else, and that nothing is left to do. */
const expectEnd = (log: Log, of = { totals: expected, compared }) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    expect(yield* totals(log)).toEqual(of.totals)
    expect(yield* verify(log)).toEqual(of.compared)
    expect((yield* store.pendingOutbox()).entries).toEqual([])
    expect((yield* store.pendingSpawns()).entries).toEqual([])
    expect(yield* store.timers.next).toEqual(Option.none())
  })

/** A new file, and the store on it: each use opens it anew. */
const sqliteFile = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const directory = yield* fs.makeTempDirectoryScoped({ prefix: "holdfast-replay-" })
  return SqliteStore.layer({ filename: `${directory}/replay.db`, durability: "normal" })
}).pipe(Effect.provide(NodeFileSystem.layer))

/** A new store in memory: each use finds it as the one before left it. */
const memory = Effect.map(MemoryStore.make(), (store) => Layer.succeed(ExecutionStore, store))

const stores = [
  ["in memory", memory],
  ["an SQLite file", sqliteFile]
] as const

// Each test runs by default in one of the two places, in turn, and in both among the longer ones.
describe("the replay", () => {
  for (const [[place, makeStore], named] of shareOfTests(stores, 0, 2)) {
    it.scoped(named(`${place}: ends with the states of a plain fold, and says so at once when it is run again`), () =>
      Effect.gen(function* () {
        const layer = yield* makeStore
        const log = yield* sample
        const first = yield* Effect.provide(drive(replay(log, options)), layer)
        expect(first.rows).toBe(428)
        yield* Effect.provide(expectEnd(log), layer)
        const again = yield* Effect.provide(drive(replay(log, options)), layer)
        expect(again.rows).toBe(0)
        yield* Effect.provide(expectEnd(log), layer)
      })
    )
  }

  for (const [[place, makeStore]] of shareOfTests(stores, 1, 2)) {
    it.scoped.prop(
      longer(`${place}: that was stopped, again and again, ends as one that was not`),
      {
        stops: FastCheck.array(
          FastCheck.record({
            commits: FastCheck.integer({ min: 1, max: 150 }),
            batch: FastCheck.integer({ min: 1, max: 90 })
          }),
          { minLength: 1, maxLength: 3 }
        )
      },
      ({ stops }) =>
        Effect.gen(function* () {
          const layer = yield* makeStore
          const log = yield* sample
          for (const { commits, batch } of stops) {
            expect(yield* Effect.provide(stopAfter(log, commits, batch), layer)).toBe("stopped")
          }
          const last = yield* Effect.provide(drive(replay(log, options)), layer)
          expect(last.rows).toBeLessThanOrEqual(428)
          yield* Effect.provide(expectEnd(log), layer)
        }),
      { fastCheck: { numRuns: extent({ quick: 1, long: 4 }), seed: 7 } }
    )
  }

  for (const [[place, makeStore], named] of shareOfTests(stores, 2, 2)) {
    it.scoped(
      named(`${place}: that was stopped for two hours finds its cases idle, wakes them, and ends the same`),
      () =>
        Effect.gen(function* () {
          const layer = yield* makeStore
          const log = yield* sample
          const half = (sent: number) => (sent < 200 ? Effect.void : Effect.interrupt)
          yield* Effect.provide(Effect.exit(replay(log, { ...options, progress: half })), layer)

          yield* TestClock.adjust("2 hours")
          yield* Effect.gen(function* () {
            const store = yield* ExecutionStore
            const due = (yield* store.dueTimers(2 * 3600)).entries
            expect(due.length).toBeGreaterThan(10)
            const idle = new Set<string>()
            const allIdle = yield* Deferred.make<void>()
            yield* store.listen((notice) => {
              if (Option.isNone(notice.committed) || notice.committed.value.execution.activePath !== "Idle") return
              idle.add(notice.committed.value.execution.id)
              if (idle.size === due.length) Deferred.unsafeDone(allIdle, Effect.void)
            })
            yield* drive(replay(log, { ...options, progress: () => Deferred.await(allIdle) }))
            expect(Array.from(idle).sort()).toEqual(due.map((timer) => timer.executionId).sort())
            yield* expectEnd(log)
          }).pipe(Effect.scoped, Effect.provide(layer))
        })
    )
  }

  for (const [[place, makeStore], named] of shareOfTests(stores, 3, 2)) {
    it.scoped(named(`${place}: shares a database with the replay of another log`), () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const path = yield* fs.makeTempFileScoped({ suffix: ".csv" })
        const log = yield* sample
        // Its cases and activities have the names of the first one's.
        yield* fs.writeFileString(path, "c,a,t\nP-1001,Collected from sender,1\nP-1008,Collected from sender,1\n")
        const other = yield* survey(path, { case: "c", activity: "a", timestamp: "t" })
        const layer = yield* makeStore
        yield* Effect.gen(function* () {
          expect(yield* othersThan(log)).toBe(0)
          yield* stopAfter(log, 100, 50)
          expect(yield* othersThan(log)).toBe(0)
          yield* drive(replay(other, options))
          yield* drive(replay(log, options))
          yield* expectEnd(log)
          yield* expectEnd(other, {
            totals: { cases: 2, events: 2, duplicates: 0, timers: 2 },
            compared: { executions: 4, cases: 2, counters: 1 }
          })
          expect(yield* othersThan(log)).toBe(1)
        }).pipe(Effect.provide(layer))
      }).pipe(Effect.provide(NodeFileSystem.layer))
    )
  }

  for (const [[place, makeStore], named] of shareOfTests(stores, 4, 2)) {
    it.scoped(named(`${place}: can be run twice at the same time, with batches of different sizes`), () =>
      Effect.gen(function* () {
        const layer = yield* makeStore
        const log = yield* sample
        yield* Effect.gen(function* () {
          yield* drive(
            Effect.all([replay(log, { ...options, batch: 30 }), replay(log, { ...options, batch: 47 })], {
              concurrency: "unbounded",
              discard: true
            })
          )
          yield* expectEnd(log)
        }).pipe(Effect.provide(layer))
      })
    )
  }
})

describe("a store that refuses a commit", () => {
  it.scoped("ends the replay at once with what it says; the next run goes on", () =>
    Effect.gen(function* () {
      const log = yield* sample
      const store = yield* ExecutionStore
      const full = Effect.suspend(
        () => new StoreRejected({ operation: "commit", reason: "disk-full", detail: "the disk is full" })
      )
      let commits = 0
      const small: ExecutionStore = {
        ...store,
        commit: (execution, commit) => (++commits > 80 ? full : store.commit(execution, commit))
      }
      const refused = replay(log, options).pipe(Effect.provideService(ExecutionStore, small))
      expect(yield* Effect.flip(drive(refused))).toMatchObject({ _tag: "StoreRejected", reason: "disk-full" })
      yield* drive(replay(log, options))
      yield* expectEnd(log)
    }).pipe(Effect.provide(MemoryStore.layer))
  )
})

describe("a comparison with the fold", () => {
  it.scoped("finds a state that is other, one that is missing, and one too many", () =>
    Effect.gen(function* () {
      const log = yield* sample
      const store = yield* ExecutionStore
      yield* drive(replay(log, options))
      const problem = Effect.map(Effect.flip(verify(log)), (error) => error.message)
      const id = caseId(log.digest, "P-1008")
      const before = yield* Effect.flatten(store.load(id))
      const changed = yield* store.save({ ...before, context: { ...before.context, events: 1 } })
      expect(yield* problem).toMatch(/case:P-1008 should be Ended .* and is Ended .*"events":1,/)
      yield* store.purge(id, changed.version)
      expect(yield* problem).toMatch(/case:P-1008 should be Ended .* and is nothing$/)
      yield* store.save({ ...before, version: 0 })
      expect(yield* verify(log)).toEqual(compared)
      yield* store.save({ ...before, version: 0, id: caseId(log.digest, "P-1") })
      expect(yield* problem).toMatch(/it has 76 executions, not 75$/)
    }).pipe(Effect.provide(MemoryStore.layer))
  )
})
