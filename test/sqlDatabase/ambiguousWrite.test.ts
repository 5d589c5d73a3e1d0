import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as Ids from "holdfast/Ids"
import * as sqliteDriver from "holdfast/internal/sqlite/driver"
import * as Lease from "holdfast/Lease"
import * as SqlDriver from "holdfast/SqlDriver"
import type { StoreConflict, StoreError } from "holdfast/StoreError"
import { shareOfTests } from "../support/extent.js"
import * as FaultyDriver from "../support/faultyDriver.js"

const emit = (id: string, targetId: string | null = "b") => ({ targetId, event: Event.make({ id, kind: "Happened" }) })
const later = { ...emit("later"), dueAt: 60.5 }
const trace = Commit.traceStep({ eventKind: "Happened", timestamp: 1 })
const fresh = Execution.make({ id: "a", definitionId: "order" })
const timer = { _tag: "Timer", executionId: "b", path: "begun", fireAt: 60 } as const
const failure = { attempts: 2, error: "no answer", retryAt: 5 }
const why = { reason: "attempts", attempts: 20, error: "no answer" } as const

const step = (execution: Execution.Execution, name: string, parts: Commit.Commit = {}) =>
  [
    { ...execution, context: { by: name } },
    {
      emits: [emit(`${name}-1`), emit(`${name}-2`, null)],
      processed: name,
      timers: [Commit.scheduleTimer(name, 60)],
      spawns: [{ childId: `${name}-child`, rootPath: "", context: {} }],
      trace,
      ...parts
    }
  ] as const

/** A store with one of everything in it, on a database to which nothing has happened yet. */
const make = Effect.gen(function* () {
  const driver = FaultyDriver.make(yield* sqliteDriver.make({ filename: ":memory:" }))
  const store = yield* SqlDriver.make(driver)
  const begun = yield* store.commit(...step({ ...fresh, id: "b" }, "begun"))
  const { execution: b } = yield* store.commit(begun.execution, {
    spawns: [{ childId: "dead-child", rootPath: "", context: {} }],
    timers: [Commit.scheduleTimer("dead", 60)]
  })
  yield* store.deadLetters.recordFailure({ work: { _tag: "Outbox", seq: 1 }, ...failure })
  for (const work of [
    { _tag: "Spawn", seq: 2 },
    { ...timer, path: "dead" },
    { _tag: "Outbox", seq: 2 }
  ] as const) {
    assert.isTrue(yield* store.deadLetters.bury(work, why))
  }
  yield* store.enqueue([5, 6, 7].map((dueAt) => ({ ...emit(`due-${dueAt}`), dueAt })))
  for (const holder of ["h", "i"])
    yield* store.leases.renew({ pool: "p", holder, ttl: 1, claim: [`${holder}1`, `${holder}2`] })
  const beat = (yield* store.leases.load("p")).members[1]?.beat ?? ""
  return { driver, store, stale: begun.execution, b, beat }
})

type World = Effect.Effect.Success<typeof make>

/** Every write of a store, each with its own outcome. */
const writes: ReadonlyArray<
  readonly [name: string, write: (world: World) => Effect.Effect<unknown, StoreError | StoreConflict>]
