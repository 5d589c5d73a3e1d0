import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Definition from "holdfast/Definition"
import * as DefinitionError from "holdfast/DefinitionError"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import * as Processor from "holdfast/Processor"
import * as ProcessorError from "holdfast/ProcessorError"
import * as Step from "holdfast/Step"
import { shareOfTests } from "../support/extent.js"
import { servers } from "../support/servers.js"
import { driven, stores } from "../support/workers.js"

const ContextV1 = Schema.Struct({ total: Schema.String, by: Schema.Array(Schema.String) })
const ContextV2 = Schema.Struct({ cents: Schema.Number, by: Schema.Array(Schema.String) })
const ContextV3 = Schema.Struct({ cents: Schema.Number, by: Schema.Array(Schema.String), due: Schema.Date })

const events = { Touched: Schema.Struct({}), Ended: Schema.Struct({}) }
const timers = ["reminder"] as const
const result = Schema.Struct({ cents: Schema.Number })

const OrderV1 = Definition.make("order", { context: ContextV1, events, timers })

const toCents = Definition.migration({
  from: ContextV1,
  to: ContextV2,
  migrate: ({ context: { by, total }, path }) => ({
    context: { cents: Math.round(Number(total) * 100), by },
    path: path === "Paying" ? "Payment.Waiting" : path
  })
})

const OrderV2 = Definition.make("order", {
  version: 2,
  context: ContextV2,
  events,
  timers,
  result,
  migrations: { 1: toCents }
})

const OrderV3 = Definition.make("order", {
  version: 3,
  context: ContextV3,
  events,
  timers,
  result,
  migrations: {
    1: toCents,
    2: ({ context }) => ({ context: { cents: Number(context["cents"]), by: [], due: "1970-01-01T01:00:00.000Z" } })
  }
})

const LiveV1 = OrderV1.toLayer({
  Start: (step) => step.pipe(Step.advance("Paying"), OrderV1.armTimer("reminder", "1 day")),
  Touched: (step) => Step.updateContext(step, (context) => ({ ...context, by: [...context.by, "v1"] })),
  Ended: (step) => OrderV1.finish(step, undefined),
  timers: {
    reminder: (step) => Step.updateContext(step, (context) => ({ ...context, by: [...context.by, "timer 1"] }))
  }
})

const LiveV2 = OrderV2.toLayer({
  Start: (step) => Step.advance(step, "Payment.Waiting"),
  Touched: (step) => Step.updateContext(step, (context) => ({ ...context, by: [...context.by, "v2"] })),
  Ended: (step) => OrderV2.finish(step, { cents: step.context.cents }),
  timers: {
    reminder: (step) => Step.updateContext(step, (context) => ({ ...context, by: [...context.by, "timer 2"] }))
  }
})

const LiveV3 = OrderV3.toLayer({
  Start: (step) => Step.advance(step, "Payment.Waiting"),
  Touched: (step) => Step.updateContext(step, (context) => ({ ...context, by: [...context.by, "v3"] })),
  Ended: (step) => OrderV3.finish(step, { cents: step.context.cents }),
  timers: { reminder: (step) => step }
})

const loaded = (id: string) =>
  Effect.flatMap(ExecutionStore.ExecutionStore, (store) => Effect.flatMap(store.load(id), (found) => found))

const stored = (id: string) =>
  Effect.map(loaded(id), ({ activePath, context, definitionVersion, history, version }) => ({
    activePath,
    context,
    definitionVersion,
    history,
    version
  }))

const runtime = ExecutionRuntime.ExecutionRuntime

const idle = Effect.flatMap(runtime, ({ awaitIdle }) => awaitIdle)

const letters = Effect.flatMap(runtime, ({ deadLetters }) => deadLetters.list()).pipe(
  Effect.map(({ entries }) => entries)
)

