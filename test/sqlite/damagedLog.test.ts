import * as fs from "node:fs/promises"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as sqliteDriver from "holdfast/internal/sqlite/driver"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Temp from "../support/temp.js"

const count = 30

const ids = Array.from({ length: count }, (_, i) => `e-${String(i).padStart(2, "0")}`)

const files = <A>(run: () => Promise<A>) => Effect.promise(run)

/** A database as a killed process leaves it: the commits are in its write-ahead log. */
const left = Effect.gen(function* () {
  const filename = yield* Temp.database
  const store = yield* SqliteStore.make({ filename })
  for (const id of ids) {
    yield* store.commit(Execution.make({ id, definitionId: "d" }), {
      emits: [{ targetId: id, event: Event.make({ id: `${id}-sent`, kind: "Sent" }) }]
    })
  }
  return yield* files(async () => ({ main: await fs.readFile(filename), log: await fs.readFile(`${filename}-wal`) }))
}).pipe(Effect.scoped)

/** What a store finds in such a database. */
const found = ({ log, main }: { readonly main: Uint8Array; readonly log: Uint8Array }) =>
  Effect.gen(function* () {
    const filename = yield* Temp.database
    yield* files(() => fs.writeFile(filename, main))
    yield* files(() => fs.writeFile(`${filename}-wal`, log))
    const store = yield* SqliteStore.make({ filename })
    const driver = yield* sqliteDriver.make({ filename })
    const [[integrity] = []] = yield* driver.query({ operation: "test" }, { sql: "PRAGMA integrity_check", params: [] })
    const { entries } = yield* store.pendingOutbox({ limit: 1000 })
    return {
      integrity,
      executions: yield* store.idsWithPrefix("e-"),
      targets: entries.map(({ targetId }) => targetId ?? "")
    }
  }).pipe(Effect.scoped)

const assertPrefix = (database: Effect.Effect.Success<ReturnType<typeof found>>) => {
  assert.strictEqual(database.integrity, "ok")
  assert.deepStrictEqual(database.executions, ids.slice(0, database.executions.length))
  assert.deepStrictEqual(database.targets, [...database.executions])
}

describe("a write-ahead log", () => {
  it.effect("that is whole has all commits", () =>
    Effect.gen(function* () {
      const { executions } = yield* found(yield* left)
      assert.deepStrictEqual(executions, ids)
    })
  )

  it.effect("that is cut or damaged anywhere has the first commits, whole, and nobody is told", () =>
    Effect.gen(function* () {
      const whole = yield* left
      const lengths = new Set<number>()
      for (let i = 0; i < 30; i++) {
        const position = Math.floor((whole.log.length * (i + 0.5)) / 30)
        const cut = i % 2 === 0
        const log = cut ? whole.log.subarray(0, position) : Uint8Array.from(whole.log)
        if (!cut) log[position] = (log[position] ?? 0) ^ 0xff
        const database = yield* found({ main: whole.main, log })
        assertPrefix(database)
        lengths.add(database.executions.length)
      }
      assert.isAbove(lengths.size, 5)
    })
  )
})
