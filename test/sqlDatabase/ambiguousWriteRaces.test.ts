import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import type * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as sqliteDriver from "holdfast/internal/sqlite/driver"
import { seqsFrom } from "holdfast/internal/sqlStore/commit"
import * as SqlDriver from "holdfast/SqlDriver"
import type { StoreConflict, StoreError } from "holdfast/StoreError"
import * as FaultyDriver from "../support/faultyDriver.js"

const fresh = Execution.make({ id: "a", definitionId: "order" })
const emit = (id: string, targetId: string | null = "b") => ({ targetId, event: Event.make({ id, kind: "Happened" }) })

const make = Effect.gen(function* () {
  const driver = FaultyDriver.make(yield* sqliteDriver.make({ filename: ":memory:" }))
  const store = yield* SqlDriver.make(driver)
  const other = yield* SqlDriver.make(driver.true)
  return { driver, store, other }
})

type World = Effect.Effect.Success<typeof make>

const through = <A, E>(write: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(write)
    yield* TestClock.adjust("1 minute")
    return yield* Fiber.join(fiber)
  })

/** Somebody else's saves, from what is stored. */
const advance =
  (times: number) =>
  ({ other }: World): Effect.Effect<void> =>
    Effect.repeatN(
      Effect.flatMap(other.load("a"), (found) => other.save(Option.getOrElse(found, () => fresh))),
      times - 1
    ).pipe(Effect.orDieWith(String), Effect.asVoid)

const consume = (world: World): Effect.Effect<void> =>
  Effect.flatMap(world.other.load("a"), (found) =>
    world.other.commit(Option.getOrThrow(found), { processed: "event" })
  ).pipe(Effect.orDieWith(String), Effect.zipRight(advance(1)(world)))

const purge = ({ other }: World): Effect.Effect<void> =>
  Effect.flatMap(other.load("a"), (found) => other.purge("a", Option.getOrThrow(found).version)).pipe(
    Effect.orDieWith(String),
    Effect.asVoid
  )

const rewrite = ({ driver }: World): Effect.Effect<void> =>
  driver.true
    .transaction({ operation: "rewrite" }, [
      {
        sql: "UPDATE harel_executions SET version = version + 1, data = json_set(data, '$.version', version + 1)",
        params: []
      }
    ])
    .pipe(Effect.orDieWith(String), Effect.asVoid)

type Told = "applied" | "unknown" | readonly [conflict: "conflict", found: number | undefined]

const told = (commit: Effect.Effect<Commit.Committed, StoreError | StoreConflict>) =>
  Effect.match(commit, {
    onSuccess: (): Told => "applied",
    onFailure: (error): Told | StoreError => {
      if (error._tag === "StoreConflict") return ["conflict", Option.getOrUndefined(error.found)]
      return error._tag === "StoreUnavailable" && error.outcome === "unknown" ? "unknown" : error
    }
  })

interface Race {
  readonly from: 0 | 1
  readonly applied: boolean
  /** What happens after the commit was applied, or not, and before the store looks. */
  readonly meanwhile: readonly [name: string, run: (world: World) => Effect.Effect<void>]
  /** What is told of a commit that consumed an event, and of one that did not. */
  readonly consuming: Told
  readonly plain: Told
}

const nothing = ["nothing happens", () => Effect.void] as const
const once = ["somebody else commits", advance(1)] as const
const twice = ["somebody else commits twice", advance(2)] as const
const consumed = ["somebody else consumes the event, and commits once more", consume] as const
const purged = ["somebody else purges it", purge] as const
const kept = ["a program that keeps the token rewrites it", rewrite] as const
const both = (applied: boolean, from: 0 | 1, meanwhile: Race["meanwhile"], told: Told): Race => ({
  from,
  applied,
  meanwhile,
  consuming: told,
  plain: told
})

const races: ReadonlyArray<Race> = [
  both(false, 0, nothing, "applied"),
  both(false, 1, nothing, "applied"),
  both(true, 0, nothing, "applied"),
  both(true, 1, nothing, "applied"),
  both(true, 0, kept, "applied"),
  both(true, 1, kept, "applied"),
  both(false, 0, once, ["conflict", 1]),
  both(false, 1, once, ["conflict", 2]),
  // Ours may lie under theirs. What it consumed is not there where it does not; where it is there, it may be theirs.
  { from: 0, applied: false, meanwhile: twice, consuming: ["conflict", 2], plain: "unknown" },
  { from: 1, applied: false, meanwhile: twice, consuming: ["conflict", 3], plain: "unknown" },
  both(true, 0, once, "unknown"),
  both(true, 1, once, "unknown"),
  both(true, 0, twice, "unknown"),
  both(true, 1, twice, "unknown"),
  // Another one was given the same event.
  both(false, 1, consumed, "unknown"),
  both(false, 1, purged, "unknown"),
  both(true, 1, purged, "unknown")
]

