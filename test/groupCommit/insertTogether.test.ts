import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as insertTogether from "holdfast/internal/groupCommit/insertTogether"
import type { LazyDriver, Results } from "holdfast/internal/groupCommit/lazyDriver"
import type { OneRow } from "holdfast/internal/sqlDatabase/oneRow"
import type { Statement } from "holdfast/SqlDriver"
import * as SqliteStore from "holdfast/SqliteStore"

const texts = ["one", "two", "four"]
const insert = (row: string, last = "key"): OneRow => ({
  sql: "one",
  params: [row, last],
  insert: { texts, row: [row], last }
})
const other: Statement = { sql: "other", params: [] }

/** What runs of a list, and what comes of it: each insert gives its rows the next numbers, `refused` gives them none. */
const ran = (given: ReadonlyArray<Statement>, refused = false) => {
  const lists: Array<ReadonlyArray<Statement>> = []
  const answer = (statements: ReadonlyArray<Statement>): Results => {
    lists.push(statements)
    let last = 100
    return statements.map(({ params, sql }) => {
      const changes = sql === "other" ? 7 : refused ? 0 : params.length - 1
      if (sql !== "other") last += changes
      return { changes, lastRowid: last }
    })
  }
  const driver: LazyDriver = {
    query: () => Effect.succeed([]),
    transaction: (_, statements) => Effect.sync(() => answer(statements())),
    attempt: (_, statements) => Either.right(answer(statements()))
  }
  const made = insertTogether.make(driver)
  const call = { operation: "enqueue" }
  const attempted = made.attempt?.(call, () => given)
  const results = Effect.runSync(made.transaction(call, () => given))
  expect(attempted).toEqual(Either.right(results))
  expect(lists[0]).toEqual(lists[1])
  return { list: lists[0]?.map(({ params, sql }) => [sql, ...params].join(" ")), results }
}

describe("inserts of single rows that come one behind the other", () => {
  it("run as fewer statements, and each has its own result", () => {
    const { list, results } = ran([..."abcdefg"].map((row) => insert(row)))
    expect(list).toEqual(["four a b c d key", "two e f key", "one g key"])
    expect(results).toEqual([101, 102, 103, 104, 105, 106, 107].map((lastRowid) => ({ changes: 1, lastRowid })))
  })

  it("stay apart where others are between them, or what they have in common differs", () => {
    const { list, results } = ran([insert("a"), other, insert("b"), insert("c"), insert("d", "another"), other])
    expect(list).toEqual(["one a key", "other", "two b c key", "one d another", "other"])
    expect(results.map(({ changes }) => changes)).toEqual([1, 7, 1, 1, 1, 7])
    expect([0, 2, 3, 4].map((i) => results[i]?.lastRowid)).toEqual([101, 102, 103, 104])
  })

  it("all change nothing where their statement changes nothing", () => {
    const { results } = ran([insert("a"), insert("b"), insert("c")], true)
    expect(results.map(({ changes }) => changes)).toEqual([0, 0, 0])
  })

  it.scoped("have the numbers of their rows in a database, among commits and one that is refused", () =>
    Effect.gen(function* () {
      const store = yield* SqliteStore.make({ filename: ":memory:" })
      const event = (id: string) => ({ targetId: `to ${id}`, event: Event.make({ id, kind: "Told" }) })
      const ids = Array.from({ length: 150 }, (_, i) => `e${i}`)
      const exits = yield* Effect.forEach(
        ids,
        (id, i) => {
          if (i % 40 === 13) return Effect.exit(store.enqueue([event(id), event(`${id} too`)]))
          if (i % 40 === 27) {
            const execution = { ...Execution.make({ id, definitionId: "d" }), version: i === 107 ? 3 : 0 }
            return Effect.exit(Effect.map(store.commit(execution, { emits: [event(id)] }), ({ seqs }) => seqs))
          }
          return Effect.exit(store.enqueue([event(id)]))
        },
        { concurrency: "unbounded" }
      )
      const { entries } = yield* store.pendingOutbox({ limit: 1000 })
      const seqs = new Map(entries.map((entry) => [entry.event.id, entry.seq]))
      for (const [i, exit] of exits.entries()) {
        const first = seqs.get(`e${i}`)
        if (Exit.isFailure(exit)) expect([i, first]).toEqual([107, undefined])
        else expect([i, exit.value]).toEqual([i, i % 40 === 13 ? [first, Number(first) + 1] : [first]])
      }
      const order = entries.map((entry) => Number.parseInt(entry.event.id.slice(1), 10))
      expect(order).toEqual(order.toSorted((a, b) => a - b))
      expect(entries.length).toBe(150 + 4 - 1)
    })
  )
})
