import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
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
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as MemoryStore from "holdfast/MemoryStore"
import * as Processor from "holdfast/Processor"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Step from "holdfast/Step"
import { Declined, Order, OrderLive, Shipment, ShipmentLive } from "../support/order.js"
import { shareOfTests } from "../support/extent.js"
import { servers } from "../support/servers.js"
import * as Temp from "../support/temp.js"
import { driven, stores } from "../support/workers.js"

const Live = Layer.mergeAll(OrderLive, ShipmentLive).pipe(Layer.provideMerge(ExecutionRuntime.layer()))

const idle = Effect.flatMap(ExecutionRuntime.ExecutionRuntime, (runtime) => runtime.awaitIdle)

const letters = Effect.flatMap(ExecutionRuntime.ExecutionRuntime, (runtime) => runtime.deadLetters.list()).pipe(
  Effect.map(({ entries }) => entries.map(({ error, executionId, reason }) => ({ error, executionId, reason })))
)

const files = [
  {
    name: "an SQLite file",
    make: Effect.flatMap(Temp.database, (filename) => SqliteStore.make({ filename }))
  },
  {
    name: "a libSQL file",
    make: Effect.flatMap(Temp.database, (filename) =>
      Effect.map(LibsqlStore.make({ url: `file:${filename}` }), ({ store }) => store)
    )
  }
]

for (const [{ make, name }, named] of [...shareOfTests([...stores, ...files], 0, 1), ...shareOfTests(servers, 0, 2)]) {
  const store = Layer.scoped(ExecutionStore.ExecutionStore, make)
  const withOrders = <A, E>(
    effect: Effect.Effect<A, E, ExecutionRuntime.ExecutionRuntime | ExecutionStore.ExecutionStore>
  ) => driven(Effect.provide(effect, Layer.provideMerge(Live, store)))

  describe(named(`A definition on ${name}`), () => {
    it.effect("takes an execution to its result, through its children", () =>
      withOrders(
        Effect.gen(function* () {
          const started = yield* Order.start("order-17", { items: ["lamp", "chair"], total: 10 })
          assert.deepStrictEqual(started.context, { items: ["lamp", "chair"], total: 10 })
          yield* Order.send("order-17", "Paid", { amount: 10, at: new Date(5) })
          yield* idle
          const waiting = yield* Order.get("order-17")
          assert.deepStrictEqual([waiting.activePath, waiting.result], ["Shipping", Option.none()])
          assert.deepStrictEqual(waiting.context.paidAt, new Date(5))
          const wait = yield* Effect.fork(Order.await("order-17"))
          const { items } = yield* Shipment.list()
          assert.deepStrictEqual(
            items.map(({ context, id }) => [id, context]),
            [
              ["order-17:Shipping:0", { item: "lamp" }],
              ["order-17:Shipping:1", { item: "chair" }]
            ]
          )
          for (const { id } of items) yield* Shipment.send(id, "Delivered", { tracking: `t-${id}` })
          const result = yield* wait
          assert.deepStrictEqual(result, { tracking: ["t-order-17:Shipping:0", "t-order-17:Shipping:1"] })
          assert.deepStrictEqual((yield* Order.get("order-17")).result, Option.some(result))
          assert.deepStrictEqual(yield* Order.run("order-17", { items: [], total: 0 }), result)
        })
      )
    )

    it.effect("fails with its own error, which is there until it is redriven", () =>
      withOrders(
        Effect.gen(function* () {
          const { control } = yield* ExecutionRuntime.ExecutionRuntime
          const declined = new Declined({ reason: "no money" })
          yield* Order.start("a", { items: [], total: 1 })
          yield* Order.send("a", "Decline", { reason: "no money" })
          assert.deepStrictEqual(yield* Effect.flip(Order.await("a")), declined)
          const failed = yield* Order.get("a")
          assert.deepStrictEqual([failed.status, failed.failure], ["FAILED", Option.some(declined)])
          assert.include(failed.error, "Declined")
          yield* control.redrive("a")
          const redriven = yield* Order.get("a")
          assert.deepStrictEqual([redriven.status, redriven.failure, redriven.error], ["RUNNING", Option.none(), null])
        })
      )
    )

    it.effect("starts many at once, and says which were there", () =>
      withOrders(
        Effect.gen(function* () {
          const ids = Array.from({ length: 300 }, (_, i) => `many-${i}`)
          yield* Order.start("many-7", { items: [], total: 1 })
          const many = yield* Order.startMany(ids.map((id) => ({ id, input: { items: [], total: 2 } })))
          assert.deepStrictEqual(many.existing, ["many-7"])
          assert.deepStrictEqual(many.started.length, 299)
          assert.deepStrictEqual((yield* Order.get("many-7")).context.total, 1)
          assert.deepStrictEqual((yield* Order.get("many-299")).context.total, 2)
        })
      )
    )
  })
}

