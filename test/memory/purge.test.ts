import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as executions from "holdfast/internal/memory/executions"
import { Tables } from "holdfast/internal/memory/tables"

/** Rows of so many executions of which each has events, delayed ones and a child, and how often anybody asked a row whose it is. */
const filled = (count: number) => {
  const tables = new Tables()
  const ids = Array.from({ length: count }, (_, i) => `e${i}`)
  const asked = { times: 0 }
  const of = (id: string): string => {
    asked.times++
    return id
  }
  const ofTarget = (id: string) => ({
    event: "{}",
    get targetId() {
      return of(id)
    }
  })
  for (const id of ids) {
    tables.executions.set({ id, definitionId: "d", data: "{}", version: 1 })
    for (let i = 0; i < 3; i++) {
      tables.outbox.add((seq) => Object.assign(ofTarget(id), { seq }))
      tables.delayed.add({ targetId: id, event: "{}", dueAt: i })
    }
    tables.spawns.add((seq) =>
      Object.assign(
        {
          get parentId() {
            return of(id)
          }
        },
        { seq, childId: `${id}-child`, rootPath: "", context: "{}" }
      )
    )
  }
  asked.times = 0
  return { tables, ids, asked }
}

/** How often rows are asked whose they are when all executions are purged, one after the other. */
const askedForAll = (count: number) =>
  Effect.gen(function* () {
    const { asked, ids, tables } = filled(count)
    const { purge } = executions.make(tables)
    for (const id of ids) assert.isTrue(yield* purge(id, 1))
    assert.deepStrictEqual([tables.outbox.size, tables.delayed.size, tables.spawns.size], [0, 0, 0])
    return asked.times
  })

describe("Purging from memory", () => {
  it.effect("looks at the rows of the execution alone", () =>
    Effect.gen(function* () {
      const few = yield* askedForAll(50)
      assert.isAbove(few, 0)
      assert.strictEqual(yield* askedForAll(500), few * 10)
    })
  )

  it.effect("leaves those of all others", () =>
    Effect.gen(function* () {
      const { tables } = filled(3)
      const { purge } = executions.make(tables)
      assert.isTrue(yield* purge("e1", 1))
      assert.deepStrictEqual(
        Array.from(tables.outbox.from(), ({ targetId }) => targetId),
        ["e0", "e0", "e0", "e2", "e2", "e2"]
      )
      assert.deepStrictEqual(
        ["e0", "e1", "e2"].map((id) => tables.delayed.of(id).length),
        [3, 0, 3]
      )
      assert.deepStrictEqual(
        ["e0-child", "e1-child", "e2-child"].map((id) => tables.spawns.byChild.has(id)),
        [true, false, true]
      )
    })
  )
})
