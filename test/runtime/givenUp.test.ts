import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Activity from "holdfast/Activity"
import * as Definition from "holdfast/Definition"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as GivenUp from "holdfast/GivenUp"
import * as Step from "holdfast/Step"
import { shareOfTests } from "../support/extent.js"
import { servers } from "../support/servers.js"
import { driven, stores } from "../support/workers.js"

const Nothing = Schema.Struct({})

const Charge = Activity.make("charge", { payload: Schema.Struct({ amount: Schema.Number }) })

const Order = Definition.make("order", {
  context: Nothing,
  events: { Fail: Nothing, Break: Nothing, Charge: Nothing },
  timers: ["due"],
  activities: { charge: Charge }
})

/** Keeps what it is told. */
const Operations = Definition.make("operations", {
  context: Schema.Struct({ told: Schema.Array(Schema.String) }),
  events: { Break: Nothing }
})

const say = ({ executionId, name, reason, subject, what }: GivenUp.GivenUp): string =>
  [what, executionId, name, subject, reason].map(String).join(" | ")

const handlers = Order.of({
  Start: (step) => step,
  Fail: (step) => Step.fail(step, "out of stock"),
  Break: () => Effect.fail("no answer"),
  Charge: (step) => Order.runActivity(step, "charge", { amount: 1 }),
  timers: { due: () => Effect.fail("too late") },
  activities: { charge: { success: (step) => step, failure: (step) => step } }
})

const OperationsLive = Operations.toLayer({
  Start: (step) => step,
  Break: () => Effect.fail("no answer"),
  GivenUp: (step, notice) => Step.updateContext(step, ({ told }) => ({ told: [...told, say(notice)] }))
})

const told = Effect.map(Operations.get("ops"), ({ context }) => context.told)
const idle = Effect.flatMap(ExecutionRuntime.ExecutionRuntime, (runtime) => runtime.awaitIdle)
const letters = Effect.flatMap(ExecutionStore.ExecutionStore, (store) => store.deadLetters.list())

type Env = ExecutionRuntime.ExecutionRuntime | ExecutionStore.ExecutionStore