const [memory] = stores
const Memory = Layer.scoped(ExecutionStore.ExecutionStore, memory?.make ?? Effect.die("no store"))
const inMemory = Effect.provide(Layer.provideMerge(Live, Memory))

describe("Waiting for the end", () => {
  it.effect("ends where the execution is cancelled by a timer of its own", () =>
    Effect.gen(function* () {
      yield* Order.start("a", { items: [], total: 1 })
      yield* idle
      const wait = yield* Effect.fork(Effect.flip(Order.await("a")))
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(
        yield* wait,
        new DefinitionError.ExecutionCancelled({ executionId: "a", outcome: "unpaid" })
      )
    }).pipe(inMemory)
  )

  it.effect("fails where there is no execution, where it is purged meanwhile, and where it is another's", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore.ExecutionStore
      assert.deepStrictEqual(
        yield* Effect.flip(Order.await("a")),
        new DefinitionError.ExecutionMissing({ executionId: "a" })
      )
      const { version } = yield* store.save(Execution.make({ id: "a", definitionId: "order" }))
      const wait = yield* Effect.fork(Effect.flip(Order.await("a")))
      yield* TestClock.adjust(0)
      yield* store.purge("a", version)
      assert.deepStrictEqual(yield* wait, new DefinitionError.ExecutionMissing({ executionId: "a" }))
      yield* store.save(Execution.make({ id: "b", definitionId: "else", status: "DONE" }))
      assert.deepStrictEqual(
        yield* Effect.flip(Order.await("b")),
        new DefinitionError.OtherDefinition({ executionId: "b", expected: "order", found: "else" })
      )
    }).pipe(inMemory)
  )

  it.scoped("sees what another process writes, looking less and less often", () =>
    Effect.gen(function* () {
      const store = yield* memory?.make ?? Effect.die("no store")
      let loads = 0
      const other: ExecutionStore.ExecutionStore = {
        ...store,
        exclusive: false,
        listen: () => Effect.void,
        load: (id) =>
          Effect.suspend(() => {
            loads++
            return store.load(id)
          })
      }
      const saved = yield* store.save(Execution.make({ id: "a", definitionId: "order" }))
      const wait = yield* Effect.fork(
        Order.await("a").pipe(Effect.provideService(ExecutionStore.ExecutionStore, other))
      )
      yield* TestClock.adjust("1 hour")
      assert.isBelow(loads, 740)
      yield* store.save({ ...saved, status: "DONE", result: { tracking: ["t"] } })
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* wait, { tracking: ["t"] })
    })
  )

  it.effect("tells a result that does not decode from one that does", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore.ExecutionStore
      yield* store.save(
        Execution.make({ id: "a", definitionId: "order", status: "DONE", result: { tracking: ["t", 5] } })
      )
      const error = yield* Effect.flip(Order.await("a"))
      assert.instanceOf(error, DefinitionError.StoredInvalid)
      assert.strictEqual(
        error.message,
        'the result of execution "a" does not decode by definition "order" at tracking[1]: Expected string, actual 5'
      )
    }).pipe(inMemory)
  )
})