/** Runs a program while a process has these definitions. */
const deployed =
  <E>(live: Layer.Layer<never, E, ExecutionRuntime.ExecutionRuntime>, options: ExecutionRuntime.CommonOptions = {}) =>
  <A, E2, R>(program: Effect.Effect<A, E2, R>) =>
    Effect.provide(program, Layer.provideMerge(live, ExecutionRuntime.layer(options)))

const start = Effect.zipRight(OrderV1.start("a", { total: "39.98", by: [] }), idle)

for (const [{ make, name }, named] of [...shareOfTests(stores, 0, 1), ...shareOfTests(servers, 0, 2)]) {
  const store = Layer.scoped(ExecutionStore.ExecutionStore, make)

  describe(named(`A new version of a definition on ${name}`), () => {
    it.effect("takes an execution on in the commit of its next event", () =>
      driven(
        Effect.gen(function* () {
          yield* deployed(LiveV1)(start)
          const before = yield* stored("a")
          assert.deepStrictEqual(before.definitionVersion, 1)
          yield* deployed(LiveV2)(Effect.zipRight(OrderV2.send("a", "Touched", {}), idle))
          assert.deepStrictEqual(yield* stored("a"), {
            activePath: "Payment.Waiting",
            context: { cents: 3998, by: ["v2"] },
            definitionVersion: 2,
            history: { "": "Payment", Payment: "Payment.Waiting" },
            version: before.version + 1
          })
        }).pipe(Effect.provide(store))
      )
    )

    it.effect("is led to through each version between, and reads the old ones without writing", () =>
      driven(
        Effect.gen(function* () {
          yield* deployed(LiveV1)(start)
          const before = yield* loaded("a")
          const context = { cents: 3998, by: [], due: new Date(3_600_000) }
          const got = yield* OrderV3.get("a")
          assert.deepStrictEqual(
            [got.definitionVersion, got.version, got.activePath, got.context, got.execution],
            [1, before.version, "Payment.Waiting", context, before]
          )
          const { invalid, items } = yield* OrderV3.list()
          assert.deepStrictEqual([items, invalid], [[got], []])
          assert.deepStrictEqual(yield* OrderV3.startOrGet("a", { ...context, cents: 1 }), got)
          assert.deepStrictEqual(yield* loaded("a"), before)
          yield* deployed(LiveV3)(Effect.zipRight(OrderV3.send("a", "Touched", {}), idle))
          const after = yield* OrderV3.get("a")
          assert.deepStrictEqual(
            [after.definitionVersion, after.version, after.context],
            [3, before.version + 1, { ...context, by: ["v3"] }]
          )
          assert.deepStrictEqual((yield* stored("a")).context, {
            ...context,
            by: ["v3"],
            due: context.due.toISOString()
          })
        }).pipe(Effect.provide(store))
      )
    )

    it.effect("waits for a process that has it: without an attempt, without a dead letter, and shown by health", () =>
      driven(
        Effect.gen(function* () {
          yield* OrderV3.start("a", { cents: 1, by: [], due: new Date(0) })
          const old = yield* Layer.build(Layer.provideMerge(LiveV2, ExecutionRuntime.layer({ maxAttempts: 2 })))
          yield* Effect.gen(function* () {
            yield* TestClock.adjust("10 seconds")
            assert.deepStrictEqual(yield* letters, [])
            const { unknownDefinitions } = yield* Effect.flatMap(runtime, ({ health }) => health)
            assert.deepStrictEqual(
              unknownDefinitions.map(({ definitionId, version }) => [definitionId, version]),
              [["order", 3]]
            )
            const { failures } = yield* Effect.flatMap(ExecutionStore.ExecutionStore, (store) => store.pendingOutbox())
            assert.deepStrictEqual(failures, [])
          }).pipe(Effect.provide(old))
          assert.strictEqual((yield* loaded("a")).status, "PENDING")
          yield* deployed(LiveV3)(idle)
          assert.strictEqual((yield* loaded("a")).activePath, "Payment.Waiting")
        }).pipe(Effect.scoped, Effect.provide(store))
      )
    )
  })
}

const inMemory = Effect.provide(MemoryStore.layer)

