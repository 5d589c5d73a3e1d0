import { assert, describe, expectTypeOf, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Definition from "holdfast/Definition"
import * as Execution from "holdfast/Execution"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import * as Step from "holdfast/Step"
import { shareOfTests } from "../support/extent.js"
import { servers } from "../support/servers.js"
import { driven, stores } from "../support/workers.js"

const Parcel = Definition.make("parcel", {
  context: Schema.Struct({ street: Schema.String }),
  attributes: { street: ({ street }) => street }
})

const Order = Definition.make("order", {
  context: Schema.Struct({
    customer: Schema.String,
    due: Schema.Date,
    total: Schema.Number,
    channel: Schema.optional(Schema.Literal("web", "shop"))
  }),
  events: { Moved: Schema.Struct({ customer: Schema.String }), Looked: Schema.Struct({}), Shipped: Schema.Struct({}) },
  children: { Parcel },
  attributes: {
    customer: (order) => order.customer,
    due: (order) => order.due.getTime(),
    large: (order) => order.total > 100,
    channel: (order) => order.channel
  }
})

const Live = Layer.merge(
  Parcel.toLayer({ Start: (step) => step }),
  Order.toLayer({
    Start: (step) => Step.advance(step, "Open"),
    Moved: (step, { customer }) => Step.updateContext(step, (context) => ({ ...context, customer })),
    Looked: (step) => step,
    Shipped: (step) => Order.spawn(step, "Parcel", { street: step.context.customer }),
    children: { Parcel: (step) => step }
  })
)

const order = (customer: string, total = 1) => ({ customer, due: new Date(5), total })

const idle = Effect.flatMap(ExecutionRuntime.ExecutionRuntime, (runtime) => runtime.awaitIdle)
const store = ExecutionStore.ExecutionStore
const of = (id: string) => Effect.flatMap(store, ({ attributes }) => attributes.of(id))
const set = (id: string, attributes: Execution.Attributes) =>
  Effect.flatMap(store, (store) =>
    Effect.flatMap(store.load(id), (found) => store.attributes.set(id, Option.getOrThrow(found).version, attributes))
  )

const idsOf = (page: Definition.InstancePage<Definition.SpecOf<typeof Order>>) => page.items.map(({ id }) => id)

/** What does not compile must not run either. */
const never = (_: () => unknown): void => {}

for (const [{ make, name }, named] of [...shareOfTests(stores, 0, 1), ...shareOfTests(servers, 1, 2)]) {
  const withOrders = <A, E>(
    effect: Effect.Effect<A, E, ExecutionRuntime.ExecutionRuntime | ExecutionStore.ExecutionStore>
  ) =>
    driven(
      Effect.provide(
        effect,
        Live.pipe(Layer.provideMerge(ExecutionRuntime.layer()), Layer.provideMerge(Layer.scoped(store, make)))
      )
    )

  describe(named(`Attributes of a definition on ${name}`), () => {
    it.effect("are written when an execution starts, by each step, and for children from the beginning", () =>
      withOrders(
        Effect.gen(function* () {
          yield* Order.start("a", order("c-1", 200))
          assert.deepStrictEqual(yield* of("a"), { customer: "c-1", due: 5, large: true })
          yield* Order.startMany([
            { id: "b", input: { ...order("c-1"), channel: "web" } },
            { id: "c", input: order("c-2") }
          ])
          assert.deepStrictEqual(idsOf(yield* Order.list({ where: { customer: "c-1" } })), ["a", "b"])
          assert.deepStrictEqual(idsOf(yield* Order.list({ where: { channel: "web", customer: "c-1" } })), ["b"])
          assert.strictEqual(yield* Order.count({ where: { large: false } }), 2)
          assert.strictEqual(yield* Order.count(), 3)

          yield* Order.send("a", "Moved", { customer: "c-2" })
          yield* Order.send("a", "Shipped", {})
          yield* idle
          assert.deepStrictEqual(idsOf(yield* Order.list({ where: { customer: "c-2" }, status: ["RUNNING"] })), [
            "a",
            "c"
          ])
          const { items } = yield* Parcel.list({ where: { street: "c-2" } })
          assert.deepStrictEqual(
            items.map(({ id }) => id),
            ["a:Parcel:0"]
          )
        })
      )
    )

    it.effect("are made anew page by page, without a new version, and heal with the next step", () =>
      withOrders(
        Effect.gen(function* () {
          yield* Order.startMany(["a", "b", "c", "d"].map((id) => ({ id, input: order(id) })))
          yield* idle
          for (const id of ["a", "b", "c"]) yield* set(id, { customer: "x", old: 1 })
          const before = yield* Order.get("a")

          const dry = yield* Order.reindex({ limit: 2, dryRun: true })
          assert.deepStrictEqual([dry.read, dry.changed, Option.isSome(dry.nextCursor)], [2, ["a", "b"], true])
          assert.deepStrictEqual(yield* of("a"), { customer: "x", old: 1 })
          yield* Order.reindex({ limit: 2 })
          assert.deepStrictEqual(yield* of("a"), { customer: "a", due: 5, large: false })
          assert.deepStrictEqual(yield* of("c"), { customer: "x", old: 1 })
          const last = yield* Order.reindex({ limit: 2, cursor: Option.getOrThrow(dry.nextCursor) })
          assert.deepStrictEqual([last.changed, last.nextCursor], [["c"], Option.none()])
          assert.deepStrictEqual((yield* Order.reindex()).changed, [])
          assert.strictEqual((yield* Order.get("a")).version, before.version)

          yield* set("d", {})
          yield* Order.send("d", "Looked", {})
          yield* idle
          assert.deepStrictEqual(yield* of("d"), { customer: "d", due: 5, large: false })
        })
      )
    )
  })
}

describe("Attributes of a definition", () => {
  const Odd = Definition.make("odd", {
    context: Schema.Struct({ n: Schema.Number, text: Schema.String }),
    events: { Set: Schema.Struct({ n: Schema.Number }) },
    attributes: {
      half: ({ n }) => {
        if (n === 13) throw new Error("unlucky")
        return n / 2
      },
      text: ({ text }) => text
    }
  })
  const OddLive = Odd.toLayer({
    Start: (step) => step,
    Set: (step, { n }) => Step.updateContext(step, (context) => ({ ...context, n }))
  })
  const run = <A, E>(effect: Effect.Effect<A, E, ExecutionRuntime.ExecutionRuntime | ExecutionStore.ExecutionStore>) =>
    driven(
      Effect.provide(
        effect,
        OddLive.pipe(
          Layer.provideMerge(ExecutionRuntime.layer({ maxAttempts: 1 })),
          Layer.provideMerge(MemoryStore.layer)
        )
      )
    )

  it.effect("that cannot be made are refused at the start, with their name", () =>
    run(
      Effect.gen(function* () {
        for (const [n, problem] of [
          [13, "unlucky"],
          [Number.POSITIVE_INFINITY, "found Infinity"]
        ] as const) {
          const error = yield* Effect.flip(Odd.start("a", { n, text: "" }))
          assert.deepInclude(error, { _tag: "InvalidInput", subject: "attribute", path: "half" })
          assert.include(error.message, problem)
        }
        const large = yield* Effect.flip(Odd.start("a", { n: 1, text: "x".repeat(2000) }))
        assert.deepInclude(large, { _tag: "StoreRejected", path: "attributes.text" })
        assert.strictEqual(yield* Odd.count(), 0)
      })
    )
  )

  it.effect("that a step cannot make fail the step, and change nothing", () =>
    run(
      Effect.gen(function* () {
        yield* Odd.start("a", { n: 1, text: "t" })
        yield* Odd.send("a", "Set", { n: 13 })
        const runtime = yield* ExecutionRuntime.ExecutionRuntime
        yield* runtime.awaitIdle
        assert.strictEqual((yield* Odd.get("a")).context.n, 1)
        assert.deepStrictEqual(yield* of("a"), { half: 0.5, text: "t" })
        const { entries } = yield* runtime.deadLetters.list()
        assert.lengthOf(entries, 1)
        assert.include(entries[0]?.error, "half")
      })
    )
  )

  it.effect("that cannot be made anew are told, and left as they are", () =>
    run(
      Effect.gen(function* () {
        const self = yield* store
        yield* Odd.start("a", { n: 1, text: "t" })
        yield* self.save(Execution.make({ id: "b", definitionId: "odd", context: { n: 13, text: "t" } }))
        yield* self.save(Execution.make({ id: "c", definitionId: "odd", context: { n: "1" } }))
        const { changed, invalid, read } = yield* Odd.reindex()
        assert.deepStrictEqual([read, changed], [3, []])
        assert.deepStrictEqual(
          invalid.map(({ executionId, part, path }) => [executionId, part, path]),
          [
            ["b", "attribute", "half"],
            ["c", "context", "n"]
          ]
        )
        assert.include(invalid[0]?.message, 'the attribute of execution "b" cannot be made by definition "odd" at half')
      })
    )
  )

  it.effect("that the definition does not name, or that are undefined, are refused", () =>
    run(
      Effect.gen(function* () {
        // As a caller without types may.
        const where: object = { price: 1 }
        const unknown = yield* Effect.flip(Odd.list({ where }))
        assert.include(unknown.message, "where.price: definition odd has no such attribute, only half, text")
        const nothing: object = { half: undefined }
        assert.include((yield* Effect.flip(Odd.count({ where: nothing }))).message, "where.half: is undefined")
        const untyped: object = { half: [1] }
        assert.include((yield* Effect.flip(Odd.list({ where: untyped }))).message, "attributes.half: expected a string")
      })
    )
  )

  it("have names and are as many as a store takes", () => {
    const context = Schema.Struct({})
    const names = (attributes: Record<string, () => number>) =>
      Exit.isFailure(Effect.runSyncExit(Effect.sync(() => Definition.make("bad", { context, attributes }))))
    assert.isTrue(names({ "a b": () => 1 }))
    assert.isTrue(names(Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`n${i}`, () => i]))))
    assert.isFalse(names(Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`n${i}`, () => i]))))
  })

  it("are typed", () => {
    type S = Definition.SpecOf<typeof Order>
    expectTypeOf<S["attributes"]>().toEqualTypeOf<{
      readonly customer: string
      readonly due: number
      readonly large: boolean
      readonly channel: "web" | "shop"
    }>()
    never(() => Order.list({ where: { customer: "c-1", channel: "web" } }))
    // @ts-expect-error: there is no such attribute
    never(() => Order.list({ where: { costumer: "c-1" } }))
    // @ts-expect-error: the attribute is a number
    never(() => Order.count({ where: { due: "5" } }))
    // @ts-expect-error: no order has this channel
    never(() => Order.count({ where: { channel: "phone" } }))
    // @ts-expect-error: this would select all
    never((customer?: string) => Order.list({ where: { customer } }))
    const Plain = Definition.make("plain", { context: Schema.Struct({ n: Schema.Number }) })
    never(() => Plain.list({ where: {} }))
    // @ts-expect-error: the definition names none
    never(() => Plain.list({ where: { n: 1 } }))
    never(() =>
      Definition.make("bad", {
        context: Schema.Struct({ items: Schema.Array(Schema.String) }),
        // @ts-expect-error: a list is no value of an attribute
        attributes: { items: ({ items }) => items }
      })
    )
    never(() =>
      Definition.make("bad", {
        context: Schema.Struct({ items: Schema.Array(Schema.String) }),
        // @ts-expect-error: the context has no such key
        attributes: { customer: ({ customer }) => customer }
      })
    )
  })
})