describe("What is not of the definition", () => {
  it.effect("is refused before anything is written, by its path", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore.ExecutionStore
      const refused = yield* Effect.flip(Order.start("a", { items: ["lamp"], total: Number.NaN }).pipe(Effect.asVoid))
      assert.strictEqual(refused._tag, "StoreRejected")
      const Positive = Definition.make("positive", {
        context: Schema.Struct({ lines: Schema.Array(Schema.Struct({ count: Schema.Positive })) }),
        events: { Add: Schema.Struct({ count: Schema.Positive }) }
      })
      const start = yield* Effect.flip(Positive.start("p", { lines: [{ count: 1 }, { count: -1 }] }))
      assert.strictEqual(
        start.message,
        'start of execution "p" (positive) is refused: the input is wrong at lines[1].count: Expected a positive number, actual -1'
      )
      const many = yield* Effect.flip(
        Positive.startMany([
          { id: "q", input: { lines: [] } },
          { id: "r", input: { lines: [{ count: 0 }] } }
        ])
      )
      assert.strictEqual(many._tag, "InvalidInput")
      const send = yield* Effect.flip(Positive.send("p", "Add", { count: 0 }))
      assert.include(
        send.message,
        'send of execution "p" (positive) is refused: the payload of event Add is wrong at count'
      )
      const after = { after: Number.POSITIVE_INFINITY }
      const delayed = yield* Effect.flip(Positive.send("p", "Add", { count: 1 }, after))
      assert.include(delayed.message, "the delay is wrong at after: expected a finite duration")
      assert.deepStrictEqual((yield* store.listExecutions()).items, [])
      assert.deepStrictEqual((yield* store.pendingOutbox()).entries, [])
    }).pipe(inMemory)
  )

  it.effect("is a dead letter at once when it is delivered, and what comes after it goes on", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore.ExecutionStore
      yield* Order.start("a", { items: [], total: 1 })
      const events = [
        Event.make({ id: "e1", kind: "Paid", data: { amount: "ten" } }),
        Event.make({ id: "e2", kind: "Shipped" }),
        Event.make({ id: "e3", kind: "Decline", data: { reason: "late" } })
      ]
      yield* store.enqueue(events.map((event) => ({ targetId: "a", event })))
      yield* idle
      assert.deepStrictEqual(yield* letters, [
        {
          executionId: "a",
          reason: "rejected",
          error:
            'event "e1" cannot take execution "a" on: the payload of event "Paid" does not decode by definition "order" at amount: Expected number, actual "ten"'
        },
        {
          executionId: "a",
          reason: "rejected",
          error:
            'event "e2" cannot take execution "a" on: the event "Shipped" does not decode by definition "order": the definition does not name it'
        }
      ])
      assert.strictEqual((yield* Order.get("a")).status, "FAILED")
    }).pipe(inMemory)
  )

  it.effect("is consumed where the definition ignores it", () => {
    const Lax = Definition.make("lax", { context: Schema.Struct({}), onUnknownEvent: "ignore" })
    const LaxLive = Lax.toLayer({ Start: (step) => Step.advance(step, "Here") })
    return Effect.gen(function* () {
      const store = yield* ExecutionStore.ExecutionStore
      yield* Lax.start("a", {})
      yield* store.enqueue([{ targetId: "a", event: Event.make({ id: "e", kind: "Whatever" }) }])
      yield* idle
      assert.deepStrictEqual(yield* letters, [])
      assert.isTrue(yield* store.isProcessed("a", "e"))
    }).pipe(Effect.provide(LaxLive.pipe(Layer.provideMerge(ExecutionRuntime.layer()), Layer.provideMerge(Memory))))
  })

  it.effect("shows in a listing by itself, beside what decodes", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore.ExecutionStore
      yield* Order.start("a", { items: [], total: 1 })
      yield* store.save(Execution.make({ id: "b", definitionId: "order", context: { items: "none", total: 1 } }))
      const page = yield* Order.list()
      assert.deepStrictEqual(
        page.items.map(({ id }) => id),
        ["a"]
      )
      assert.deepStrictEqual(
        page.invalid.map(({ executionId, path }) => [executionId, path]),
        [["b", "items"]]
      )
    }).pipe(inMemory)
  )

  it.effect("ends no execution where a handler writes it, and is said to be the step's", () => {
    const Wrong = Definition.make("wrong", {
      context: Schema.Struct({ n: Schema.Positive }),
      events: { Result: Schema.Struct({}), Context: Schema.Struct({}) },
      result: Schema.Positive
    })
    const transition = Wrong.toTransition({
      Start: (step) => step,
      Result: (step) => Wrong.finish(step, -1),
      Context: (step) => Step.updateContext(step, () => ({ n: 0 }))
    })
    return Effect.gen(function* () {
      const store = yield* ExecutionStore.ExecutionStore
      const { process } = yield* Processor.make({ definitions: { wrong: transition } })
      yield* Wrong.start("a", { n: 1 })
      const result = yield* Effect.flip(process("a", Event.make({ id: "r", kind: "Result" })))
      assert.strictEqual(
        result.message,
        'definition "wrong" took execution "a" at event "r" to a step whose result does not encode: Expected a positive number, actual -1'
      )
      const context = yield* Effect.flip(process("a", Event.make({ id: "c", kind: "Context" })))
      assert.strictEqual(context._tag, "ContextInvalid")
      assert.deepStrictEqual(
        Option.map(yield* store.load("a"), ({ status, version }) => [status, version]),
        Option.some(["PENDING", 1])
      )
    }).pipe(Effect.provide(Memory))
  })
})

