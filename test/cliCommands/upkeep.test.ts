import { rename } from "node:fs/promises"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as SqlDriver from "holdfast/SqlDriver"
import * as SqliteStore from "holdfast/SqliteStore"
import { schemaVersion } from "../../src/internal/schema/schema.js"
import { load } from "../../src/internal/sqliteDriver/load.js"
import { holdfast, type Terminal, values } from "../support/cli.js"
import { filled } from "../support/cliStore.js"
import * as temp from "../support/temp.js"

/** What a file takes is not in the time of the test. */
const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

const day = 86_400_000

const onStore = Effect.gen(function* () {
  yield* TestClock.setTime(1_800_000_000_000)
  const filename = yield* temp.database
  yield* filled(filename)
  const env = new Map([["HOLDFAST_STORE", `sqlite:${filename}`]])
  return (args: ReadonlyArray<string>, terminal: Terminal = {}) => holdfast(args, { env, ...terminal })
})

describe("prune", () => {
  it.scoped("removes trees that finished long ago, and says before which", () =>
    Effect.gen(function* () {
      const run = yield* onStore
      const prune = ["prune", "--finished", "30 days", "--json"]
      yield* TestClock.adjust(29 * day)
      expect((yield* run([...prune, "--dry-run"])).notes).toEqual(["prune would remove up to 0 trees"])
      yield* TestClock.adjust(2 * day)
      expect(values(yield* run([...prune, "--dry-run"]))).toMatchObject([{ id: "order-18" }])
      expect(yield* run(prune, { answer: false })).toMatchObject({ code: 4, out: [] })
      expect(values(yield* run(prune, { answer: true }))).toEqual([{ processed: 0, executions: 1 }])
      expect(values(yield* run([...prune, "--yes"]))).toEqual([{ processed: 0, executions: 0 }])
      expect((yield* run(["execution", "show", "order-18"])).code).toBe(3)
      expect((yield* run(["prune", "--yes"])).notes).toEqual([
        "holdfast: prune needs to be told what: give --processed or --finished, or both, with an age"
      ])
    })
  )
})

describe("watch", () => {
  it.scoped("shows the counts at every interval", () =>
    Effect.gen(function* () {
      const run = yield* onStore
      const once = yield* run(["watch", "--once", "--json"])
      expect(values(once)).toMatchObject([{ time: 1_800_000_000, timers: { count: 2 } }])
      const seen: Array<string> = []
      const watching = yield* Effect.fork(run(["watch", "--interval", "1 minute", "--json"], { seen }))
      const minute = Effect.zipRight(TestClock.adjust("1 minute"), Effect.yieldNow())
      yield* Effect.repeat(
        Effect.zipRight(
          minute,
          Effect.promise(() => new Promise(setImmediate))
        ),
        { until: () => seen.length >= 3 }
      )
      yield* Fiber.interrupt(watching)
      const times = seen.map((line): number => JSON.parse(line).time)
      expect(times).toEqual(times.toSorted((a, b) => a - b))
      expect(new Set(times).size).toBe(times.length)
      for (const interval of ["never", "0 seconds", "-1"]) {
        expect((yield* run(["watch", "--interval", interval])).code, interval).toBe(2)
      }
    })
  )

  it.scoped("waits for a file that goes away, and looks into the one that takes its place", () =>
    Effect.gen(function* () {
      const filename = yield* temp.database
      yield* filled(filename)
      const other = yield* temp.database
      yield* Effect.provide(Effect.void, SqliteStore.layer({ filename: other }))
      const seen: Array<string> = []
      const watching = yield* Effect.fork(
        holdfast(["watch", "--interval", "1 minute", "--json", "--store", `sqlite:${filename}`], { seen })
      )
      const minute = Effect.zipRight(TestClock.adjust("1 minute"), turn)
      const counts = () => seen.map((line): number => JSON.parse(line).timers.count)
      yield* Effect.repeat(minute, { until: () => seen.length > 0 })
      yield* Effect.promise(() => rename(filename, `${filename}.old`))
      yield* Effect.repeat(minute, { times: 10 })
      yield* Effect.promise(() => rename(other, filename))
      yield* Effect.repeat(minute, { until: () => counts().at(-1) === 0 })
      expect(counts()[0]).toBe(2)
      expect((yield* Fiber.interrupt(watching))._tag).toBe("Failure")
    })
  )
})

describe("migrate", () => {
  it.scoped("makes a store where it is asked to, and brings an earlier one up to date", () =>
    Effect.gen(function* () {
      const filename = yield* temp.database
      const run = (...args: ReadonlyArray<string>) => holdfast([...args, "--store", `sqlite:${filename}`, "--json"])
      expect((yield* run("migrate")).code).toBe(3)
      expect((yield* run("stats")).code).toBe(3)
      expect((yield* run("migrate", "--create")).code).toBe(0)
      expect((yield* run("stats")).code).toBe(0)
      const library = yield* load()
      const database = library.open(filename)
      database.prepare("UPDATE harel_holdfast_meta SET value = '1' WHERE key = 'schema_version'").run([])
      database.close()
      expect((yield* run("stats")).code).toBe(2)
      expect(values(yield* run("migrate"))).toMatchObject([{ prefix: "harel_", schemaVersion }])
      expect((yield* run("stats")).code).toBe(0)
      expect((yield* run("migrate", "--prefix", "mine_")).code).toBe(0)
      expect((yield* run("stats", "--prefix", "mine_")).code).toBe(0)
    })
  )

  it.effect("prints its statements, and runs none", () =>
    Effect.gen(function* () {
      const { code, out } = yield* holdfast(["migrate", "--dry-run", "--prefix", "mine_"])
      const statements = yield* SqlDriver.schema("mine_")
      expect([code, out.join("\n")]).toEqual([0, statements.map((statement) => `${statement};`).join("\n")])
      expect((yield* holdfast(["migrate", "--dry-run", "--prefix", "1; DROP"])).code).toBe(2)
    })
  )

  it.effect("prints the statements with the prefix of the store that is named", () =>
    Effect.gen(function* () {
      for (const [store, prefix] of [
        ["rqlite:http://127.0.0.1:4001", ""],
        ["sqlite:orders.db", "harel_"]
      ] as const) {
        const { out } = yield* holdfast(["migrate", "--dry-run", "--store", store])
        expect(out[0], store).toContain(`CREATE TABLE IF NOT EXISTS ${prefix}executions `)
      }
      const { code, notes } = yield* holdfast(["migrate", "--dry-run", "--store", "orders.db"])
      expect([code, notes.join()]).toEqual([2, expect.stringContaining('--store: "orders.db" is no store')])
    })
  )
})