> = [
  ["commit of a first version", ({ store }) => store.commit(...step(fresh, "x"))],
  ["commit of a next version", ({ b, store }) => store.commit(...step(b, "x"))],
  [
    "commit that acknowledges an event",
    ({ b, store }) => store.commit(...step(b, "x", { ack: { _tag: "Outbox", seq: 1 } }))
  ],
  [
    "commit that acknowledges a spawn",
    ({ b, store }) => store.commit(...step(b, "x", { ack: { _tag: "Spawn", seq: 1 } }))
  ],
  [
    "commit that acknowledges a timer and arms it again",
    ({ b, store }) =>
      store.commit(
        ...step(b, "x", {
          ack: { _tag: "Timer", executionId: "b", path: "begun", fireAt: 60 },
          timers: [Commit.scheduleTimer("begun", 60)]
        })
      )
  ],
  ["commit of a lost race", ({ stale, store }) => store.commit(...step(stale, "x"))],
  ["enqueue", ({ store }) => store.enqueue([emit("x-1"), emit("x-2", null)])],
  [
    "commit that emits after a delay too",
    ({ b, store }) => store.commit(...step(b, "x", { emits: [emit("x-1"), { ...emit("x-2"), dueAt: 6 }] }))
  ],
  ["commit that emits only after a delay", ({ b, store }) => store.commit(...step(b, "x", { emits: [later] }))],
  ["enqueue after a delay", ({ store }) => store.enqueue([later, later])],
  ["enqueue at once and after a delay", ({ store }) => store.enqueue([later, emit("x-1"), emit("x-2")])],
  ["releaseDelayed", ({ store }) => store.delayed.release(100, 2)],
  ["releaseDelayed where none is due", ({ store }) => store.delayed.release(1)],
  [
    "renewLeases",
    ({ beat, store }) =>
      store.leases.renew({
        pool: "p",
        holder: "h",
        ttl: 2,
        evict: [{ holder: "i", beat }],
        release: [{ name: "h1", fence: 1 }],
        claim: ["h1", "i1", "new"]
      })
  ],
  ["leaveLeases", ({ store }) => store.leases.leave("p", "h")],
  ["ackOutbox", ({ store }) => store.ackOutbox(1)],
  ["ackSpawn", ({ store }) => store.ackSpawn(1)],
  ["deleteTimer", ({ store }) => store.deleteTimer({ executionId: "b", path: "begun", fireAt: 60 })],
  ["deleteTimer of another time", ({ store }) => store.deleteTimer({ executionId: "b", path: "begun", fireAt: 61 })],
  [
    "recordFailure",
    ({ store }) => store.deadLetters.recordFailure({ work: { _tag: "Outbox", seq: 1 }, ...failure, attempts: 3 })
  ],
  ["recordFailure of a timer", ({ store }) => store.deadLetters.recordFailure({ work: timer, ...failure })],
  ["bury of an event", ({ store }) => store.deadLetters.bury({ _tag: "Outbox", seq: 1 }, why)],
  ["bury of a spawn", ({ store }) => store.deadLetters.bury({ _tag: "Spawn", seq: 1 }, why)],
  ["bury of a timer", ({ store }) => store.deadLetters.bury(timer, why)],
  [
    "bury of a spawn, with an event",
    ({ store }) => store.deadLetters.bury({ _tag: "Spawn", seq: 1 }, why, { emit: emit("told") })
  ],
  ["bury of what is gone", ({ store }) => store.deadLetters.bury({ _tag: "Outbox", seq: 99 }, why)],
  ["redrive of a spawn", ({ store }) => store.deadLetters.redrive(1)],
  ["redrive of a timer", ({ store }) => store.deadLetters.redrive(2)],
  ["redrive of an event", ({ store }) => store.deadLetters.redrive(3)],
  ["discard", ({ store }) => store.deadLetters.discard(2)],
  ["discard of none", ({ store }) => store.deadLetters.discard(99)],
  ["appendTrace", ({ store }) => store.appendTrace("b", trace)],
  ["purge", ({ store }) => store.purge("b", 2)],
  ["purge of another version", ({ store }) => store.purge("b", 1)],
  [
    "publishDefinition",
    ({ store }) =>
      store.publishDefinition({ definitionId: "order", version: 1, digest: "d", source: "s", publishedAt: null })
  ]
]

/** What settles work, under a lease that is held and under one that is lost. */
const fenced: typeof writes = [
  ...writes.filter(([name]) => /^(commit that acknowledges|ack|deleteTimer|recordFailure|bury)/.test(name)),
  [
    "commit of a child",
    ({ store }: World) =>
      store.commit(...step({ ...fresh, id: "begun-child" }, "x", { ack: { _tag: "Spawn", seq: 1 } }))
  ] as const,
  [
    "commit of a race that is lost too",
    ({ stale, store }: World) => store.commit(...step(stale, "x", { ack: { _tag: "Outbox", seq: 1 } }))
  ] as const
].flatMap(([name, write]) => {
  const token = { pool: "p", name: "h1", holder: "h", fence: 1 }
  return [
    [`${name} fenced`, (world: World) => Lease.fencedBy(write(world), token)] as const,
    [`${name} fenced off`, (world: World) => Lease.fencedBy(write(world), { ...token, fence: 9 })] as const
  ]
})

// What changed nothing looks at its lease in the end.
const reads = /^(publishDefinition|redrive)|^(ack\S+|.*(gone|another time)) fenced$| fenced off$/

/** What is to be redriven is read first, and nothing is sent where that fails. */
const readFails = (write: (world: World) => Effect.Effect<unknown, StoreError | StoreConflict>) =>
  Effect.gen(function* () {
    const world = yield* make
    const sent = world.driver.sent()
    world.driver.blind(1)
    const error = yield* Effect.flip(write(world))
    assert.deepInclude(error, { _tag: "StoreUnavailable", operation: "redrive", outcome: "not-applied" })
    assert.strictEqual(world.driver.sent(), sent)
  })

const lost = { answer: "lost" } as const
const moments = ["before a look", "before a sending", "after a sending", "at the end"] as const