for (const [{ make, name }, named] of [...shareOfTests(stores, 0, 1), ...shareOfTests(servers, 1, 2)]) {
  const store = Layer.scoped(ExecutionStore.ExecutionStore, make)
  const run = <A, E>(
    options: ExecutionRuntime.CommonOptions,
    effect: Effect.Effect<A, E, Env>,
    definitions = Layer.merge(Order.toLayer(handlers), OperationsLive)
  ) =>
    driven(
      Effect.provide(
        Effect.zipRight(Operations.start("ops", { told: [] }), effect),
        definitions.pipe(
          Layer.provideMerge(
            ExecutionRuntime.layer({ retry: Schedule.recurs(1), pollInterval: "10 millis", ...options })
          ),
          Layer.provideMerge(store)
        )
      )
    )

  describe(named(`What was given up on ${name}`), () => {
    it.effect("is told, once for each: events, timers, executions that failed; and again what is given up again", () =>
      run(
        { onGivenUp: "ops" },
        Effect.gen(function* () {
          const self = yield* ExecutionStore.ExecutionStore
          yield* Order.start("a", {})
          yield* Order.send("a", "Break", {}, { id: "shop:1" })
          yield* self.enqueue([{ targetId: "nobody", event: Event.make({ id: "shop:2", kind: "Paid" }) }])
          yield* Order.start("b", {})
          yield* Order.send("b", "Fail", {})
          yield* idle
          const first = [
            "Execution | b | null | null | failed",
            "Outbox | a | Break | shop:1 | attempts",
            "Outbox | nobody | Paid | shop:2 | no-target"
          ]
          assert.deepStrictEqual((yield* told).toSorted(), first)

          const a = Option.getOrThrow(yield* self.load("a"))
          yield* self.commit(a, { timers: [{ _tag: "Schedule", path: "due", fireAt: 0 }] })
          const letter = (yield* letters).entries.find(({ executionId }) => executionId === "a")
          yield* self.deadLetters.redrive(letter?.id ?? 0)
          yield* Effect.repeat(Effect.zipRight(Effect.sleep("10 millis"), told), {
            until: (all) => all.length === 5,
            times: 500
          })
          const more = ["Outbox | a | Break | shop:1 | attempts", "Timer | a | null | due | attempts"]
          assert.deepStrictEqual((yield* told).toSorted(), [...first, ...more].toSorted())
        })
      )
    )

    it.effect("that cannot be told is a dead letter, of which nobody is told", () =>
      run(
        { onGivenUp: "nobody" },
        Effect.gen(function* () {
          yield* Order.start("a", {})
          yield* Order.send("a", "Fail", {})
          yield* idle
          const { entries } = yield* letters
          assert.deepStrictEqual(
            entries.map(({ executionId, reason }) => [executionId, reason]),
            [["nobody", "no-target"]]
          )
          assert.strictEqual((yield* Order.get("a")).status, "FAILED")
        })
      )
    )

    it.effect("of the target itself is told to nobody, so that it comes to an end", () =>
      run(
        { onGivenUp: "ops" },
        Effect.gen(function* () {
          yield* Operations.send("ops", "Break", {})
          yield* idle
          assert.deepStrictEqual(yield* told, [])
          assert.lengthOf((yield* letters).entries, 1)
        })
      )
    )

    it.effect("goes to whom the definition says, and else to whom the runtime says", () =>
      Effect.gen(function* () {
        const Child = Definition.make("child", {
          context: Nothing,
          events: { Fail: Nothing, Break: Nothing },
          onGivenUp: (notice) => (notice.what === "Execution" ? GivenUp.toParent(notice) : undefined)
        })
        const Parent = Definition.make("parent", {
          context: Schema.Struct({ told: Schema.Array(Schema.String) }),
          children: { Child }
        })
        const live = Layer.mergeAll(
          OperationsLive,
          Child.toLayer({
            Start: (step) => step,
            Fail: (step) => Step.fail(step, "gone"),
            Break: () => Effect.fail("no answer")
          }),
          Parent.toLayer({
            Start: (step) => Parent.spawn(step, "Child", {}),
            GivenUp: (step, notice) => Step.updateContext(step, ({ told }) => ({ told: [...told, say(notice)] })),
            children: { Child: (step) => step }
          })
        )
        yield* run(
          { onGivenUp: "ops" },
          Effect.gen(function* () {
            yield* Parent.start("p", { told: [] })
            yield* idle
            yield* Child.send("p:Child:0", "Break", {}, { id: "shop:1" })
            yield* idle
            yield* Child.send("p:Child:0", "Fail", {})
            yield* idle
            assert.deepStrictEqual((yield* Parent.get("p")).context.told, [
              "Execution | p:Child:0 | null | null | failed"
            ])
            assert.deepStrictEqual(yield* told, ["Outbox | p:Child:0 | Break | shop:1 | attempts"])
          }),
          live
        )
      })
    )

    it.effect("goes to whom the version says that runs the execution, where versions stand side by side", () =>
      Effect.gen(function* () {
        const make = <const V extends number>(version: V, onGivenUp?: GivenUp.Target) =>
          Definition.make("parcel", { version, context: Nothing, events: { Fail: Nothing, Break: Nothing }, onGivenUp })
        const first = make(1, "of-1")
        const second = make(2)
        const third = Definition.make("parcel", {
          version: 3,
          context: Nothing,
          events: { Fail: Nothing, Break: Nothing },
          migrations: { 2: ({ context }) => ({ context }) },
          onGivenUp: "of-3"
        })
        const parcels = <D extends typeof first | typeof second | typeof third>(definition: D) =>
          definition.toLayer({
            Start: (step) => step,
            Fail: (step) => Step.fail(step, "gone"),
            Break: () => Effect.fail("no answer")
          })
        const live = (...versions: ReadonlyArray<ReturnType<typeof parcels>>) =>
          Layer.mergeAll(OperationsLive, Order.toLayer(handlers), ...versions)
        yield* run(
          { onGivenUp: "ops" },
          Effect.gen(function* () {
            for (const id of ["of-1", "of-3"]) yield* Operations.start(id, { told: [] })
            yield* first.start("a", {})
            yield* second.start("b", {})
            yield* third.start("c", {})
            yield* first.start("d", {})
            yield* idle
            for (const id of ["a", "b", "c"]) yield* first.send(id, "Break", {}, { id: `shop:${id}` })
            yield* first.send("d", "Fail", {})
            yield* idle
            const toldTo = (id: string) => Effect.map(Operations.get(id), ({ context }) => context.told.toSorted())
            assert.deepStrictEqual(yield* toldTo("of-1"), [
              "Execution | d | null | null | failed",
              "Outbox | a | Break | shop:a | attempts"
            ])
            // Version 2 says nobody, and is not asked of version 3, which would migrate it were it alone.
            assert.deepStrictEqual(yield* toldTo("ops"), ["Outbox | b | Break | shop:b | attempts"])
            assert.deepStrictEqual(yield* toldTo("of-3"), ["Outbox | c | Break | shop:c | attempts"])
          }),
          live(parcels(first), parcels(second), parcels(third))
        )
      })
    )

    it.effect("goes to the execution itself, save for its own failure", () =>
      Effect.gen(function* () {
        const Own = Definition.make("own", {
          context: Schema.Struct({ told: Schema.Array(Schema.String) }),
          events: { Fail: Nothing, Break: Nothing },
          onGivenUp: GivenUp.toItself
        })
        const live = Own.toLayer({
          Start: (step) => step,
          Fail: (step) => Step.fail(step, "gone"),
          Break: () => Effect.fail("no answer"),
          GivenUp: (step, notice) => Step.updateContext(step, ({ told }) => ({ told: [...told, say(notice)] }))
        })
        yield* run(
          { onGivenUp: "ops" },
          Effect.gen(function* () {
            yield* Own.start("o", { told: [] })
            yield* Own.send("o", "Break", {}, { id: "shop:1" })
            yield* idle
            yield* Own.send("o", "Fail", {})
            yield* idle
            assert.deepStrictEqual((yield* Own.get("o")).context.told, ["Outbox | o | Break | shop:1 | attempts"])
            assert.deepStrictEqual(yield* told, ["Execution | o | null | null | failed"])
          }),
          Layer.merge(OperationsLive, live)
        )
      })
    )

    it.effect("leaves the store where there is no target", () =>
      Effect.gen(function* () {
        const sent: Array<Option.Option<GivenUp.GivenUp>> = []
        yield* run(
          {
            onGivenUp: null,
            onFailure: "fail",
            deliverExternal: ({ event }) => Effect.sync(() => void sent.push(GivenUp.fromEvent(event)))
          },
          Effect.gen(function* () {
            yield* Order.start("a", {})
            yield* Order.send("a", "Break", {})
            yield* idle
            assert.strictEqual((yield* Order.get("a")).status, "FAILED")
          })
        )
        const [notice] = sent
        assert.lengthOf(sent, 1)
        assert.deepInclude(Option.getOrThrow(Option.flatten(Option.fromNullable(notice))), {
          what: "Execution",
          executionId: "a",
          definition: "order",
          definitionVersion: 1,
          reason: "failed"
        })
      })
    )

    it.effect("is given up all the same where nobody can be told", () =>
      Effect.forEach(
        [
          () => {
            throw new Error("a bug")
          },
          () => "",
          () => "x".repeat(2000),
          () => undefined
        ] satisfies ReadonlyArray<GivenUp.Target>,
        (onGivenUp) =>
          Effect.scoped(
            run(
              { onGivenUp },
              Effect.gen(function* () {
                yield* Order.startOrGet("a", {})
                yield* Order.send("a", "Break", {})
                yield* Order.start("b", {})
                yield* Order.send("b", "Fail", {})
                yield* idle
                assert.strictEqual((yield* Order.get("b")).status, "FAILED")
                assert.lengthOf((yield* letters).entries, 1)
                assert.deepStrictEqual(yield* told, [])
              })
            )
          ),
        { discard: true }
      )
    )
  })
}