describe("a commit whose answer is lost", () => {
  for (const { applied, consuming, from, meanwhile, plain } of races) {
    for (const processed of [true, false]) {
      const expected = processed ? consuming : plain
      const name = `${applied ? "after" : "before"} it is applied to version ${from}, while ${meanwhile[0]}`
      it.scoped(`${name}, is ${String(expected)}${processed ? " where it consumed an event" : ""}`, () =>
        Effect.gen(function* () {
          const world = yield* make
          const execution = from === 0 ? fresh : yield* world.store.save(fresh)
          world.driver.inject({ apply: applied ? 1 : 0, answer: "lost", after: meanwhile[1](world) })
          const commit = world.store.commit(execution, {
            emits: [emit("mine")],
            ...(processed ? { processed: "event" } : {})
          })
          assert.deepStrictEqual(yield* through(told(commit)), expected)
          const page = yield* world.other.pendingOutbox()
          const mine = page.entries.length
          assert.strictEqual(mine, applied || expected === "applied" ? 1 : 0)
          // A conflict has written nothing: who runs the step again from what is stored does nothing twice.
          if (expected !== "applied" && expected !== "unknown") {
            assert.isFalse(applied || (yield* world.other.isProcessed("a", "event")))
          }
        })
      )
    }
  }

  it.scoped("is unknown where another's sending hid it, and no conflict", () =>
    Effect.gen(function* () {
      const world = yield* make
      const execution = yield* world.store.save(fresh)
      // The first is on its way while the second is sent: it arrives before that one, and somebody else right after it.
      world.driver.inject(
        { apply: 0, answer: "lost", late: "before a sending" },
        { before: advance(1)(world), apply: 1 }
      )
      const commit = world.store.commit(execution, { processed: "event", emits: [emit("mine")] })
      assert.strictEqual(yield* through(told(commit)), "unknown")
      assert.isTrue(yield* world.other.isProcessed("a", "event"))
      assert.strictEqual((yield* world.other.pendingOutbox()).entries.length, 1)
    })
  )

  it.scoped("can be interrupted while it is looked for", () =>
    Effect.gen(function* () {
      const world = yield* make
      world.driver.blind(1000)
      world.driver.inject({ apply: 1, answer: "lost" })
      const fiber = yield* Effect.fork(world.store.commit(fresh))
      yield* TestClock.adjust("5 seconds")
      assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
      yield* Fiber.interrupt(fiber)
    })
  )

  it.scoped("is refused for good: unknown, since the first may still arrive", () =>
    Effect.gen(function* () {
      const world = yield* make
      const execution = yield* world.store.save(fresh)
      const forbid = world.driver.true
        .transaction({ operation: "forbid" }, [
          {
            sql: "CREATE TRIGGER forbidden BEFORE UPDATE ON harel_executions BEGIN SELECT RAISE(ABORT, 'forbidden'); END",
            params: []
          }
        ])
        .pipe(Effect.orDieWith(String), Effect.asVoid)
      world.driver.inject({ apply: 0, answer: "lost", after: forbid })
      const error = yield* through(Effect.flip(world.store.commit(execution)))
      assert.deepInclude(error, { _tag: "StoreUnavailable", outcome: "unknown" })
      assert.include(String(error), "forbidden")
    })
  )

  it.scoped("is looked for as long as the store is told to", () =>
    Effect.gen(function* () {
      const { driver } = yield* make
      const store = yield* SqlDriver.make(driver, { resolveTimeout: "3 seconds" })
      driver.blind(1000)
      driver.inject({ apply: 0, answer: "lost" })
      const fiber = yield* Effect.fork(Effect.flip(store.commit(fresh)))
      yield* TestClock.adjust("2900 millis")
      assert.isTrue(Option.isNone(yield* Fiber.poll(fiber)))
      yield* TestClock.adjust("200 millis")
      assert.deepInclude(yield* Fiber.join(fiber), { _tag: "StoreUnavailable", outcome: "unknown" })
      const refused = yield* Effect.flip(SqlDriver.make(driver, { resolveTimeout: Duration.infinity }))
      assert.deepInclude(refused, { _tag: "StoreRejected", reason: "invalid-input", path: "resolveTimeout" })
    })
  )

  describe("gives the seqs of its emits", () => {
    const commit = ({ store }: World) => store.commit(fresh, { emits: [emit("1"), emit("2"), emit("3", null)] })

    const cases: ReadonlyArray<readonly [string, (world: World) => Effect.Effect<void>, ReadonlyArray<number>]> = [
      ["while all are there", () => Effect.void, [1, 2, 3]],
      ["when some are delivered", ({ other }) => Effect.orDieWith(other.ackOutbox(1), String), [1, 2, 3]],
      [
        "when the first and the last are delivered",
        ({ other }) => Effect.orDieWith(Effect.zipRight(other.ackOutbox(1), other.ackOutbox(3)), String),
        [1, 2, 3]
      ],
      [
        "none when all are delivered",
        ({ other }) => Effect.forEach([1, 2, 3], other.ackOutbox, { discard: true }).pipe(Effect.orDieWith(String)),
        []
      ],
      [
        "also when others emitted something like it",
        ({ other }) => Effect.orDieWith(Effect.asVoid(other.enqueue([emit("3", null), emit("1", null)])), String),
        [1, 2, 3]
      ],
      [
        "none when others emitted the same",
        ({ other }) => Effect.orDieWith(Effect.asVoid(other.enqueue([emit("1"), emit("2"), emit("3", null)])), String),
        []
      ]
    ]
    for (const [name, after, seqs] of cases) {
      it.scoped(name, () =>
        Effect.gen(function* () {
          const world = yield* make
          world.driver.inject({ answer: "lost", after: after(world) })
          const notices: Array<number> = []
          yield* world.store.listen((notice) => notices.push(notice.emits))
          assert.deepStrictEqual((yield* through(commit(world))).seqs, seqs)
          // Whoever waits for new events is told of them in any case.
          assert.deepStrictEqual(notices, [3])
        })
      )
    }

    it.scoped("when it was applied twice and the second answer came", () =>
      Effect.gen(function* () {
        const world = yield* make
        world.driver.inject({ apply: 2 })
        assert.deepStrictEqual((yield* commit(world)).seqs, [1, 2, 3])
      })
    )

    it("by where each stands among its like", () => {
      const emits = ["x", "y", "x"]
      const rows = (stored: { readonly [seq: number]: string }) =>
        Object.entries(stored).flatMap(([seq, event]) =>
          emits.flatMap((emit, place) => (emit === event ? [[place, Number(seq)]] : []))
        )
      assert.deepStrictEqual(seqsFrom(3, rows({ 4: "x", 5: "y", 6: "x" })), Option.some([4, 5, 6]))
      assert.deepStrictEqual(seqsFrom(3, rows({ 5: "y" })), Option.some([4, 5, 6]))
      assert.deepStrictEqual(seqsFrom(3, rows({ 6: "x" })), Option.none())
      assert.deepStrictEqual(seqsFrom(3, []), Option.none())
    })
  })
})

