import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import * as SqlDriver from "holdfast/SqlDriver"
import { StoreUnavailable } from "holdfast/StoreError"
import * as drivers from "../support/drivers.js"
import { recording, relayOn } from "../support/outbox.js"
import * as Support from "../support/workers.js"

const { event } = Support

/** Sends events, each named by its target and a number. */
const send = (store: ExecutionStore, ids: ReadonlyArray<string>) =>
  store.enqueue(ids.map((id) => ({ targetId: id.slice(0, 1), event: event(id) })))

/** A relay that has read an event, what it reads from then on, and another process on the same database. */
const begun = (makeDriver: (typeof drivers.all)[number][1], concurrency = 4) =>
  Effect.gen(function* () {
    const driver = yield* makeDriver
    const reads = { count: 0 }
    const answers: { hold: Effect.Effect<void, StoreUnavailable> } = { hold: Effect.void }
    const store = yield* SqlDriver.make({
      ...driver,
      query: (call, statement) => {
        if (call.operation !== "pendingOutbox") return driver.query(call, statement)
        reads.count++
        return Effect.zipLeft(
          driver.query(call, statement),
          Effect.suspend(() => answers.hold)
        )
      }
    })
    const other = yield* SqlDriver.make(driver)
    const delivered: Array<string> = []
    const after: { run: (id: string) => Effect.Effect<unknown, unknown> } = { run: () => Effect.void }
    const relay = yield* relayOn(store, {
      concurrency,
      deliver: ({ event }) => {
        delivered.push(event.id)
        return Effect.as(after.run(event.id), "Delivered" as const)
      }
    })
    yield* send(store, ["z0"])
    yield* Support.eventually(
      Effect.sync(() => delivered),
      ["z0"]
    )
    yield* relay.awaitQuiet
    delivered.length = 0
    reads.count = 0
    const isDelivered = (ids: ReadonlyArray<string>) =>
      Support.eventually(
        Effect.sync(() => delivered),
        ids
      )
    /** Runs an effect while the answer to a read of the outbox is on its way, which then comes. */
    const whileReading = <E, R>(meanwhile: Effect.Effect<unknown, E, R>, answer: typeof answers.hold = Effect.void) =>
      Effect.gen(function* () {
        const asked = yield* Deferred.make<void>()
        const answered = yield* Deferred.make<void, StoreUnavailable>()
        answers.hold = Effect.zipRight(Deferred.succeed(asked, undefined), Deferred.await(answered))
        // What another process wrote comes before the second, so that has to be read.
        yield* send(other, ["a1"])
        yield* send(store, ["a2"])
        yield* Deferred.await(asked)
        answers.hold = Effect.void
        yield* meanwhile
        yield* Deferred.complete(answered, answer)
      })
    return { store, other, relay, reads, delivered, isDelivered, after, whileReading }
  })

const of = (target: string, ids: ReadonlyArray<string>) => ids.filter((id) => id.startsWith(target))