describe("What was given up", () => {
  const [memory] = stores

  it.scoped(
    "is told by a store that workers run on by themselves, of any kind of work, and of rows that do not decode",
    () =>
      Effect.gen(function* () {
        const plain = yield* memory?.make ?? Effect.die("no store")
        const store = GivenUp.telling(plain, "ops")
        yield* store.commit(Execution.make({ id: "p", definitionId: "order" }), {
          spawns: [{ childId: "c", rootPath: "", context: {} }],
          timers: [{ _tag: "Schedule", path: "due", fireAt: 5 }],
          activities: [{ _tag: "Run", key: "k", name: "charge", payload: {} }]
        })
        const [spawn] = (yield* store.pendingSpawns()).entries
        const [activity] = (yield* store.activities.list()).entries
        const why = { reason: "rejected", attempts: 2, error: "no" } as const
        const works = [
          { _tag: "Spawn", seq: spawn?.seq ?? 0 },
          { _tag: "Timer", executionId: "p", path: "due", fireAt: 5 },
          { _tag: "Activity", seq: activity?.seq ?? 0 }
        ] as const
        for (const work of works) {
          assert.isTrue(yield* store.deadLetters.bury(work, why))
          assert.isFalse(yield* store.deadLetters.bury(work, why))
        }
        const { entries } = yield* store.pendingOutbox()
        const notices = entries.map(({ event, targetId }) => [
          targetId,
          say(Option.getOrThrow(GivenUp.fromEvent(event)))
        ])
        assert.deepStrictEqual(notices, [
          ["ops", "Spawn | p | null | c | rejected"],
          ["ops", "Timer | p | null | due | rejected"],
          ["ops", "Activity | p | charge | k | rejected"]
        ])
        assert.lengthOf(new Set(entries.map(({ event }) => event.id)), 3)
        // A notice that is given up causes no other.
        assert.isTrue(yield* store.deadLetters.bury({ _tag: "Outbox", seq: entries[0]?.seq ?? 0 }, why))
        assert.lengthOf((yield* store.pendingOutbox()).entries, 2)
        const [parent] = entries
        const decoded = Option.getOrThrow(GivenUp.fromEvent(parent?.event ?? Event.make({ id: "x", kind: "x" })))
        assert.deepInclude(decoded, { definition: "order", parentId: null, attempts: 2 })
      })
  )

  it.scoped("once, where an execution fails in a commit among others, or in one that is lost to another", () =>
    Effect.gen(function* () {
      const plain = yield* memory?.make ?? Effect.die("no store")
      const store = GivenUp.telling(plain, "ops")
      const a = yield* store.save(Execution.make({ id: "a", definitionId: "order", status: "RUNNING" }))
      const b = yield* store.save(Execution.make({ id: "b", definitionId: "order", status: "RUNNING" }))
      const origin = { status: "RUNNING", activePath: null, event: null, command: null } as const
      const failing = { execution: { ...a, status: "FAILED", error: "broke" }, commit: { origin } } as const
      const exits = yield* store.commitEach([failing, { execution: b, commit: { origin } }, failing])
      assert.deepStrictEqual(
        exits.map(({ _tag }) => _tag),
        ["Success", "Success", "Failure"]
      )
      const after = Option.getOrThrow(yield* store.load("a"))
      yield* store.commit(after, { origin: { ...origin, status: "FAILED" } })
      const { entries } = yield* store.pendingOutbox()
      assert.deepStrictEqual(
        entries.map(({ targetId }) => targetId),
        ["ops"]
      )
    })
  )

  it.scoped("is no event of a definition without a handler for it, and none that it can name", () =>
    Effect.gen(function* () {
      const event = Event.make({ id: "n", kind: Event.WellKnownKind.GivenUp, data: { what: "Thing" } })
      assert.isTrue(Option.isNone(GivenUp.fromEvent(event)))
      assert.throws(() =>
        Definition.make("bad", {
          context: Nothing,
          events: Object.fromEntries([["GivenUp", Nothing]])
        })
      )
      yield* TestClock.adjust(0)
    })
  )

  it("is typed", () => {
    const never = (_: () => unknown): void => {}
    Operations.of((step, incoming) => {
      if (incoming._tag === "GivenUp") expectTypeOf(incoming.notice).toEqualTypeOf<GivenUp.GivenUp>()
      return step
    })
    // @ts-expect-error: a number is no id
    never(() => Definition.make("bad", { context: Nothing, onGivenUp: 1 }))
    // @ts-expect-error: an event cannot be named so
    never(() => Definition.make("bad", { context: Nothing, events: { GivenUp: Nothing } }))
  })
})
