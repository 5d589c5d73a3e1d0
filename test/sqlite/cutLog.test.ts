import { readFile, writeFile } from "node:fs/promises"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Temp from "../support/temp.js"

const commits = 20

/** The database file and its write-ahead log as they are on the disk after so many commits, the store still open. */
const written = Effect.gen(function* () {
  const filename = yield* Temp.database
  const store = yield* SqliteStore.make({ filename })
  let execution = Execution.make({ id: "order-1", definitionId: "order" })
  for (let i = 0; i < commits; i++) {
    const emits = [{ targetId: "order-1", event: Event.make({ id: `event-${i}`, kind: "Tick" }) }]
    execution = (yield* store.commit(execution, { emits })).execution
  }
  return yield* Effect.promise(() => Promise.all([readFile(filename), readFile(`${filename}-wal`)]))
}).pipe(Effect.scoped)

/** What a store finds that opens these files: how many commits, and how many events of theirs. */
const found = (database: Uint8Array, log: Uint8Array) =>
  Effect.gen(function* () {
    const filename = yield* Temp.database
    yield* Effect.promise(() => Promise.all([writeFile(filename, database), writeFile(`${filename}-wal`, log)]))
    const store = yield* SqliteStore.make({ filename })
    const execution = yield* store.load("order-1")
    const { entries } = yield* store.pendingOutbox({ limit: 100 })
    return [Option.match(execution, { onNone: () => 0, onSome: ({ version }) => version }), entries.length]
  }).pipe(Effect.scoped)

// What SQLite cannot promise, and what it does: docs/durability.md.
describe("a write-ahead log", () => {
  it.effect("that is cut anywhere has whole commits up to there, and none behind", () =>
    Effect.gen(function* () {
      const [database, log] = yield* written
      const seen: Array<number> = []
      for (let part = 0; part <= 40; part++) {
        const [version = -1, events = -1] = yield* found(
          database,
          log.subarray(0, Math.floor((log.length * part) / 40))
        )
        assert.strictEqual(events, version)
        seen.push(version)
      }
      assert.deepStrictEqual(
        seen,
        seen.toSorted((a, b) => a - b)
      )
      assert.deepStrictEqual([seen[0], seen.at(-1)], [0, commits])
      assert.isAbove(new Set(seen).size, 5)
    })
  )

  it.effect("of which a bit is wrong has whole commits up to there, and none behind", () =>
    Effect.gen(function* () {
      const [database, log] = yield* written
      for (let part = 1; part < 20; part++) {
        const broken = Uint8Array.from(log)
        const place = Math.floor((log.length * part) / 20)
        broken[place] = (broken[place] ?? 0) ^ 1
        const [version = -1, events = -1] = yield* found(database, broken)
        assert.strictEqual(events, version)
        assert.isBelow(version, commits)
      }
    })
  )

  it.effect("that is left behind when the database file is copied leaves its commits behind", () =>
    Effect.gen(function* () {
      const [database] = yield* written
      assert.deepStrictEqual(yield* found(database, new Uint8Array()), [0, 0])
    })
  )
})