const faults: ReadonlyArray<readonly [name: string, faults: ReadonlyArray<FaultyDriver.Fault>, blind?: number]> = [
  ["before it is applied", [{ ...lost, apply: 0 }]],
  ["after it is applied", [lost]],
  ["after it is applied twice", [{ ...lost, apply: 2 }]],
  ["three times", [{ ...lost, apply: 0 }, { ...lost, apply: 0 }, lost]],
  [
    "before it is applied, while the server is away",
    [
      { ...lost, apply: 0 },
      { answer: "refused", apply: 0 }
    ],
    2
  ],
  ["after it is applied, while the server is away", [lost], 2],
  ...moments.map((late) => [`and it is applied ${late}`, [{ ...lost, apply: 0, late }]] as const),
  ...moments.map((late) => [`and it is applied again ${late}`, [{ ...lost, late }]] as const),
  ...moments.map(
    (late) =>
      [
        `of the next sending too, and it is applied ${late}`,
        [
          { ...lost, apply: 0, late },
          { ...lost, apply: 0 }
        ]
      ] as const
  )
]

/** Runs a write, and all the waiting that it does. */
const through = <A, E>(write: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(write)
    yield* Effect.yieldNow()
    if (Option.isNone(yield* Fiber.poll(fiber))) yield* TestClock.adjust("1 minute")
    return yield* Fiber.join(fiber)
  })

const run = (
  write: (world: World) => Effect.Effect<unknown, unknown>,
  faults: ReadonlyArray<FaultyDriver.Fault>,
  blind = 0
) =>
  Effect.gen(function* () {
    const world = yield* make
    world.driver.inject(...faults)
    world.driver.blind(blind)
    const outcome = yield* through(Effect.exit(write(world)))
    const state = yield* FaultyDriver.dump(world.driver.true)
    yield* world.driver.end
    assert.deepStrictEqual(yield* FaultyDriver.dump(world.driver.true), state, "what came late was applied again")
    return { outcome, state }
  }).pipe(Effect.provide(Ids.layerSequential()), Effect.provide(TestContext.TestContext))

describe("a write whose answer is lost", () => {
  for (const [index, [name, write]] of [...writes, ...fenced].entries()) {
    describe(name, () => {
      const faultless = Effect.runSync(Effect.cached(Effect.scoped(run(write, []))))

      it.scoped("is told by its outcome where none is lost", () =>
        Effect.gen(function* () {
          const { outcome, state } = yield* faultless
          const twice = yield* run(write, [{ apply: 2, ...lost }])
          assert.deepStrictEqual(twice.outcome, outcome)
          assert.deepStrictEqual(twice.state, state)
        })
      )

      for (const [[when, list, blind = 0], named] of shareOfTests(faults, index, 18)) {
        // What reads first, or last, fails there as a read does.
        if (reads.test(name) && blind > 0) continue
        it.scoped(named(when), () =>
          Effect.gen(function* () {
            const expected = yield* faultless
            const found = yield* run(write, list, blind)
            assert.deepStrictEqual(found.outcome, expected.outcome)
            assert.deepStrictEqual(found.state, expected.state)
          })
        )
      }

      it.scoped("is unknown where the server stays away", () =>
        Effect.gen(function* () {
          if (name.startsWith("redrive")) return yield* readFails(write)
          const world = yield* make
          const before = yield* FaultyDriver.dump(world.driver.true)
          world.driver.inject(...Array.from({ length: 1000 }, () => ({ ...lost, apply: 0 as const })))
          world.driver.blind(1000)
          const error = yield* through(Effect.flip(Effect.asVoid(write(world))))
          assert.deepInclude(error, {
            _tag: "StoreUnavailable",
            reason: "connection",
            outcome: "unknown",
            operation: name.replace(/ .*/, "")
          })
          assert.match(String(error), /what became of it cannot be told: (the server is away|the connection broke)/)
          assert.deepStrictEqual(yield* FaultyDriver.dump(world.driver.true), before)
        })
      )

      it.scoped("fails as it is where nothing was sent", () =>
        Effect.gen(function* () {
          const world = yield* make
          const before = yield* FaultyDriver.dump(world.driver.true)
          const sent = world.driver.sent()
          world.driver.inject({ apply: 0, answer: "refused" })
          assert.deepInclude(yield* Effect.flip(write(world)), { _tag: "StoreUnavailable", outcome: "not-applied" })
          assert.strictEqual(world.driver.sent(), sent + 1)
          assert.deepStrictEqual(yield* FaultyDriver.dump(world.driver.true), before)
        })
      )
    })
  }
})