describe("Work for a version that is not there", () => {
  it.effect("counts as failed where that is asked for, and is a dead letter in the end", () =>
    Effect.gen(function* () {
      yield* OrderV3.start("a", { cents: 1, by: [], due: new Date(0) })
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(
        (yield* letters).map(({ executionId }) => executionId),
        ["a"]
      )
    }).pipe(deployed(LiveV2, { unknownDefinition: "fail", maxAttempts: 2 }), inMemory)
  )

  it.effect("waits where no migration leads on from an old version, and goes on when its handlers are there", () =>
    Effect.gen(function* () {
      const Pinned = Definition.make("order", { version: 3, context: ContextV3 })
      const PinnedLive = Pinned.toLayer({ Start: (step) => Step.advance(step, "Begun") })
      const running = yield* runtime
      yield* Effect.gen(function* () {
        yield* OrderV1.start("a", { total: "1", by: [] })
        yield* TestClock.adjust("1 minute")
        const { unknownDefinitions } = yield* running.health
        assert.deepStrictEqual(
          unknownDefinitions.map(({ definitionId, version }) => [definitionId, version]),
          [["order", 1]]
        )
        yield* Effect.scoped(
          Effect.gen(function* () {
            yield* Layer.build(LiveV1)
            yield* running.awaitIdle
            assert.deepStrictEqual((yield* running.health).unknownDefinitions, [])
          })
        )
        assert.strictEqual((yield* stored("a")).activePath, "Paying")
      }).pipe(Effect.provide(PinnedLive))
    }).pipe(Effect.provide(ExecutionRuntime.layer()), inMemory)
  )
})

describe("Versions side by side", () => {
  it.effect("run their own executions, each by its handlers", () =>
    Effect.gen(function* () {
      yield* OrderV1.start("a", { total: "1", by: [] })
      yield* OrderV2.start("b", { cents: 2, by: [] })
      yield* OrderV3.start("c", { cents: 3, by: [], due: new Date(0) })
      for (const id of ["a", "b", "c"]) yield* OrderV1.send(id, "Touched", {})
      yield* idle
      assert.deepStrictEqual((yield* stored("a")).context, { total: "1", by: ["v1"] })
      assert.deepStrictEqual((yield* stored("b")).context, { cents: 2, by: ["v2"] })
      assert.deepStrictEqual((yield* stored("c")).context, { cents: 3, by: ["v3"], due: "1970-01-01T00:00:00.000Z" })
    }).pipe(deployed(Layer.mergeAll(LiveV2, LiveV1, LiveV3)), inMemory)
  )

  it.effect("leave an execution of a version that is gone to the newest that migrates it", () =>
    Effect.gen(function* () {
      yield* OrderV1.start("a", { total: "1", by: [] })
      yield* idle
      assert.strictEqual((yield* stored("a")).definitionVersion, 3)
    }).pipe(deployed(Layer.mergeAll(LiveV3, LiveV2)), inMemory)
  )

  it.scoped("end with their layer: what it ran is migrated from then on", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      yield* Effect.flatMap(runtime, (running) =>
        Layer.buildWithScope(LiveV1, scope).pipe(Effect.provideService(runtime, running))
      )
      yield* start
      yield* Scope.close(scope, Exit.void)
      yield* OrderV1.send("a", "Touched", {})
      yield* idle
      assert.deepStrictEqual((yield* stored("a")).context, { cents: 3998, by: ["v2"] })
    }).pipe(deployed(LiveV2), inMemory)
  )

  it.effect("are refused where there are two of one", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(deployed(Layer.mergeAll(LiveV1, LiveV2, Layer.fresh(LiveV2)))(Effect.void))
      assert.deepStrictEqual(error, new DefinitionError.AlreadyRegistered({ definition: "order", version: 2 }))
      assert.include(error.message, 'version 2 of a definition "order"')
    }).pipe(inMemory)
  )

  it.effect("are refused beside a transition for all versions", () =>
    Effect.gen(function* () {
      const definitions = { order: () => Effect.dieMessage("it is not run") }
      const error = yield* Effect.flip(
        Effect.provide(Effect.void, Layer.provideMerge(LiveV2, ExecutionRuntime.layer({ definitions })))
      )
      assert.deepStrictEqual(error, new DefinitionError.AlreadyRegistered({ definition: "order", version: 2 }))
    }).pipe(inMemory)
  )
})