describe("a schema", () => {
  for (const apply of [0, 1] as const) {
    it.scoped(`is made where the answer is lost ${apply === 0 ? "before" : "after"} it is`, () =>
      Effect.gen(function* () {
        const driver = FaultyDriver.make(yield* sqliteDriver.make({ filename: ":memory:" }))
        driver.inject({ apply, answer: "lost" })
        const store = yield* through(SqlDriver.make(driver))
        assert.strictEqual((yield* store.save(fresh)).version, 1)
      })
    )
  }
})

describe("the keys of writes", () => {
  const keys = ({ driver }: World) =>
    Effect.map(
      driver.true.query(
        { operation: "test" },
        { sql: "SELECT count(*) FROM harel_holdfast_meta WHERE key LIKE 'once:%'", params: [] }
      ),
      (rows) => rows[0]?.[0]
    )

  it.scoped("are removed by the writes of a minute later when the answer came", () =>
    Effect.gen(function* () {
      const world = yield* make
      for (let i = 0; i < 150; i++) yield* world.store.enqueue([emit(`${i}`)])
      assert.strictEqual(yield* keys(world), 150)
      yield* TestClock.adjust("1 minute")
      yield* world.store.enqueue([emit("first")])
      assert.strictEqual(yield* keys(world), 51)
      yield* world.store.purge("a", 1)
      assert.strictEqual(yield* keys(world), 2)
    })
  )

  it.scoped("are kept for a day when an answer was lost", () =>
    Effect.gen(function* () {
      const world = yield* make
      world.driver.inject({ answer: "lost" })
      yield* through(world.store.enqueue([emit("1")]))
      yield* TestClock.adjust("22 hours")
      yield* world.store.enqueue([emit("2")])
      assert.strictEqual(yield* keys(world), 2)
      yield* TestClock.adjust("3 hours")
      // Whoever writes then: the process that sent it may be gone.
      yield* world.other.enqueue([emit("3")])
      assert.strictEqual(yield* keys(world), 2)
    })
  )

  it.scoped("are removed later where a write fails", () =>
    Effect.gen(function* () {
      const world = yield* make
      yield* world.store.enqueue([emit("1")])
      yield* TestClock.adjust("1 minute")
      world.driver.inject({ apply: 0, answer: "refused" })
      yield* Effect.flip(world.store.enqueue([emit("2")]))
      yield* world.store.enqueue([emit("3")])
      assert.strictEqual(yield* keys(world), 1)
    })
  )
})
