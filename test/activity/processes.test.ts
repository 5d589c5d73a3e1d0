import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Activity from "holdfast/Activity"
import * as Control from "holdfast/Control"
import * as Definition from "holdfast/Definition"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as Step from "holdfast/Step"
import { breakable } from "../support/processes.js"
import * as Support from "../support/workers.js"

type Store = ExecutionStore.ExecutionStore

const Charge = Activity.make("charge", {
  success: Schema.String,
  error: Schema.String,
  retry: Schedule.recurs(0)
})

const Order = Definition.make("order", {
  context: Schema.Struct({ log: Schema.Array(Schema.String) }),
  activities: { charge: Charge }
})

const noted = (line: string) =>
  Step.updateContext(({ log }: typeof Order.schemas.context.Type) => ({ log: [...log, line] }))

const OrderLive = Order.toLayer({
  Start: (step) => step.pipe(Step.advance("Charging"), Order.runActivity("charge", undefined, { key: "c" })),
  activities: {
    charge: {
      success: (step, by, { attempts }) => step.pipe(noted(`${by} after ${attempts}`)),
      failure: (step, error) => step.pipe(noted(`failed: ${String(error)}`))
    }
  }
})

/** A process on a store that others share: it hears of what they write by its poll alone. */
const run = <A, E>(
  store: Store,
  live: Layer.Layer<A, E, ExecutionRuntime.ExecutionRuntime>,
  options: ExecutionRuntime.CommonOptions = { activityTtl: "2 seconds" }
) =>
  Layer.build(
    live.pipe(
      // What still runs at the end of a test is not waited for: nobody moves the clock then.
      Layer.provideMerge(ExecutionRuntime.layer({ ...options, shutdownTimeout: 0 })),
      Layer.provide(Layer.succeed(ExecutionStore.ExecutionStore, store))
    )
  )

/** A store that remembers which outcomes of attempts it took from this process. */
const remembering = (store: Store) => {
  const taken: Array<boolean> = []
  const remembered =
    <A extends ReadonlyArray<unknown>, E>(write: (...args: A) => Effect.Effect<boolean, E>) =>
    (...args: A) =>
      Effect.tap(write(...args), (isTaken) => Effect.sync(() => taken.push(isTaken)))
  const { complete, fail } = store.activities
  const activities = { ...store.activities, complete: remembered(complete), fail: remembered(fail) }
  return { store: { ...store, activities }, taken }
}

/** What each process runs, in order, and how it goes on. */
const world = (store: Store) =>
  Effect.gen(function* () {
    const shared = Support.deaf(store)
    const cable = breakable(shared)
    const a = remembering(cable.store)
    const b = remembering(shared)
    const runs: Array<readonly [process: string, run: Activity.Run]> = []
    const gates = { a: yield* Deferred.make<string, string>(), b: yield* Deferred.make<string, string>() }
    const interrupted: Array<string> = []
    const charge = (name: "a" | "b") =>
      Charge.toLayer((_, run) =>
        Effect.sync(() => runs.push([name, run])).pipe(
          Effect.zipRight(Deferred.await(gates[name])),
          Effect.onInterrupt(() => Effect.sync(() => interrupted.push(name)))
        )
      )
    yield* run(a.store, Layer.merge(OrderLive, charge("a")))
    const client = Effect.provideService(ExecutionStore.ExecutionStore, store)
    yield* client(Order.start("x", { log: [] }))
    yield* TestClock.adjust("2 seconds")
    yield* run(b.store, Layer.merge(OrderLive, charge("b")))
    // One that shows signs of life keeps what it runs, however long that takes.
    yield* TestClock.adjust("8 seconds")
    assert.deepStrictEqual(
      runs.map(([name]) => name),
      ["a"]
    )
    yield* cable.breaks()
    yield* TestClock.adjust("5 seconds")
    return {
      a,
      b,
      cable,
      gates,
      interrupted,
      runs,
      log: Effect.map(client(Order.get("x")), ({ context }) => context.log)
    }
  })

const same: Activity.Run = { executionId: "x", key: "c", attempt: 1, idempotencyKey: "x:c" }

const ways: ReadonlyArray<readonly [how: string, end: Effect.Effect<string, string>]> = [
  ["succeeds", Effect.succeed("a")],
  ["fails", Effect.fail("no")]
]

