import { assert, describe, it } from "@effect/vitest"
import * as Array from "effect/Array"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/TestClock"
import type { OutboxEntry } from "holdfast/Commit"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import type { Delivered, Options, QueueWorker } from "holdfast/QueueWorker"
import { StoreCorrupt, type StoreError, StoreRejected, StoreUnavailable } from "holdfast/StoreError"
import * as pollInterval from "../../src/internal/worker/pollInterval.js"
import * as seqPages from "../../src/internal/worker/seqPages.js"
import * as worker from "../../src/internal/worker/worker.js"
import { extent, longer } from "../support/extent.js"
import { counting, fill, recording, relayOn } from "../support/outbox.js"
import * as timers from "../support/timers.js"
import * as Support from "../support/workers.js"

const { deaf, event, pendingIds } = Support

describe("A backlog of a million rows", () => {
  /** A store with so many rows before its own. */
  const flooded = (store: ExecutionStore.ExecutionStore, rows: number) => {
    const limits: Array<number> = []
    const deep = event("deep")
    const entry = (seq: number): OutboxEntry => ({
      seq,
      targetId: "deep",
      event: deep,
      emittedAt: null,
      traceparent: null
    })
    const pendingOutbox: ExecutionStore.ExecutionStore["pendingOutbox"] = ({ after = 0, limit = 100 } = {}) =>
      Effect.suspend(() => {
        limits.push(limit)
        const end = Math.min(after + limit, rows)
        if (after < rows) {
          const entries = Array.makeBy(end - after, (i) => entry(after + i + 1))
          const reached = Option.some(end)
          return Effect.succeed({ entries, corrupt: [], failures: [], next: reached, reached })
        }
        return Effect.map(store.pendingOutbox({ after: after - rows, limit }), (page) => ({
          ...page,
          entries: page.entries.map((entry) => ({ ...entry, seq: entry.seq + rows })),
          next: Option.map(page.next, (after) => after + rows),
          reached: Option.map(page.reached, (after) => after + rows)
        }))
      })
    return { limits, store: { ...store, pendingOutbox, ackOutbox: (seq: number) => store.ackOutbox(seq - rows) } }
  }

  it.scoped("of one target is held a page at a time, and keeps no other waiting", () =>
    Effect.gen(function* () {
      const own = yield* MemoryStore.make()
      const { limits, store } = flooded(own, 1_000_000)
      yield* fill(own, ["good"])
      const delivered: Array<string> = []
      const done = yield* Deferred.make<void>()
      const relay = yield* relayOn(store, {
        pageSize: 1000,
        shutdownTimeout: 0,
        deliver: ({ event, targetId }) => {
          if (targetId === "deep") return Effect.never
          delivered.push(event.id)
          return Effect.as(Deferred.succeed(done, undefined), "Delivered" as const)
        }
      })
      yield* Deferred.await(done)
      assert.deepStrictEqual(delivered, ["good:0"])
      assert.isAtMost((yield* relay.health).backlog, 1001)
      assert.isTrue(limits.every((limit) => limit === 1000))
      assert.isAtMost(limits.length, 1010)
      // what comes later is found without reading all that again
      const before = limits.length
      yield* fill(own, ["fresh"])
      yield* Support.eventually(
        Effect.sync(() => delivered.length),
        2
      )
      assert.isAtMost(limits.length - before, 3)
    })
  )
})

