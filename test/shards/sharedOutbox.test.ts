import { existsSync, readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import type * as ExecutionStore from "holdfast/ExecutionStore"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Child from "../support/childProcess.js"
import { extent, longer } from "../support/extent.js"
import * as Temp from "../support/temp.js"

const events = extent({ quick: 1000, long: 10_000 })
const targets = Array.from({ length: 100 }, (_, i) => `counter-${i}`)
const perTarget = events / targets.length
const unbounded = { concurrency: "unbounded" } as const

/** Makes the targets, and puts events for them into the outbox, round after round. */
const fill = (store: ExecutionStore.ExecutionStore) =>
  Effect.gen(function* () {
    const create = (id: string) => store.save(Execution.make({ id, definitionId: "counter", status: "RUNNING" }))
    yield* Effect.forEach(targets, create, unbounded)
    for (let round = 0; round < perTarget; round += 10) {
      yield* store.enqueue(
        Array.from({ length: 10 }, (_, i) => i).flatMap((i) =>
          targets.map((targetId) => ({
            targetId,
            event: Event.make({ id: `${targetId}:${round + i}`, kind: "Counted" })
          }))
        )
      )
    }
  })

const sharing = Effect.gen(function* () {
  const filename = yield* Temp.database
  const store = yield* SqliteStore.make({ filename, durability: "normal" })
  const children = yield* Effect.forEach(
    ["a", "b"],
    (name) => Child.run("shardsProcess.ts", filename, name, String(events / 4)),
    unbounded
  )
  for (const child of children) assert.strictEqual(yield* child.line, "shares")
  yield* fill(store)
  const deliveries = (name: string): ReadonlyArray<string> =>
    existsSync(`${filename}.${name}`) ? readFileSync(`${filename}.${name}`, "utf8").trim().split("\n") : []
  return { children, deliveries, store }
})

/** Nothing is left to deliver, every event took effect once, and few were delivered more than once. */
const check = (store: ExecutionStore.ExecutionStore, deliveries: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    assert.deepStrictEqual((yield* store.pendingOutbox()).entries, [])
    const counters = yield* Effect.forEach(targets, store.load)
    const counted = counters.map((counter) => Option.getOrThrow(counter).context["n"])
    assert.deepStrictEqual(
      counted,
      targets.map(() => perTarget)
    )
    assert.strictEqual(new Set(deliveries).size, events)
    assert.isAtMost(deliveries.length / events, 1.1)
  })

describe(longer("two processes on one SQLite file"), () => {
  it.scopedLive(`share ${events} events: none is lost, none takes effect twice, few are delivered twice`, () =>
    Effect.gen(function* () {
      const { children, deliveries, store } = yield* sharing
      yield* Effect.forEach(children, (child) => child.send("finish"))
      for (const child of children) {
        assert.strictEqual(yield* child.line, "half")
        assert.strictEqual(yield* child.line, "end")
        assert.strictEqual(yield* child.exit, 0)
      }
      const [a, b] = [deliveries("a"), deliveries("b")]
      yield* check(store, [...a, ...b])
      // both had their part of it, and gave back what they held
      assert.isAtLeast(Math.min(a.length, b.length), events / 4)
      const pool = yield* store.leases.load("shards/32")
      assert.deepStrictEqual(pool.members, [])
      assert.deepStrictEqual(new Set(pool.leases.map((lease) => lease.holder)), new Set([null]))
    })
  )

  it.scopedLive("share them too when one is killed half way", () =>
    Effect.gen(function* () {
      const { children, deliveries, store } = yield* sharing
      const [killed, other] = children
      if (killed === undefined || other === undefined) return assert.fail("there are two children")
      assert.strictEqual(yield* killed.line, "half")
      yield* killed.kill
      assert.strictEqual(yield* killed.exit, "SIGKILL")
      const before = deliveries("a")
      assert.isBelow(before.length, events / 2)
      yield* other.send("finish")
      assert.strictEqual(yield* other.line, "half")
      assert.strictEqual(yield* other.line, "end")
      yield* check(store, [...before, ...deliveries("b")])
    })
  )
})