describe("Registering", () => {
  it.effect("fails where the runtime has a definition of this name", () =>
    Effect.gen(function* () {
      const twice = Layer.mergeAll(ShipmentLive, Layer.fresh(ShipmentLive)).pipe(
        Layer.provideMerge(ExecutionRuntime.layer()),
        Layer.provideMerge(Memory)
      )
      const exit = yield* Effect.exit(Effect.provide(Effect.void, twice))
      assert.deepStrictEqual(
        exit,
        Exit.fail(new DefinitionError.AlreadyRegistered({ definition: "shipment", version: 1 }))
      )
    })
  )

  it.scoped("lets go on at once what waited for the definition, and lets it wait again when it is released", () =>
    Effect.gen(function* () {
      const runtime = yield* ExecutionRuntime.ExecutionRuntime
      yield* Shipment.start("a", { item: "lamp" })
      yield* TestClock.adjust("2 hours")
      assert.deepStrictEqual(yield* letters, [])
      assert.strictEqual((yield* Shipment.get("a")).status, "PENDING")
      const scope = yield* Scope.make()
      const register = Layer.buildWithScope(ShipmentLive, scope).pipe(
        Effect.provideService(ExecutionRuntime.ExecutionRuntime, runtime)
      )
      yield* register
      yield* runtime.awaitIdle
      assert.strictEqual((yield* Shipment.get("a")).status, "RUNNING")
      yield* Scope.close(scope, Exit.void)
      yield* Shipment.send("a", "Delivered", { tracking: "t" })
      yield* TestClock.adjust("2 hours")
      assert.deepStrictEqual(yield* letters, [])
      assert.strictEqual((yield* Shipment.get("a")).status, "RUNNING")
    }).pipe(Effect.provide(ExecutionRuntime.layer().pipe(Layer.provideMerge(Memory))))
  )
})

describe("What does not implement a definition", () => {
  const Both = Definition.make("both", {
    context: Schema.Struct({}),
    events: { Go: Schema.Struct({}) },
    timers: ["pay"],
    children: { part: Definition.make("part", { context: Schema.Struct({}) }) }
  })
  const whole = Both.of({
    Start: (step) => step,
    Go: (step) => step,
    timers: { pay: (step) => step },
    children: { part: (step) => step }
  })
  type Handlers = typeof whole
  type Options = Definition.ImplementationOptions<never, never>
  // what a caller without types could pass
  const wrong: ReadonlyArray<readonly [handlers: Handlers, options: Options, problem: string]> = [
    [JSON.parse("{}"), {}, "there is no handler for Start, Go, timers.pay, children.part"],
    [JSON.parse("null"), {}, "there is no handler for Start, Go, timers.pay, children.part"],
    [JSON.parse("5"), {}, "there is no handler for Start, Go, timers.pay, children.part"],
    [Object.assign({}, whole, { timers: JSON.parse("[]") }), {}, "there is no handler for timers.pay"],
    [Object.assign({}, whole, { Go: undefined }), {}, "there is no handler for Go"],
    [whole, JSON.parse('{"onFailure":"drop"}'), 'onFailure: expected one of "retry", "fail", or a function']
  ]
  for (const [handlers, options, problem] of wrong) {
    it.effect(`fails its layer: ${problem}`, () =>
      Effect.gen(function* () {
        const built = Layer.build(Layer.provide(Both.toLayer(handlers, options), ExecutionRuntime.layer()))
        const error = yield* Effect.flip(Effect.scoped(built))
        assert.deepStrictEqual(error, new DefinitionError.InvalidImplementation({ definition: "both", problem }))
        assert.strictEqual(error.message, `definition "both" cannot be implemented so: ${problem}`)
        assert.throws(() => Both.toTransition(handlers, options), error.message)
      }).pipe(Effect.provide(MemoryStore.layer))
    )
  }
})
