import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Activity from "holdfast/Activity"
import * as Definition from "holdfast/Definition"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import * as Step from "holdfast/Step"

class CardDeclined extends Schema.TaggedError<CardDeclined>()("CardDeclined", { code: Schema.String }) {}

const Charge = Activity.make("charge", {
  payload: Schema.Struct({ amount: Schema.Number }),
  success: Schema.Struct({ receipt: Schema.String }),
  error: CardDeclined,
  retry: Schedule.spaced("10 seconds").pipe(Schedule.intersect(Schedule.recurs(2))),
  timeout: "1 minute"
})

const Notify = Activity.make("notify")

const Order = Definition.make("order", {
  context: Schema.Struct({ total: Schema.Number, log: Schema.Array(Schema.String) }),
  events: { Ping: Schema.Struct({}), Stop: Schema.Struct({}) },
  activities: { charge: Charge, notify: Notify },
  result: Schema.Struct({ log: Schema.Array(Schema.String) })
})

const noted = (line: string) =>
  Step.updateContext((context: typeof Order.schemas.context.Type) => ({ ...context, log: [...context.log, line] }))

const handlers = Order.of({
  Start: (step) =>
    step.pipe(Step.advance("Charging"), Order.runActivity("charge", { amount: step.context.total }, { key: "c" })),
  Ping: (step) => step.pipe(noted("ping")),
  Stop: (step) => step.pipe(Step.cancelActivity("c"), noted("stopped")),
  activities: {
    charge: {
      success: (step, { receipt }, { attempts, key }) =>
        step.pipe(noted(`${key} paid ${receipt} after ${attempts}`), Order.runActivity("notify", undefined)),
      failure: (step, error, { attempts }) => step.pipe(noted(`${error._tag} after ${attempts}`))
    },
    notify: {
      success: (step) => Order.finish(step, { log: step.context.log }),
      failure: (step, error) => Step.fail(step, error)
    }
  }
})

/** A runtime on a store in memory, with orders and these activities. */
const live = (
  charge: Activity.Handler<{ readonly amount: number }, { readonly receipt: string }, CardDeclined>,
  // What still runs at the end of a test is not waited for: nobody moves the clock then.
  options: ExecutionRuntime.CommonOptions = { shutdownTimeout: 0 }
) =>
  Layer.mergeAll(
    Order.toLayer(handlers),
    Charge.toLayer(charge),
    Notify.toLayer(() => Effect.void)
  ).pipe(Layer.provideMerge(ExecutionRuntime.layer(options)), Layer.provideMerge(MemoryStore.layer))

const start = Order.start("a", { total: 5, log: [] })

const idle = Effect.flatMap(ExecutionRuntime.ExecutionRuntime, ({ awaitIdle }) => awaitIdle)

const log = Effect.map(Order.get("a"), ({ context }) => context.log)

/** Lets what can go on without time go on. */
const settled = Effect.flatMap(ExecutionRuntime.ExecutionRuntime, () => TestClock.adjust(0))

const waiting = Effect.flatMap(ExecutionStore.ExecutionStore, (store) => store.activities.of("a"))

