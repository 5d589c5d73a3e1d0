import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { traceStep } from "holdfast/Commit"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import * as sqliteDriver from "holdfast/internal/sqlite/driver"
import * as SqlDriver from "holdfast/SqlDriver"
import { StoreRejected } from "holdfast/StoreError"

const sizeOf = (rows: ReadonlyArray<ReadonlyArray<unknown>>): number =>
  rows.flat().reduce<number>((size, value) => size + (typeof value === "string" ? value.length : 8), 0)

/** A store on a database whose answers hold so many characters. */
const limited = (limit: number) =>
  Effect.gen(function* () {
    const whole = yield* sqliteDriver.make({ filename: ":memory:" })
    const asked: Array<string> = []
    let refused = 0
    let open = false
    const driver: SqlDriver.SqlDriver = {
      ...whole,
      query: (call, statement) =>
        Effect.flatMap(whole.query(call, statement), (rows) => {
          asked.push(call.operation)
          if (open || sizeOf(rows) <= limit) return Effect.succeed(rows)
          refused++
          return Effect.fail(new StoreRejected({ ...call, reason: "too-large", detail: `more than ${limit}` }))
        })
    }
    return {
      store: yield* SqlDriver.make(driver, { prefix: "harel_", traceMax: 0 }),
      driver: whole,
      refused: () => refused,
      asked: (operation: string) => asked.filter((name) => name === operation).length,
      /** Takes the limit away. */
      lift: () => {
        open = true
      }
    }
  })

const pad = "x".repeat(200)
const numbers = Array.from({ length: 50 }, (_, i) => i)
const name = (i: number) => `e${String(i).padStart(3, "0")}`

const fill = (store: ExecutionStore) =>
  Effect.gen(function* () {
    yield* Effect.forEach(numbers, (i) =>
      store.commit(Execution.make({ id: name(i), definitionId: pad, parentId: "root" }), {
        emits: [{ targetId: name(i), event: Event.make({ id: name(i), kind: "Paid", data: { pad } }) }],
        spawns: [{ childId: `${name(i)}-child`, rootPath: "r", context: { pad } }],
        timers: [{ _tag: "Schedule", path: pad, fireAt: i }]
      })
    )
    yield* Effect.forEach(numbers, (i) => store.appendTrace("e000", traceStep({ eventKind: pad, timestamp: i })))
  })

describe("rows that do not fit into one answer", () => {
  it.scoped("are read in parts", () =>
    Effect.gen(function* () {
      const { refused, store } = yield* limited(3000)
      yield* fill(store)
      const outbox = yield* store.pendingOutbox()
      assert.deepStrictEqual(
        outbox.entries.map(({ seq }) => seq),
        numbers.map((i) => i + 1)
      )
      assert.isTrue(Option.isNone(outbox.next))
      const spawns = yield* store.pendingSpawns({ limit: 20 })
      assert.deepStrictEqual([spawns.entries.length, Option.getOrNull(spawns.next)], [20, 20])
      const due = yield* store.dueTimers(100, { limit: 30 })
      assert.deepStrictEqual(
        due.entries.map(({ fireAt }) => fireAt),
        numbers.slice(0, 30)
      )
      assert.strictEqual(Option.getOrThrow(due.next).fireAt, 29)
      const rest = yield* store.dueTimers(100, { after: Option.getOrThrow(due.next) })
      assert.strictEqual(rest.entries.length, 20)
      const { entries } = yield* store.readTrace("e000")
      assert.deepStrictEqual(
        entries.map(({ index }) => index),
        numbers
      )
      for (const query of [{}, { parentId: "root" }]) {
        const listed = yield* store.listExecutions(query)
        assert.deepStrictEqual(
          listed.items.map(({ id }) => id),
          numbers.map(name)
        )
        assert.isTrue(Option.isNone(listed.nextCursor))
      }
      assert.isAbove(refused(), 0)
    })
  )

  it.scoped("are so for dead letters and for ids too", () =>
    Effect.gen(function* () {
      const { refused, store } = yield* limited(200)
      yield* store.enqueue(numbers.map((i) => ({ targetId: name(i), event: Event.make({ id: name(i), kind: "k" }) })))
      yield* Effect.forEach(numbers, (i) =>
        store.deadLetters.bury({ _tag: "Outbox", seq: i + 1 }, { reason: "rejected", attempts: 1, error: "" })
      )
      assert.deepStrictEqual(
        (yield* store.deadLetters.list()).entries.map(({ id }) => id),
        numbers.map((i) => i + 1)
      )
      yield* Effect.forEach(numbers, (i) => store.save(Execution.make({ id: name(i), definitionId: "d" })))
      for (const prefix of ["", "e"]) {
        assert.deepStrictEqual(yield* store.idsWithPrefix(prefix), numbers.map(name))
      }
      assert.isAbove(refused(), 0)
    })
  )

  it.scoped("go on with as many as fitted, and come back to full pages", () =>
    Effect.gen(function* () {
      const { asked, lift, refused, store } = yield* limited(3000)
      yield* fill(store)
      yield* store.pendingOutbox()
      const before = refused()
      yield* store.pendingOutbox()
      assert.isAtMost(refused() - before, 1)
      lift()
      yield* Effect.repeatN(store.pendingOutbox(), 5)
      const settled = asked("pendingOutbox")
      yield* store.pendingOutbox()
      assert.strictEqual(asked("pendingOutbox") - settled, 1)
    })
  )

  it.scoped("are told of where a single one does not fit, with which it is", () =>
    Effect.gen(function* () {
      const { store } = yield* limited(300)
      const emit = (id: string, text: string) => ({
        targetId: null,
        event: Event.make({ id, kind: "k", data: { text } })
      })
      yield* store.enqueue([emit("small", ""), emit("large", "x".repeat(1000))])
      const reading = yield* Effect.fork(Effect.flip(store.pendingOutbox()))
      yield* TestClock.adjust("5 seconds")
      const error = yield* Fiber.join(reading)
      assert.deepInclude(error, { _tag: "StoreRejected", operation: "pendingOutbox", reason: "too-large" })
      assert.include(error.message, 'the row behind "1" does not fit: more than 300')
    })
  )

  it.scoped("are asked for again where the limit is one for all who ask at the same time", () =>
    Effect.gen(function* () {
      const { lift, refused, store } = yield* limited(300)
      yield* store.save(Execution.make({ id: "a", definitionId: "d", context: { pad: "x".repeat(1000) } }))
      const loading = yield* Effect.fork(store.load("a"))
      yield* TestClock.adjust("100 millis")
      assert.strictEqual(refused(), 2)
      lift()
      yield* TestClock.adjust("1 second")
      assert.isTrue(Option.isSome(yield* Fiber.join(loading)))
    })
  )
})