describe("What comes to an execution of an old version", () => {
  it.effect("is a timer: it is migrated in the commit of that", () =>
    Effect.gen(function* () {
      yield* deployed(LiveV1)(start)
      yield* deployed(LiveV2)(Effect.zipRight(TestClock.adjust("25 hours"), idle))
      const { context, definitionVersion } = yield* stored("a")
      assert.deepStrictEqual([definitionVersion, context], [2, { cents: 3998, by: ["timer 2"] }])
    }).pipe(inMemory)
  )

  it.effect("is its end: the result is of the new version, for whoever waits", () =>
    Effect.gen(function* () {
      yield* deployed(LiveV1)(start)
      yield* deployed(LiveV2)(Effect.zipRight(OrderV2.send("a", "Ended", {}), idle))
      assert.deepStrictEqual(yield* OrderV2.await("a"), { cents: 3998 })
    }).pipe(inMemory)
  )

  it.effect("is what the control plane does, which changes no version", () =>
    Effect.gen(function* () {
      yield* deployed(LiveV1)(start)
      yield* Effect.gen(function* () {
        const { control } = yield* runtime
        yield* control.suspend("a")
        assert.strictEqual((yield* loaded("a")).definitionVersion, 1)
        yield* control.cancel("a")
        yield* idle
      }).pipe(deployed(LiveV2))
      assert.deepStrictEqual((yield* loaded("a")).status, "CANCELLED")
      assert.deepStrictEqual((yield* OrderV2.get("a")).context, { cents: 3998, by: [] })
    }).pipe(inMemory)
  )

  it.effect("is the same where the transition is given to a processor", () =>
    Effect.gen(function* () {
      const order = OrderV2.toTransition({
        Start: (step) => step,
        Touched: (step) => Step.advance(step, "Touched"),
        Ended: (step) => step,
        timers: { reminder: (step) => step }
      })
      const { process } = yield* Processor.make({ definitions: { order } })
      yield* OrderV1.start("a", { total: "1", by: [] })
      yield* process("a", Event.make({ id: "t", kind: "Touched" }))
      assert.deepStrictEqual((yield* stored("a")).context, { cents: 100, by: [] })
      yield* OrderV3.start("b", { cents: 1, by: [], due: new Date(0) })
      const error = yield* Effect.flip(process("b", Event.make({ id: "t", kind: "Touched" })))
      assert.strictEqual(
        error.message,
        'execution "b" is of version 3 of definition "order", and this process has 2: deploy that version here, too'
      )
    }).pipe(inMemory)
  )
})

describe("A child", () => {
  const PartV2 = Definition.make("part", {
    version: 2,
    context: Schema.Struct({ item: Schema.String }),
    migrations: { 1: () => ({ context: { item: "migrated" } }) }
  })
  const Whole = Definition.make("whole", { context: Schema.Struct({}), children: { Part: PartV2 } })

  it.effect("is of the version for which its input was encoded", () =>
    Effect.gen(function* () {
      yield* Whole.start("a", {})
      yield* idle
      const child = yield* loaded("a:Part:0")
      assert.deepStrictEqual([child.definitionVersion, child.context], [2, { item: "lamp" }])
    }).pipe(
      deployed(
        Layer.mergeAll(
          Whole.toLayer({
            Start: (step) => Whole.spawn(step, "Part", { item: "lamp" }),
            children: { Part: (step) => step }
          }),
          PartV2.toLayer({ Start: (step) => Step.advance(step, "Begun") })
        )
      ),
      inMemory
    )
  )

  it.effect("without a definition of its own is of the version of its parent", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore.ExecutionStore
      const region = { childId: "a:R:0", rootPath: "R", context: {} }
      yield* store.commit(Execution.make({ id: "a", definitionId: "order", definitionVersion: 7 }), {
        spawns: [region]
      })
      yield* Effect.provide(
        Effect.zipRight(idle, Effect.void),
        ExecutionRuntime.layer({ definitions: { order: (execution) => Effect.succeed({ execution }) } })
      )
      assert.strictEqual((yield* loaded("a:R:0")).definitionVersion, 7)
    }).pipe(inMemory)
  )
})