describe("an activity", () => {
  it.scoped("runs outside of the step that asks for it, and its success is an event", () =>
    Effect.gen(function* () {
      const runs: Array<Activity.Run> = []
      const charge = (_: unknown, run: Activity.Run) =>
        Effect.sync(() => runs.push(run)).pipe(Effect.as({ receipt: "r1" }))
      yield* Effect.gen(function* () {
        yield* start
        assert.deepStrictEqual(yield* Order.await("a"), { log: ["c paid r1 after 1"] })
        assert.deepStrictEqual(yield* waiting, [])
      }).pipe(Effect.provide(live(charge)))
      assert.deepStrictEqual(runs, [{ executionId: "a", key: "c", attempt: 1, idempotencyKey: "a:c" }])
    })
  )

  it.scoped("that is slow holds up no other event of its execution", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      yield* Effect.gen(function* () {
        yield* start
        yield* settled
        yield* Order.send("a", "Ping", {})
        yield* settled
        assert.deepStrictEqual(yield* log, ["ping"])
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* Order.await("a"), { log: ["ping", "c paid r after 1"] })
      }).pipe(Effect.provide(live(() => Effect.as(Deferred.await(gate), { receipt: "r" }))))
    })
  )

  it.scoped(
    "that fails is tried again as its schedule says, under the same key, and remembers attempts and error",
    () =>
      Effect.gen(function* () {
        const runs: Array<Activity.Run> = []
        const charge = (_: unknown, run: Activity.Run) => {
          runs.push(run)
          return run.attempt < 3
            ? Effect.fail(new CardDeclined({ code: `no ${run.attempt}` }))
            : Effect.succeed({ receipt: "r" })
        }
        yield* Effect.gen(function* () {
          yield* start
          yield* settled
          assert.lengthOf(runs, 1)
          const [first] = yield* waiting
          assert.deepInclude(first, { attempts: 1, owner: null, readyAt: 10 })
          assert.include(first?.error ?? "", "no 1")
          yield* TestClock.adjust("9999 millis")
          assert.lengthOf(runs, 1)
          yield* TestClock.adjust("1 millis")
          assert.lengthOf(runs, 2)
          yield* TestClock.adjust("10 seconds")
          assert.deepStrictEqual(yield* Order.await("a"), { log: ["c paid r after 3"] })
        }).pipe(Effect.provide(live(charge)))
        assert.deepStrictEqual(
          runs.map(({ attempt, idempotencyKey }) => [attempt, idempotencyKey]),
          [
            [1, "a:c"],
            [2, "a:c"],
            [3, "a:c"]
          ]
        )
      })
  )

  it.scoped("that fails for good tells so, with its own error", () =>
    Effect.gen(function* () {
      yield* start
      yield* TestClock.adjust("20 seconds")
      assert.deepStrictEqual(yield* log, ["CardDeclined after 3"])
      assert.deepStrictEqual(yield* waiting, [])
    }).pipe(Effect.provide(live(() => Effect.fail(new CardDeclined({ code: "expired" })))))
  )

  it.scoped("that takes too long is interrupted, and tells so after the last attempt", () =>
    Effect.gen(function* () {
      let interrupted = 0
      const never = Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
      yield* Effect.gen(function* () {
        yield* start
        yield* settled
        for (let i = 0; i < 3; i++) {
          yield* TestClock.adjust("1 minute")
          yield* TestClock.adjust("10 seconds")
        }
        assert.deepStrictEqual(yield* log, ["ActivityTimedOut after 3"])
      }).pipe(Effect.provide(live(() => never)))
      assert.strictEqual(interrupted, 3)
    })
  )

  it.scoped("that throws, or interrupts itself, has died", () =>
    Effect.gen(function* () {
      for (const charge of [() => Effect.die("boom"), () => Effect.interrupt]) {
        yield* Effect.gen(function* () {
          yield* start
          yield* TestClock.adjust("20 seconds")
          assert.deepStrictEqual(yield* log, ["ActivityDied after 3"])
        }).pipe(Effect.provide(live(charge)))
      }
    })
  )

  it.scoped("is interrupted when its step takes it back, and no event comes of it", () =>
    Effect.gen(function* () {
      let interrupted = 0
      const never = Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
      yield* Effect.gen(function* () {
        yield* start
        yield* settled
        yield* Order.send("a", "Stop", {})
        yield* idle
        assert.strictEqual(interrupted, 1)
        assert.deepStrictEqual(yield* log, ["stopped"])
      }).pipe(Effect.provide(live(() => never)))
    })
  )

  for (const command of ["cancel", "terminate"] as const) {
    it.scoped(`is interrupted by the ${command} of its execution, and no event comes of it`, () =>
      Effect.gen(function* () {
        let interrupted = 0
        const never = Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
        yield* Effect.gen(function* () {
          const { control } = yield* ExecutionRuntime.ExecutionRuntime
          yield* start
          yield* settled
          yield* control[command]("a")
          yield* idle
          assert.strictEqual(interrupted, 1)
          assert.deepStrictEqual(yield* waiting, [])
          assert.strictEqual((yield* Order.get("a")).status, "CANCELLED")
        }).pipe(Effect.provide(live(() => never)))
      })
    )
  }

  it.scoped("that an operator cancels is interrupted, and tells so", () =>
    Effect.gen(function* () {
      const { cancelActivity } = yield* ExecutionRuntime.ExecutionRuntime
      yield* start
      yield* settled
      assert.isTrue(yield* cancelActivity("a", "c"))
      assert.isFalse(yield* cancelActivity("a", "c"))
      yield* idle
      assert.deepStrictEqual(yield* log, ["ActivityCancelled after 0"])
    }).pipe(Effect.provide(live(() => Effect.never)))
  )

  it.scoped("whose value does not encode has died, and is not done again", () =>
    Effect.gen(function* () {
      let runs = 0
      const huge = Effect.sync(() => ({ receipt: "x".repeat(2 ** 21 + runs++) }))
      yield* Effect.gen(function* () {
        yield* start
        yield* idle
        assert.deepStrictEqual(yield* log, ["ActivityDied after 1"])
      }).pipe(Effect.provide(live(() => huge)))
      assert.strictEqual(runs, 1)
    })
  )

  it.scoped("whose payload does not decode is a dead letter, which can be redriven", () =>
    Effect.gen(function* () {
      const { deadLetters } = yield* ExecutionRuntime.ExecutionRuntime
      const store = yield* ExecutionStore.ExecutionStore
      const { execution } = yield* Order.start("a", { total: 5, log: [] })
      yield* settled
      const stored = Option.getOrThrow(yield* store.load(execution.id))
      yield* store.commit(stored, {
        activities: [{ _tag: "Run", key: "bad", name: "charge", payload: { amount: "five" } }]
      })
      yield* settled
      const [letter] = (yield* deadLetters.list({ kind: "Activity" })).entries
      assert.deepInclude(letter, { _tag: "Activity", reason: "rejected", executionId: "a", attempts: 1 })
      assert.include(letter?.error ?? "", "amount")
    }).pipe(Effect.provide(live(() => Effect.never)))
  )

  it.scoped("of which the process has no implementation waits, shows in health, and goes when it is registered", () =>
    Effect.gen(function* () {
      const runtime = yield* ExecutionRuntime.ExecutionRuntime
      yield* start
      yield* settled
      assert.deepStrictEqual((yield* runtime.health).unknownActivities, [
        { name: "charge", since: 0, count: 1, oldest: Option.some(0) }
      ])
      yield* Effect.scoped(
        Effect.gen(function* () {
          yield* Layer.build(Charge.toLayer(() => Effect.succeed({ receipt: "late" })))
          yield* Layer.build(Notify.toLayer(() => Effect.void))
          assert.deepStrictEqual(yield* Order.await("a"), { log: ["c paid late after 1"] })
          assert.deepStrictEqual((yield* runtime.health).unknownActivities, [])
        })
      )
    }).pipe(
      Effect.provide(
        Order.toLayer(handlers).pipe(
          Layer.provideMerge(ExecutionRuntime.layer()),
          Layer.provideMerge(MemoryStore.layer)
        )
      )
    )
  )

  it.scoped("is registered once in a runtime", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Layer.build(Charge.toLayer(() => Effect.never)))
      assert.deepInclude(error, { _tag: "ActivityRegistered", activity: "charge" })
    }).pipe(Effect.provide(live(() => Effect.never)))
  )

  it.scoped("whose handler is no function, as plain JavaScript may have it, is refused by its layer", () =>
    Effect.gen(function* () {
      const layers = [
        // @ts-expect-error there is none
        [Charge.toLayer(undefined), "found a value of type undefined"],
        // @ts-expect-error it is no function
        [Charge.toLayer({ run: () => Effect.void }), "found a value of type object"],
        // @ts-expect-error nor is this
        [Charge.toLayer("handler"), "found a value of type string"],
        // @ts-expect-error nor what this gives
        [Charge.toLayer(Effect.succeed(7)), "found a value of type number"]
      ] as const
      for (const [layer, problem] of layers) {
        const error = yield* Effect.flip(Layer.build(layer))
        assert.deepInclude(error, { _tag: "InvalidActivityHandler", activity: "charge" })
        assert.include(error.message, problem)
      }
      // Nothing is left behind: the right one can be provided yet.
      yield* Layer.build(Charge.toLayer(() => Effect.never))
    }).pipe(Effect.provide(ExecutionRuntime.layer().pipe(Layer.provideMerge(MemoryStore.layer))))
  )

  it.scoped("waits while its execution is suspended, and goes on when that is resumed", () =>
    Effect.gen(function* () {
      let runs = 0
      const charge = () =>
        runs++ === 0 ? Effect.fail(new CardDeclined({ code: "first" })) : Effect.succeed({ receipt: "r" })
      yield* Effect.gen(function* () {
        const { control } = yield* ExecutionRuntime.ExecutionRuntime
        yield* start
        yield* settled
        yield* control.suspend("a")
        yield* TestClock.adjust("5 minutes")
        assert.strictEqual(runs, 1)
        yield* control.resume("a")
        assert.deepStrictEqual(yield* Order.await("a"), { log: ["c paid r after 2"] })
      }).pipe(Effect.provide(live(charge)))
    })
  )

  it.scoped("of an execution that has failed keeps its outcome until that is redriven", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      yield* Effect.gen(function* () {
        const { control } = yield* ExecutionRuntime.ExecutionRuntime
        const store = yield* ExecutionStore.ExecutionStore
        yield* start
        yield* settled
        const execution = Option.getOrThrow(yield* store.load("a"))
        yield* store.save({ ...execution, status: "FAILED", error: "another step" })
        yield* Deferred.succeed(gate, undefined)
        yield* TestClock.adjust("5 minutes")
        assert.lengthOf(yield* waiting, 1)
        yield* control.redrive("a")
        assert.deepStrictEqual(yield* Order.await("a"), { log: ["c paid r after 1"] })
      }).pipe(Effect.provide(live(() => Effect.as(Deferred.await(gate), { receipt: "r" }))))
    })
  )

  it.scoped("that runs when the runtime stops is given back, and run again by the next one", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const onStore = Layer.succeed(ExecutionStore.ExecutionStore, store)
      const attempts: Array<number> = []
      const process = (charge: Parameters<typeof live>[0]) =>
        Layer.mergeAll(
          Order.toLayer(handlers),
          Charge.toLayer(charge),
          Notify.toLayer(() => Effect.void)
        ).pipe(Layer.provideMerge(ExecutionRuntime.layer({ shutdownTimeout: "1 second" })), Layer.provideMerge(onStore))
      const stop = yield* Effect.fork(
        Effect.zipRight(start, settled).pipe(
          Effect.provide(
            process((_, { attempt }) => {
              attempts.push(attempt)
              return Effect.never
            })
          )
        )
      )
      yield* TestClock.adjust("1 second")
      yield* TestClock.adjust("1 second")
      yield* Effect.fromFiber(stop)
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* Order.await("a"), { log: ["c paid r after 1"] })
      }).pipe(
        Effect.provide(
          process((_, { attempt }) => {
            attempts.push(attempt)
            return Effect.succeed({ receipt: "r" })
          })
        )
      )
      assert.deepStrictEqual(attempts, [1, 1])
    })
  )

  it.scoped("is run no more than its concurrency allows, and the others wait in the store", () =>
    Effect.gen(function* () {
      const Slow = Activity.make("slow", { concurrency: 3 })
      const gate = yield* Deferred.make<void>()
      let running = 0
      let most = 0
      const slow = Slow.toLayer(() =>
        Effect.gen(function* () {
          most = Math.max(most, ++running)
          yield* Deferred.await(gate)
          running--
        })
      )
      yield* Effect.gen(function* () {
        const store = yield* ExecutionStore.ExecutionStore
        const runtime = yield* ExecutionRuntime.ExecutionRuntime
        const asked = Array.from({ length: 20 }, (_, i) => ({
          _tag: "Run" as const,
          key: `k${i}`,
          name: "slow",
          payload: {}
        }))
        yield* runtime.create((yield* Order.start("a", { total: 1, log: [] })).execution).pipe(Effect.ignore)
        yield* idle
        yield* store.commit(Option.getOrThrow(yield* store.load("a")), { activities: asked })
        yield* settled
        assert.deepInclude((yield* store.stats).activities, { count: 20, running: 3 })
        assert.isTrue(Option.isSome((yield* runtime.health).activities.runningSince))
        yield* Deferred.succeed(gate, undefined)
        yield* idle
        assert.strictEqual(most, 3)
      }).pipe(
        Effect.provide(
          slow.pipe(
            Layer.merge(Order.toLayer((step) => step.pipe(Step.advance("Waiting")), {})),
            Layer.provideMerge(ExecutionRuntime.layer()),
            Layer.provideMerge(MemoryStore.layer)
          )
        )
      )
    })
  )

  it("tells how it went from its event, to whoever knows it", () => {
    const event = {
      id: "activity:a:c:1",
      kind: "ActivityEnded",
      createdTime: null,
      receivedTime: null,
      extra: {},
      data: { activity: "charge", key: "c", attempts: 2, outcome: "success", value: { receipt: "r" } }
    }
    assert.deepStrictEqual(
      Charge.outcome(event),
      Option.some({ key: "c", attempts: 2, result: Either.right({ receipt: "r" }) })
    )
    assert.deepStrictEqual(Notify.outcome(event), Option.none())
    assert.deepStrictEqual(Charge.outcome({ ...event, kind: "Other" }), Option.none())
    assert.deepStrictEqual(Charge.outcome({ ...event, data: { ...event.data, value: 1 } }), Option.none())
  })
})