describe("Rows that cannot be read", () => {
  /** A store that does not give the rows of these targets, nor any page with one of them. */
  const withUnreadable = (
    store: ExecutionStore.ExecutionStore,
    targets: ReadonlySet<string | null>,
    error: StoreError
  ) => ({
    ...store,
    exclusive: false,
    pendingOutbox: (query?: ExecutionStore.PendingQuery) =>
      Effect.filterOrFail(
        store.pendingOutbox(query),
        ({ entries }) => entries.every(({ targetId }) => !targets.has(targetId)),
        () => error
      )
  })

  const errors = [
    new StoreRejected({ operation: "pendingOutbox", reason: "too-large", detail: "the answer is larger than 10 MB" }),
    new StoreRejected({ operation: "pendingOutbox", reason: "sql", detail: "integer overflow" }),
    new StoreCorrupt({ operation: "pendingOutbox", table: "outbox", key: "5", problem: "is no text" })
  ]
  for (const error of errors) {
    it.scoped(`stop no others, are told once, and go when they can be read: ${error.message}`, () => {
      const logs = Support.logs()
      return Effect.gen(function* () {
        const store = yield* MemoryStore.make()
        const { deliver, delivered } = recording()
        const unreadable = new Set<string | null>(["bad"])
        yield* fill(store, ["a", "a", "b", "bad", "bad", "c", "a", "bad", "c"])
        const relay = yield* relayOn(withUnreadable(store, unreadable, error), { deliver, pageSize: 5 })
        yield* TestClock.adjust("1 minute")
        const good = ["a:0", "a:1", "a:6", "b:2", "c:5", "c:8"]
        assert.deepStrictEqual(delivered.toSorted(), good)
        yield* fill(store, ["d"])
        yield* TestClock.adjust("5 minutes")
        assert.deepStrictEqual(delivered.toSorted(), [...good, "d:0"])
        const health = yield* relay.health
        assert.deepStrictEqual(health.outage, Option.none())
        assert.include(Option.getOrThrow(health.lastError).message, error.message)
        assert.strictEqual(logs.lines.filter((line) => line.startsWith("WARN")).length, 2)
        unreadable.clear()
        yield* TestClock.adjust("2 minutes")
        assert.deepStrictEqual(delivered.slice(-3).toSorted(), ["bad:3", "bad:4", "bad:7"])
      }).pipe(Effect.provide(logs.layer))
    })
  }

  it.scoped("are not looked for where the store refuses every read, or goes away meanwhile", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const { deliver, delivered } = recording()
      yield* fill(store, ["a", "bad", "c"])
      const refused = new StoreRejected({ operation: "pendingOutbox", reason: "sql", detail: "no" })
      const away = new StoreUnavailable({
        operation: "pendingOutbox",
        reason: "connection",
        outcome: "not-applied",
        detail: "the server is away"
      })
      let answer = (reads: number): StoreError | undefined => (reads > 0 ? refused : undefined)
      let reads = 0
      const broken = withUnreadable(store, new Set(["bad"]), refused)
      const relay = yield* relayOn(
        {
          ...broken,
          pendingOutbox: (query) =>
            Effect.suspend(() => {
              reads++
              const error = answer(reads)
              return error === undefined ? broken.pendingOutbox(query) : Effect.fail(error)
            })
        },
        { deliver, pageSize: 2 }
      )
      yield* TestClock.adjust("2 minutes")
      assert.isAtMost(reads, 50)
      assert.strictEqual(Option.getOrThrow((yield* relay.health).outage).message, refused.message)
      // it fails while the worker looks for the row
      reads = 0
      answer = (reads) => (reads > 4 ? away : undefined)
      yield* TestClock.adjust("2 minutes")
      assert.deepStrictEqual(delivered, ["a:0"])
      answer = () => undefined
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(delivered, ["a:0", "c:2"])
    })
  )
})

/** A relay that holds few lanes, and runs its events by itself. */
const bounded = (
  store: ExecutionStore.ExecutionStore,
  settings: Options,
  given: Pick<worker.Options<OutboxEntry>, "mostLanes" | "run">
) => {
  const toWork = seqPages.toWork<OutboxEntry>(
    ({ targetId }) => targetId,
    ({ event }) => event.id
  )
  return Effect.provideService(
    worker.make<OutboxEntry>({
      module: "test",
      settings,
      polling: seqPages.polling(settings),
      from: seqPages.pages(settings, "outbox", store.pendingOutbox, toWork),
      noticed: ({ emits }) => (emits > 0 ? seqPages.added : undefined),
      added: ({ outbox }) => outbox?.()?.map((entry) => toWork(entry)),
      spanName: "test",
      described: () => ({ span: () => ({}), annotations: {} }),
      since: () => null,
      workItem: ({ seq }) => ({ _tag: "Outbox", seq }),
      remove: ({ seq }) => store.ackOutbox(seq),
      decide: () => ({ _tag: "Retry" }),
      ...given
    }),
    ExecutionStore.ExecutionStore,
    store
  )
}

