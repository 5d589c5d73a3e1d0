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
import { extent, longer } from "../support/extent.js"
import * as Temp from "../support/temp.js"

// More of them by hand: each takes some seconds.
const kills = Number(process.env["HOLDFAST_KILLS"] ?? extent({ quick: 2, long: 12 }))
const processes = 3

/** A process that can be ended by itself. */
const begin = (filename: string, name: string) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const child = yield* Scope.extend(ChildProcess.run("activityProcess.ts", filename, name), scope)
    return { child, kill: Scope.close(scope, Exit.void) }
  })

type Store = ExecutionStore.ExecutionStore

/** Starts jobs as long as processes are killed, and more where less waits than all have places for. */
const startJobs = (store: Store, jobs: Array<string>) =>
  Effect.gen(function* () {
    const { activities } = yield* store.stats
    const from = jobs.length
    jobs.push(`job-${from}`)
    if (activities.count < 2 * each) jobs.push(`job-${from + 1}`)
    yield* Effect.forEach(jobs.slice(from), (id) => Job.startOrGet(id, { outcomes: [] }), { discard: true })
  })

/** Whether a process was killed while it ran what it said last: nobody else has taken that yet, and it has not ended. */
const wasHit = (store: Store, line: string) =>
  Effect.gen(function* () {
    const [said, executionId = "", key] = line.split(" ")
    if (said !== "began") return false
    const entries = yield* store.activities.of(executionId)
    return entries.some((activity) => activity.key === key && activity.owner !== null)
  })

/** How many events were ever put into the outbox. */
const emitted = (filename: string) =>
  Effect.gen(function* () {
    const driver = yield* sqliteDriver.make({ filename })
    const sql = "SELECT seq FROM sqlite_sequence WHERE name = 'harel_outbox'"
    const [row] = yield* driver.query({ operation: "test" }, { sql, params: [] })
    return row?.[0]
  })

it.scopedLive(
  longer(
    `of ${kills} processes that are killed while they run activities none leaves one without its event, or with two`
  ),
  () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      const store = yield* SqliteStore.make({ filename, durability: "normal" })
      const client = Effect.provideService(ExecutionStore.ExecutionStore, store)
      const jobs: Array<string> = []
      yield* client(startJobs(store, jobs))
      const running = yield* Effect.forEach(
        Array.from({ length: processes }, (_, i) => `p${i}`),
        (name) => begin(filename, name),
        { concurrency: "unbounded" }
      )
      yield* Effect.addFinalizer(() => Effect.forEach(running, ({ kill }) => kill, { discard: true }))
      let hits = 0
      // On a busy machine a kill may come too late for what had begun: then there are more of them.
      for (let i = 0; i < kills || (hits === 0 && i < kills + 30); i++) {
        yield* client(startJobs(store, jobs))
        const victim = yield* Random.nextIntBetween(0, processes)
        const process = running[victim]
        if (process === undefined) throw new Error("there is no such process")
        // It has begun, and runs on for as long as a few activities take.
        const after = yield* Random.nextIntBetween(1, 8)
        const said = Effect.map(Effect.replicateEffect(process.child.line, after), (lines) => {
          for (const line of lines) assert.match(line, /^(began|ran) job-/)
          return lines.at(-1) ?? ""
        })
        // The others may leave it nothing to do.
        const rest = Effect.as(
          Effect.forEach(jobs, (id) => client(Job.await(id))),
          ""
        )
        const last = yield* Effect.raceFirst(said, rest)
        yield* process.kill
        if (yield* wasHit(store, last)) hits++
        running[victim] = yield* begin(filename, `p${victim}-${i}`)
      }
      yield* Effect.log(`${hits} of the kills hit an activity that had just begun`)
      assert.isAbove(hits, 0)
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
  3_600_000
)