describe("A migration that fails", () => {
  const broken = (n: { works: boolean }) =>
    Definition.make("order", {
      version: 2,
      context: ContextV2,
      events,
      timers,
      migrations: {
        1: (old) => {
          if (!n.works) throw new Error("no such currency")
          return toCents(old)
        }
      }
    })

  const handlers = {
    Start: (step: Step.Builder<typeof ContextV2.Type>) => step,
    Touched: (step: Step.Builder<typeof ContextV2.Type>) => Step.advance(step, "Touched"),
    Ended: (step: Step.Builder<typeof ContextV2.Type>) => step,
    timers: { reminder: (step: Step.Builder<typeof ContextV2.Type>) => step }
  }

  const failure = new ProcessorError.MigrationFailed({
    executionId: "a",
    eventId: "t",
    definitionId: "order",
    from: 1,
    to: 2,
    path: "",
    problem: "Error: no such currency"
  })

  const policies: ReadonlyArray<Definition.ImplementationOptions<never, never>["onFailure"]> = [
    "retry",
    "fail",
    () => "fail"
  ]
  for (const onFailure of policies) {
    it.effect(`keeps the event under the policy ${String(onFailure)}, and lets it go on when it works`, () =>
      Effect.gen(function* () {
        const switched = { works: false }
        const Order = broken(switched)
        yield* deployed(LiveV1)(start)
        yield* Effect.gen(function* () {
          yield* Order.send("a", "Touched", {}, { id: "t" })
          yield* TestClock.adjust("1 second")
          const { failures } = yield* Effect.flatMap(ExecutionStore.ExecutionStore, (store) => store.pendingOutbox())
          assert.deepStrictEqual(
            failures.map(({ error }) => error.includes(failure.message)),
            [true]
          )
          assert.strictEqual((yield* loaded("a")).status, "RUNNING")
          switched.works = true
          yield* TestClock.adjust("1 hour")
          yield* idle
          const { activePath, definitionVersion } = yield* stored("a")
          assert.deepStrictEqual([activePath, definitionVersion], ["Touched", 2])
        }).pipe(deployed(Order.toLayer(handlers, { onFailure })))
      }).pipe(inMemory)
    )
  }

  it.effect("makes the event a dead letter in the end, which can be redriven", () =>
    Effect.gen(function* () {
      const switched = { works: false }
      const Order = broken(switched)
      yield* deployed(LiveV1)(start)
      yield* Effect.gen(function* () {
        yield* Order.send("a", "Touched", {}, { id: "t" })
        yield* TestClock.adjust("1 hour")
        const [letter, ...more] = yield* letters
        assert.deepStrictEqual(more, [])
        assert.include(letter?.error, failure.message)
        switched.works = true
        yield* Effect.flatMap(runtime, ({ deadLetters }) => deadLetters.redrive(letter?.id ?? 0))
        yield* TestClock.adjust("1 hour")
        yield* idle
        assert.strictEqual((yield* stored("a")).activePath, "Touched")
      }).pipe(deployed(Order.toLayer(handlers), { maxAttempts: 2 }))
    }).pipe(inMemory)
  )

  it.effect("is a failure that a policy can answer with a step", () =>
    Effect.gen(function* () {
      const Order = broken({ works: false })
      const errors: Array<unknown> = []
      const options: Definition.ImplementationOptions<never, never> = {
        onFailure: (error, execution) => {
          errors.push(error)
          return { execution: { ...execution, activePath: "Stuck" } }
        }
      }
      const order = Order.toTransition(handlers, options)
      const { process } = yield* Processor.make({ definitions: { order } })
      yield* OrderV1.start("a", { total: "1", by: [] })
      yield* process("a", Event.make({ id: "t", kind: "Touched" }))
      assert.deepStrictEqual(
        errors.map((error) => (error instanceof ProcessorError.MigrationFailed ? error.message : error)),
        [failure.message]
      )
      const { activePath, context, definitionVersion } = yield* stored("a")
      assert.deepStrictEqual([activePath, context, definitionVersion], ["Stuck", { total: "1", by: [] }, 1])
    }).pipe(inMemory)
  )

  // what a caller without types could give
  const wrong: ReadonlyArray<
    readonly [migration: Definition.Migration<{ cents: number; by: ReadonlyArray<string> }>, problem: string]
  > = [
    [toCents, ": it is none of the old version: Expected string, actual 1"],
    [() => ({ context: JSON.parse('{"cents":"x","by":[]}') }), 'Expected number, actual "x"'],
    [() => JSON.parse("null"), "the migration must return an object with a JSON object as `context`"],
    [() => JSON.parse('{"context":[]}'), "the migration must return an object with a JSON object as `context`"],
    [() => ({ context: { cents: 1, by: [] }, path: JSON.parse("1") }), "the migration returned no text as `path`"],
    [Definition.migration({ to: ContextV2, migrate: () => ({ context: JSON.parse('{"cents":1}') }) }), "is missing"]
  ]
  for (const [migration, problem] of wrong) {
    it.effect(`says what is wrong: ${problem}`, () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore.ExecutionStore
        const Order = Definition.make("order", {
          version: 2,
          context: ContextV2,
          events,
          timers,
          migrations: { 1: migration }
        })
        yield* store.save(Execution.make({ id: "a", definitionId: "order", context: { total: 1 } }))
        const order = Order.toTransition(handlers)
        const { process } = yield* Processor.make({ definitions: { order } })
        const error = yield* Effect.flip(process("a", Event.make({ id: "t", kind: "Touched" })))
        assert.strictEqual(error._tag, "MigrationFailed")
        const [read, ...more] = (yield* Order.list()).invalid
        assert.deepStrictEqual([yield* Effect.flip(Order.get("a")), more], [read, []])
        for (const message of [error.message, read?.message]) assert.include(message, problem)
      }).pipe(inMemory)
    )
  }
})