describe("Very many lanes that fail", () => {
  it.scoped(
    "are held up to a bound; what more would come waits in the store, in order, and goes when there is room",
    () =>
      Effect.gen(function* () {
        const store = yield* MemoryStore.make()
        yield* fill(store, [
          ...Array.makeBy(10, (i) => `bad${i}`),
          ...Array.makeBy(5, () => "good"),
          "bad0",
          ...Array.makeBy(5, (i) => `bad${i + 5}`)
        ])
        let broken = true
        const delivered: Array<string> = []
        let most = 0
        const options: Options = { pageSize: 4, retry: Schedule.spaced("1 second") }
        const relay: QueueWorker = yield* bounded(store, options, {
          mostLanes: 5,
          run: ({ event, seq, targetId }) =>
            Effect.gen(function* () {
              most = Math.max(most, (yield* relay.health).held)
              if (broken && targetId !== "good") return yield* Effect.fail("broken")
              delivered.push(event.id)
              yield* store.ackOutbox(seq)
              return "Acknowledged" as const
            })
        })
        yield* TestClock.adjust("5 seconds")
        assert.deepStrictEqual(delivered, [])
        assert.strictEqual((yield* relay.health).held, 5)
        broken = false
        yield* TestClock.adjust("5 seconds")
        assert.isAtMost(most, 5)
        assert.deepStrictEqual(yield* pendingIds(store), [])
        const of = (target: string) => delivered.filter((id) => id.startsWith(`${target}:`))
        assert.deepStrictEqual(
          of("good"),
          Array.makeBy(5, (i) => `good:${i + 10}`)
        )
        assert.deepStrictEqual(of("bad0"), ["bad0:0", "bad0:15"])
        assert.deepStrictEqual(of("bad9"), ["bad9:9", "bad9:20"])
      })
  )
})

describe("Rows that this process adds where others found no place", () => {
  it.scoped("do not overtake these", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      yield* fill(store, ["first", "second"])
      let broken = true
      const delivered: Array<string> = []
      const firstRan = yield* Deferred.make<void>()
      const run = ({ event: { id }, seq }: OutboxEntry) =>
        Effect.gen(function* () {
          if (broken) return yield* Effect.fail("broken")
          if (id === "second:1") {
            yield* Deferred.await(firstRan)
            // Between the end of the first lane and the pass that this makes room for.
            yield* store.enqueue([{ targetId: "third", event: event("third:b") }])
          }
          delivered.push(id)
          yield* store.ackOutbox(seq)
          if (id === "first:0") yield* Deferred.succeed(firstRan, undefined)
          return "Acknowledged" as const
        })
      const relay = yield* bounded(store, { retry: Schedule.spaced("1 second") }, { mostLanes: 2, run })
      yield* relay.awaitQuiet
      yield* store.enqueue([{ targetId: "third", event: event("third:a") }])
      yield* relay.awaitQuiet
      broken = false
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(delivered, ["first:0", "second:1", "third:a", "third:b"])
    })
  )
})

