import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Execution from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as SqliteStore from "holdfast/SqliteStore"
import { load } from "../../src/internal/sqliteDriver/load.js"
import { holdfast } from "../support/cli.js"
import * as temp from "../support/temp.js"

describe("what docs/operations.md says of backups", () => {
  it.scopedLive("holds: VACUUM INTO copies a file that is written to, as it is at one moment", () =>
    Effect.gen(function* () {
      const page = yield* Effect.promise(() =>
        readFile(fileURLToPath(new URL("../../docs/operations.md", import.meta.url)), "utf8")
      )
      const [, statement = ""] = /sqlite3 orders\.db "(VACUUM INTO '.*')"/.exec(page) ?? []
      const filename = yield* temp.database
      const copy = `${filename}.copy`
      const store = yield* SqliteStore.make({ filename })
      const save = (i: number) =>
        store.save(Execution.make({ id: `order-${String(i).padStart(5, "0")}`, definitionId: "order" }))
      for (let i = 0; i < 50; i++) yield* save(i)
      let written = 50
      const writing = yield* Effect.fork(Effect.forever(Effect.suspend(() => save(written++))))
      yield* Effect.yieldNow()
      const library = yield* load()
      const database = library.open(filename)
      database.prepare(statement.replace("backup.db", copy)).run([])
      database.close()
      yield* Fiber.interrupt(writing)
      expect((yield* holdfast(["verify", "--store", `sqlite:${copy}`])).code).toBe(0)
      const restored = yield* SqliteStore.make({ filename: copy })
      const ids: Array<string> = []
      let cursor: string | undefined
      do {
        const page: Execution.ExecutionPage = yield* restored.listExecutions({ limit: 1000, cursor })
        ids.push(...page.items.map(({ id }) => id))
        cursor = page.nextCursor._tag === "Some" ? page.nextCursor.value : undefined
      } while (cursor !== undefined)
      // Whatever it has, it has everything that was written before it.
      expect(ids.length).toBeGreaterThanOrEqual(50)
      expect(ids).toEqual(ids.map((_, i) => `order-${String(i).padStart(5, "0")}`))
      // It is a store like any other.
      yield* Effect.provideService(
        Effect.flatMap(ExecutionStore.ExecutionStore, (store) =>
          store.save(Execution.make({ id: "new", definitionId: "order" }))
        ),
        ExecutionStore.ExecutionStore,
        restored
      )
    })
  )
})