describe("A client", () => {
  it.effect("says of an execution of another version why it cannot read it, and reads the others", () =>
    Effect.gen(function* () {
      const Pinned = Definition.make("order", { version: 3, context: ContextV3 })
      yield* OrderV1.start("a", { total: "1", by: [] })
      yield* OrderV2.start("b", { cents: 2, by: [] })
      yield* OrderV3.start("c", { cents: 3, by: [], due: new Date(0) })
      const { invalid, items } = yield* OrderV2.list()
      assert.deepStrictEqual(
        items.map(({ context, id }) => [id, context]),
        [
          ["a", { cents: 100, by: [] }],
          ["b", { cents: 2, by: [] }]
        ]
      )
      assert.deepStrictEqual(
        invalid.map(({ executionId, problem }) => [executionId, problem]),
        [["c", "it is of version 3 of the definition, and this is version 2"]]
      )
      const error = yield* Effect.flip(Pinned.get("a"))
      assert.include(
        error.message,
        "it is of version 1 of the definition, and this is version 3, to which no migration leads from there"
      )
    }).pipe(inMemory)
  )

  it.effect("reads the result of an execution that another version ended", () =>
    Effect.gen(function* () {
      yield* deployed(LiveV3)(
        Effect.gen(function* () {
          yield* OrderV3.start("a", { cents: 3, by: [], due: new Date(0) })
          yield* OrderV3.send("a", "Ended", {})
          yield* idle
        })
      )
      assert.deepStrictEqual(yield* OrderV2.await("a"), { cents: 3 })
    }).pipe(inMemory)
  )
})