describe("Polling", () => {
  const options = { shortest: 125, longest: 1000, rescan: 60_000 }

  it("looks more often for a while where it finds what others wrote, and backs off while it finds nothing", () => {
    const poll = pollInterval.make(options)
    let now = 0
    const look = (finds: boolean) => {
      poll.begin(now)
      if (finds) poll.found()
      const next = poll.end(now)
      const waited = next - now
      now = next
      poll.woken(false)
      return waited
    }
    assert.deepStrictEqual(
      [true, false, true, false, false, false, false].map(look),
      [1000, 1000, 125, 250, 500, 1000, 1000]
    )
  })

  it("does not look more often for what this process wrote, which it was told of", () => {
    const poll = pollInterval.make(options)
    poll.begin(0)
    poll.end(0)
    poll.woken(true)
    poll.begin(10)
    poll.found()
    assert.strictEqual(poll.end(10), 1010)
  })

  it("begins from the first row again now and then, the less often the longer it takes to read, but within bounds", () => {
    const poll = pollInterval.make(options)
    const rescansAt = (now: number, reading: number) => {
      assert.isFalse(poll.begin(now - 1))
      poll.end(now - 1)
      assert.isTrue(poll.begin(now))
      poll.spent(reading / 2)
      poll.spent(reading / 2)
      poll.end(now)
    }
    assert.isTrue(poll.begin(0))
    poll.end(0)
    rescansAt(60_000, 100)
    rescansAt(120_000, 30_000)
    rescansAt(420_000, 1e9)
    rescansAt(1_020_000, 0)
  })
})

Support.onEach("An idle relay", (makeStore) => {
  it.scoped("asks the store once a second at most, and finds what a crashed process left without any commit", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { counted, reads } = counting(deaf(store))
      const { deliver, delivered } = recording()
      const relay = yield* relayOn(counted, { deliver })
      yield* relay.awaitQuiet
      reads.count = 0
      yield* TestClock.adjust("50 seconds")
      assert.isAtMost(reads.count, 50)
      // written by a process that does not live to deliver it
      yield* store.commit(Support.execution("x"), { emits: [{ targetId: "x", event: event("orphan") }] })
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(delivered, ["orphan"])
    })
  )

  it.scoped("delivers at once what this process commits: the clock does not move", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { deliver, delivered } = recording()
      const relay = yield* relayOn(store, { deliver, pollInterval: "1 day" })
      yield* relay.awaitQuiet
      for (let i = 0; i < 5; i++) {
        yield* store.enqueue([{ targetId: "x", event: event(`e${i}`) }])
        yield* relay.awaitQuiet
        assert.strictEqual(delivered.length, i + 1)
      }
    })
  )
})

Support.onEach("Many timers due at the same moment", (makeStore, name) => {
  const count = extent({ quick: 10_000, long: name === "SQLite" ? 100_000 : 20_000 })

  it.scoped(longer("come in pages, each fires once, and none is left"), () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      yield* Effect.forEach(
        Array.makeBy(count / 1000, (i) => `x${i}`),
        (id) =>
          timers.arm(
            store,
            id,
            Array.makeBy(1000, (n) => [`${id}.${n}`, 10])
          ),
        { discard: true }
      )
      yield* TestClock.setTime(60_000)
      const fired = new Set<string>()
      let firings = 0
      let largest = 0
      let backlog = 0
      const sweeper: QueueWorker = yield* timers.sweeperOn(
        {
          ...store,
          dueTimers: (now, query) =>
            Effect.tap(store.dueTimers(now, query), ({ entries }) =>
              Effect.sync(() => {
                largest = Math.max(largest, entries.length)
              })
            )
        },
        {
          pageSize: 1000,
          deliver: ({ path }) =>
            Effect.gen(function* () {
              fired.add(path)
              if (++firings % 1000 === 0) backlog = Math.max(backlog, (yield* sweeper.health).backlog)
              const delivered: Delivered = "Delivered"
              return delivered
            })
        }
      )
      yield* sweeper.awaitQuiet
      assert.strictEqual(firings, count)
      assert.strictEqual(fired.size, count)
      assert.isAtMost(largest, 1000)
      assert.isAtMost(backlog, 16_000)
      assert.deepStrictEqual(yield* Support.armed(store), [])
    })
  )
})