Support.onEach("An activity of a process that shows no sign of life any more", (makeStore) => {
  for (const [how, end] of ways) {
    for (const when of ["while the other runs it", "after the other has ended it"]) {
      it.scoped(`is run by another one under the same key, and where it ${how} ${when} that is refused`, () =>
        Effect.gen(function* () {
          const store = yield* makeStore
          const { a, b, gates, log, runs } = yield* world(store)
          assert.deepStrictEqual(runs, [
            ["a", same],
            ["b", same]
          ])
          const late = Effect.zipRight(Deferred.complete(gates.a, end), TestClock.adjust("2 seconds"))
          const inTime = Effect.zipRight(Deferred.succeed(gates.b, "b"), TestClock.adjust("2 seconds"))
          if (when === "while the other runs it") {
            yield* late
            assert.deepStrictEqual([a.taken, yield* log], [[false], []])
            yield* inTime
          } else {
            yield* inTime
            assert.deepStrictEqual(yield* log, ["b after 1"])
            yield* late
          }
          yield* TestClock.adjust("5 seconds")
          assert.deepStrictEqual([a.taken, b.taken], [[false], [true]])
          assert.deepStrictEqual(yield* log, ["b after 1"])
          assert.lengthOf(runs, 2)
          assert.deepStrictEqual((yield* store.activities.list()).entries, [])
          assert.deepStrictEqual((yield* store.pendingOutbox()).entries, [])
          assert.deepStrictEqual((yield* store.deadLetters.list()).entries, [])
        })
      )
    }
  }

  it.scoped("is interrupted there once the process is back and sees that another one has it", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { a, b, cable, gates, interrupted, log, runs } = yield* world(store)
      assert.deepStrictEqual(interrupted, [])
      yield* cable.heals
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(interrupted, ["a"])
      yield* Deferred.succeed(gates.b, "b")
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual([a.taken, b.taken], [[], [true]])
      assert.deepStrictEqual(yield* log, ["b after 1"])
      assert.lengthOf(runs, 2)
    })
  )
})

/** How an execution can be halted, and by which command it goes on. */
const halts = [
  ["SUSPENDED", "resume"],
  ["FAILED", "redrive"]
] as const

/** A process whose looks at the store are so far apart that minutes cost little. */
const idle: ExecutionRuntime.CommonOptions = {
  activityTtl: "1 minute",
  pollInterval: "5 seconds",
  timerInterval: "1 hour",
  statsInterval: "1 hour"
}

/** An execution that waits for an activity and is halted; `shared` is its store to a process that hears of no other's writes. */
const halted = (store: Store, halt: (typeof halts)[number][0]) =>
  Effect.gen(function* () {
    const client = Effect.provideService(ExecutionStore.ExecutionStore, store)
    const control = yield* client(Control.make())
    const { execution } = yield* client(Order.start("x", { log: [] }))
    const shared = Support.deaf(store)
    yield* run(shared, OrderLive, idle)
    yield* TestClock.adjust("6 seconds")
    const started = yield* Support.load(store, execution.id)
    yield* store.save({ ...started, status: halt, error: halt === "FAILED" ? "another step" : null })
    return { client, control, execution, shared }
  })

Support.onEach("An activity of an execution that is halted", (makeStore) => {
  for (const [halt, goOn] of halts) {
    it.scoped(`${halt} goes on by the next poll of another process, when one has it ${goOn}`, () =>
      Effect.gen(function* () {
        const { client, control, execution, shared } = yield* halted(yield* makeStore, halt)
        let runs = 0
        yield* run(
          shared,
          Charge.toLayer(() => Effect.sync(() => `run ${++runs}`)),
          idle
        )
        // Long enough for the longest time between two looks at it.
        yield* TestClock.adjust("65 seconds")
        assert.strictEqual(runs, 0)
        yield* control[goOn](execution.id)
        // Two polls, which is less than what is left until the next look at it.
        yield* TestClock.adjust("11 seconds")
        assert.strictEqual(runs, 1)
        assert.deepStrictEqual((yield* client(Order.get("x"))).context.log, ["run 1 after 1"])
      })
    )
  }
})