for (const [name, makeDriver] of drivers.all) {
  describe(`Events that this process adds, on ${name}`, () => {
    it.scoped("are delivered in order without a read of the outbox", () =>
      Effect.gen(function* () {
        const { delivered, reads, relay, store } = yield* begun(makeDriver)
        yield* send(store, ["a1", "b1", "a2"])
        yield* relay.awaitQuiet
        yield* store.commit(Support.execution("x"), { emits: [{ targetId: "b", event: event("b2") }] })
        yield* relay.awaitQuiet
        assert.deepStrictEqual(of("a", delivered), ["a1", "a2"])
        assert.deepStrictEqual(of("b", delivered), ["b1", "b2"])
        assert.strictEqual(reads.count, 0)
        assert.deepStrictEqual(yield* Support.pendingIds(store), [])
      })
    )

    it.scoped("leave others their turn where one causes the next", () =>
      Effect.gen(function* () {
        const { after, delivered, isDelivered, relay, store } = yield* begun(makeDriver, 1)
        after.run = (id) => {
          if (id === "a5") return send(store, ["b1", "a6"])
          return id.startsWith("a") && id !== "a12" ? send(store, [`a${Number(id.slice(1)) + 1}`]) : Effect.void
        }
        yield* send(store, ["a1"])
        yield* relay.awaitQuiet
        // It waits for the one place only until those are done that were in memory before it.
        yield* isDelivered(["a1", "a2", "a3", "a4", "a5", "b1", ...Array.from({ length: 7 }, (_, i) => `a${i + 6}`)])
        assert.strictEqual(delivered.length, 13)
      })
    )

    it.scoped("overtake none that another process added before", () =>
      Effect.gen(function* () {
        const { isDelivered, other, reads, relay, store } = yield* begun(makeDriver)
        yield* send(other, ["a1"])
        yield* send(store, ["a2"])
        yield* isDelivered(["a1", "a2"])
        yield* relay.awaitQuiet
        assert.isAbove(reads.count, 0)
        reads.count = 0
        yield* send(store, ["a3"])
        yield* isDelivered(["a1", "a2", "a3"])
        assert.strictEqual(reads.count, 0)
      })
    )

    it.scoped("need no other read where the outbox is being read", () =>
      Effect.gen(function* () {
        const { delivered, other, reads, relay, store, whileReading } = yield* begun(makeDriver)
        let before = 0
        yield* whileReading(
          Effect.gen(function* () {
            before = reads.count
            yield* send(store, ["a3", "b1"])
            yield* send(store, ["b2"])
            yield* send(store, ["a4"])
          })
        )
        yield* relay.awaitQuiet
        assert.deepStrictEqual(of("a", delivered), ["a1", "a2", "a3", "a4"])
        assert.deepStrictEqual(of("b", delivered), ["b1", "b2"])
        assert.strictEqual(reads.count, before)
        assert.deepStrictEqual(yield* Support.pendingIds(other), [])
        delivered.length = 0
        yield* send(store, ["a5"])
        yield* relay.awaitQuiet
        assert.deepStrictEqual(delivered, ["a5"])
        assert.strictEqual(reads.count, before)
      })
    )

    it.scoped("overtake none that another process added while the outbox was being read", () =>
      Effect.gen(function* () {
        const { delivered, other, relay, store, whileReading } = yield* begun(makeDriver)
        yield* whileReading(
          Effect.gen(function* () {
            yield* send(store, ["a3"])
            yield* send(other, ["a4"])
            yield* send(store, ["a5"])
          })
        )
        yield* relay.awaitQuiet
        assert.deepStrictEqual(delivered, ["a1", "a2", "a3", "a4", "a5"])
      })
    )

    it.scoped("are delivered where the outbox could not be read meanwhile", () =>
      Effect.gen(function* () {
        const { isDelivered, store, whileReading } = yield* begun(makeDriver)
        const away = Effect.fail(
          new StoreUnavailable({
            operation: "pendingOutbox",
            reason: "connection",
            outcome: "not-applied",
            detail: "away"
          })
        )
        yield* whileReading(send(store, ["a3", "a4"]), away)
        yield* send(store, ["a5"])
        yield* TestClock.adjust("1 second")
        yield* isDelivered(["a1", "a2", "a3", "a4", "a5"])
      })
    )

    it.scoped("are read where more come meanwhile than are kept", () =>
      Effect.gen(function* () {
        const { delivered, reads, relay, store, whileReading } = yield* begun(makeDriver)
        const ids = Array.from({ length: 130 }, (_, i) => `a${i + 3}`)
        let before = 0
        yield* whileReading(
          Effect.gen(function* () {
            before = reads.count
            for (let i = 0; i < ids.length; i += 26) yield* send(store, ids.slice(i, i + 26))
          })
        )
        yield* relay.awaitQuiet
        assert.deepStrictEqual(delivered, ["a1", "a2", ...ids])
        assert.isAbove(reads.count, before)
      })
    )

    it.scoped("stay in the store where the relay is paused while it reads", () =>
      Effect.gen(function* () {
        const { delivered, isDelivered, relay, store, whileReading } = yield* begun(makeDriver)
        yield* whileReading(Effect.zipRight(send(store, ["a3"]), relay.pause))
        yield* relay.awaitQuiet
        assert.deepStrictEqual(delivered, [])
        yield* relay.resume
        yield* send(store, ["a4"])
        yield* isDelivered(["a1", "a2", "a3", "a4"])
      })
    )

    it.scoped("stay in the store while the relay is paused, and come in order afterwards", () =>
      Effect.gen(function* () {
        const { delivered, isDelivered, relay, store } = yield* begun(makeDriver)
        yield* relay.pause
        yield* send(store, ["a1"])
        yield* send(store, ["a2"])
        yield* TestClock.adjust(0)
        assert.deepStrictEqual(delivered, [])
        yield* relay.resume
        yield* send(store, ["a3"])
        yield* isDelivered(["a1", "a2", "a3"])
      })
    )

    it.scoped("wait behind one of their target that failed", () =>
      Effect.gen(function* () {
        const { after, delivered, isDelivered, relay, store } = yield* begun(makeDriver)
        after.run = (id) => (id === "a1" && delivered.length === 1 ? Effect.fail("broken") : Effect.void)
        yield* send(store, ["a1"])
        yield* relay.awaitQuiet
        yield* send(store, ["a2", "b1"])
        yield* isDelivered(["a1", "b1"])
        yield* TestClock.adjust("1 minute")
        yield* isDelivered(["a1", "b1", "a1", "a2"])
      })
    )

    it.scoped("are delivered as they were stored, whatever becomes of the objects that were given", () =>
      Effect.gen(function* () {
        const { relay, store } = yield* begun(makeDriver)
        const seen: Array<unknown> = []
        const data = { amount: 1, gone: undefined }
        yield* store.listen((notice) => {
          data.amount = 2
          seen.push(notice.outbox?.()?.map(({ event, seq, targetId }) => [seq, targetId, event.data]))
        })
        const seqs = yield* store.enqueue([{ targetId: "a", event: { ...event("a1"), data } }])
        yield* relay.awaitQuiet
        assert.deepStrictEqual(seen, [[[seqs[0], "a", { amount: 1 }]]])
      })
    )

    it.scoped("are read where somebody watches over what is read", () =>
      Effect.gen(function* () {
        const store = yield* Effect.flatMap(makeDriver, (driver) => SqlDriver.make(driver))
        let reads = 0
        const { deliver, delivered } = recording()
        const watched: ExecutionStore = {
          ...store,
          pendingOutbox: (query) => {
            reads++
            return store.pendingOutbox(query)
          }
        }
        const relay = yield* relayOn(watched, { deliver })
        for (const id of ["a1", "a2", "a3"]) {
          const before = reads
          yield* send(store, [id])
          yield* relay.awaitQuiet
          assert.isAbove(reads, before)
        }
        assert.deepStrictEqual(delivered, ["a1", "a2", "a3"])
      })
    )
  })
}
