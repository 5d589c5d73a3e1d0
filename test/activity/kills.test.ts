import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as sqliteDriver from "holdfast/internal/sqlite/driver"
import * as SqliteStore from "holdfast/SqliteStore"
import { each, Job } from "../support/activityJob.js"
import * as ChildProcess from "../support/childProcess.js"
import { extent } from "../support/extent.js"
import * as Temp from "../support/temp.js"

const kills = extent({ quick: 6, long: 300 })
const processes = 3

/** A process that can be ended by itself. */
const begin = (filename: string, name: string) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const child = yield* Scope.extend(ChildProcess.run("activityProcess.ts", filename, name), scope)
    return { child, kill: Scope.close(scope, Exit.void) }
  })

/** Starts jobs as long as processes are killed, so that there is always something that runs. */
const start = (job: number) => Effect.as(Job.startOrGet(`job-${job}`, { outcomes: [] }), `job-${job}`)

/** How many events were ever put into the outbox. */
const emitted = (filename: string) =>
  Effect.gen(function* () {
    const driver = yield* sqliteDriver.make({ filename })
    const sql = "SELECT seq FROM sqlite_sequence WHERE name = 'harel_outbox'"
    const [row] = yield* driver.query({ operation: "test" }, { sql, params: [] })
    return row?.[0]
  })

it.scopedLive(
  `of ${kills} processes that are killed while they run activities none leaves one without its event, or with two`,
  () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const store = yield* SqliteStore.make({ filename, durability: "normal" })
      const client = Effect.provideService(ExecutionStore.ExecutionStore, store)
      const jobs = [yield* client(start(0))]
      const running = yield* Effect.forEach(
        Array.from({ length: processes }, (_, i) => `p${i}`),
        (name) => begin(filename, name),
        { concurrency: "unbounded" }
      )
      yield* Effect.addFinalizer(() => Effect.forEach(running, ({ kill }) => kill, { discard: true }))
      for (let i = 0; i < kills; i++) {
        const job = yield* client(start(i + 1))
        jobs.push(job)
        const victim = yield* Random.nextIntBetween(0, processes)
        const process = running[victim]
        if (process === undefined) throw new Error("there is no such process")
        // It has begun, and runs on for as long as a few activities take.
        const after = yield* Random.nextIntBetween(1, 8)
        const runs = Effect.repeatN(
          Effect.map(process.child.line, (line) => assert.strictEqual(line, "ran")),
          after - 1
        )
        // The others may leave it nothing to do.
        yield* Effect.raceFirst(runs, client(Job.await(job)))
        yield* process.kill
        running[victim] = yield* begin(filename, `p${victim}-${i}`)
      }
      const results = yield* Effect.forEach(jobs, (id) => client(Job.await(id)), { concurrency: "unbounded" })
      const keys = Array.from({ length: each }, (_, n) => `k${n}`).toSorted()
      for (const [i, outcomes] of results.entries()) {
        assert.deepStrictEqual(outcomes.map(([key]) => key).toSorted(), keys)
        for (const [key, value] of outcomes) assert.match(value, new RegExp(` job-${i}:${key}$`))
      }
      assert.deepStrictEqual((yield* store.activities.list()).entries, [])
      assert.deepStrictEqual((yield* store.deadLetters.list()).entries, [])
      // A start for each job, and an event for each of its activities.
      assert.strictEqual(yield* emitted(filename), jobs.length * (1 + each))
    }),
  extent({ quick: 120_000, long: 3_600_000 })
)