Support.onEach("An activity whose execution goes on while a process finds it halted", (makeStore) => {
  for (const [halt, goOn] of halts) {
    it.scoped(`${halt}, between its claim and its release, is run at once`, () =>
      Effect.gen(function* () {
        const { client, control, execution, shared } = yield* halted(yield* makeStore, halt)
        let claims = 0
        let goesOnAt = 0
        const racing: Store = {
          ...shared,
          activities: {
            ...shared.activities,
            claim: (query) =>
              Effect.tap(shared.activities.claim(query), ({ entries }) => {
                // The looks at it are half a minute apart by then.
                if (entries.length === 0 || ++claims !== 10) return Effect.void
                return Effect.zipRight(
                  Effect.ignore(control[goOn](execution.id)),
                  Effect.map(Clock.currentTimeMillis, (now) => {
                    goesOnAt = now
                  })
                )
              })
          }
        }
        const runs: Array<number> = []
        yield* run(
          racing,
          Charge.toLayer(() =>
            Effect.map(Clock.currentTimeMillis, (now) => {
              runs.push(now)
              return "run"
            })
          ),
          idle
        )
        yield* TestClock.adjust("5 minutes")
        assert.lengthOf(runs, 1)
        assert.isAbove(goesOnAt, 60_000)
        assert.isAtMost((runs[0] ?? 0) - goesOnAt, 1000)
        assert.deepStrictEqual((yield* client(Order.get("x"))).context.log, ["run after 1"])
      })
    )
  }
})

const Payload = Schema.Struct({ partner: Schema.String })

/** Two processes with an execution that asks for so many activities of each partner; `began` tells who began what, and when. */
const limited = (store: Store, limit: Activity.Limit<typeof Payload.Type>, each: number) =>
  Effect.gen(function* () {
    const Call = Activity.make("call", { payload: Payload, concurrency: 3, limit })
    const Batch = Definition.make("batch", { context: Schema.Struct({}), activities: { call: Call } })
    const partners = Array.from({ length: each }, () => ["x", "y"]).flat()
    const BatchLive = Batch.toLayer({
      Start: (step) =>
        partners.reduce((step, partner) => Batch.runActivity(step, "call", { partner }), Step.advance(step, "Calling")),
      activities: { call: { success: (step) => step, failure: (step) => Step.fail(step, "no") } }
    })
    const began: Array<{ readonly by: string; readonly partner: string; readonly at: number }> = []
    const running = new Map([
      ["x", 0],
      ["y", 0]
    ])
    let most = 0
    const call = (by: string) =>
      Call.toLayer(({ partner }) =>
        Effect.gen(function* () {
          began.push({ by, partner, at: yield* Clock.currentTimeMillis })
          const count = (running.get(partner) ?? 0) + 1
          running.set(partner, count)
          most = Math.max(most, count)
          yield* Effect.sleep("1 second")
          running.set(partner, (running.get(partner) ?? 0) - 1)
        })
      )
    const shared = Support.deaf(store)
    for (const by of ["a", "b"]) yield* run(shared, Layer.merge(BatchLive, call(by)))
    yield* Effect.provideService(Batch.start("batch", {}), ExecutionStore.ExecutionStore, store)
    return { began, running, most: () => most }
  })

Support.onEach("The limits of an activity", (makeStore) => {
  it.scoped("say how many of a key run at the same time in two processes together", () =>
    Effect.gen(function* () {
      const store = yield* makeStore
      const { began, most, running } = yield* limited(store, { key: ({ partner }) => partner, concurrency: 2 }, 8)
      yield* TestClock.adjust("2500 millis")
      // Each process alone has three places.
      assert.deepStrictEqual(Array.from(running.values()), [2, 2])
      yield* TestClock.adjust("8 seconds")
      assert.lengthOf(began, 16)
      assert.strictEqual(most(), 2)
      assert.sameMembers(Array.from(new Set(began.map(({ by }) => by))), ["a", "b"])
      assert.deepStrictEqual((yield* store.activities.list()).entries, [])
    })
  )

  it.scoped(
    "say how many of a key begin in a time in two processes together: so many, and the next when the first of these is so long ago",
    () =>
      Effect.gen(function* () {
        const store = yield* makeStore
        const { began } = yield* limited(
          store,
          { key: ({ partner }) => partner, rate: { limit: 3, window: "9 seconds" } },
          6
        )
        yield* TestClock.adjust("15 seconds")
        assert.lengthOf(began, 12)
        const first = began[0]?.at ?? 0
        for (const one of ["x", "y"]) {
          const times = began.filter(({ partner }) => partner === one).map(({ at }) => Math.round((at - first) / 1000))
          assert.deepStrictEqual(times, [0, 0, 0, 9, 9, 9])
        }
        assert.sameMembers(Array.from(new Set(began.map(({ by }) => by))), ["a", "b"])
        assert.deepStrictEqual((yield* store.activities.list()).entries, [])
      })
  )
})