describe("The versions of a definition", () => {
  const context = Schema.Struct({})
  const migration = () => ({ context: {} })
  const made = (version: number, migrations: Definition.Migrations<number, object>) =>
    Definition.make("order", { context, version, migrations })
  const wrong: ReadonlyArray<readonly [make: () => Definition.Any, problem: string]> = [
    [() => Definition.make("order", { context, version: 0 }), "its version must be a whole number from 1 on, and is 0"],
    [
      () => Definition.make("order", { context, version: 1.5 }),
      "its version must be a whole number from 1 on, and is 1.5"
    ],
    [
      () => Definition.make("order", { context, version: JSON.parse('"2"') }),
      "its version must be a whole number from 1 on, and is 2"
    ],
    [() => made(2, { 2: migration }), "there is a migration from version 2, which is none before version 2"],
    [() => made(2, { 0: migration }), "there is a migration from version 0, which is none before version 2"],
    [() => made(3, { 1: migration }), "there is no migration from version 2, and one from version 1"],
    [() => made(2, { 1: JSON.parse("{}") }), "the migration from version 1 is no function"]
  ]
  for (const [make, problem] of wrong) {
    it(`are refused: ${problem}`, () => {
      assert.throws(make, `definition order: ${problem}`)
    })
  }

  it("need no migrations from those that are done with", () => {
    assert.strictEqual(Definition.make("order", { context, version: 3, migrations: { 2: migration } }).version, 3)
    assert.strictEqual(Definition.make("order", { context, version: 3 }).version, 3)
  })

  it.effect.prop(
    "lead anywhere as one migration after the other does, and reading gives what a step commits",
    {
      steps: FastCheck.array(
        FastCheck.record({ add: FastCheck.integer(), path: FastCheck.option(FastCheck.string()) }),
        {
          minLength: 1,
          maxLength: 5
        }
      ),
      from: FastCheck.nat(4),
      n: FastCheck.integer()
    },
    ({ from, n, steps }) =>
      Effect.gen(function* () {
        const first = Math.min(steps.length, from + 1)
        const Counter = Definition.make("counter", {
          version: steps.length + 1,
          context: Schema.Struct({ n: Schema.Number, seen: Schema.Array(Schema.Number) }),
          events: { Go: Schema.Struct({}) },
          migrations: Object.fromEntries(
            steps.map(({ add, path }, i): readonly [string, Definition.Migration] => [
              String(i + 1),
              ({ context }) => ({
                context: { n: Number(context["n"]) + add, seen: [...Array.from(Object(context["seen"])), i + 1] },
                path: path ?? undefined
              })
            ])
          )
        })
        const store = yield* ExecutionStore.ExecutionStore
        yield* store.save(
          Execution.make({
            id: "a",
            definitionId: "counter",
            definitionVersion: first,
            activePath: "P",
            context: { n, seen: [] }
          })
        )
        const run = steps.slice(first - 1)
        const read = yield* Counter.get("a")
        assert.deepStrictEqual(read.context, {
          n: run.reduce((sum, { add }) => sum + add, n),
          seen: run.map((_, i) => first + i)
        })
        assert.strictEqual(read.activePath, run.findLast(({ path }) => path !== null)?.path ?? "P")
        const counter = Counter.toTransition({ Start: (step) => step, Go: (step) => step })
        const { process } = yield* Processor.make({ definitions: { counter } })
        const processed = yield* Effect.either(process("a", Event.make({ id: "go", kind: "Go" })))
        assert.isTrue(Either.isRight(processed))
        const after = yield* Counter.get("a")
        assert.deepStrictEqual([after.context, after.activePath], [read.context, read.activePath])
        assert.deepStrictEqual([after.definitionVersion, after.version], [steps.length + 1, 2])
        assert.deepStrictEqual(
          Option.map(yield* store.load("a"), ({ context }) => context),
          Option.some(read.context)
        )
      }).pipe(inMemory),
    { fastCheck: { numRuns: 50 } }
  )
})
