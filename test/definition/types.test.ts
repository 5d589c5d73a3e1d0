import { describe, expectTypeOf, it } from "@effect/vitest"
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Effect_ from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Definition from "holdfast/Definition"
import type * as DefinitionError from "holdfast/DefinitionError"
import type { ExecutionRuntime } from "holdfast/ExecutionRuntime"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import type { JsonObject } from "holdfast/Json"
import * as Step from "holdfast/Step"
import type { StoreError } from "holdfast/StoreError"

class Declined extends Schema.TaggedError<Declined>()("Declined", { reason: Schema.String }) {}

class Prices extends Context.Tag("test/Prices")<
  Prices,
  { readonly of: (item: string) => Effect.Effect<number, Declined> }
>() {}

const NoFields = Schema.Struct({})

const Shipment = Definition.make("shipment", {
  context: Schema.Struct({ item: Schema.String }),
  result: Schema.Struct({ tracking: Schema.String })
})

const Order = Definition.make("order", {
  context: Schema.Struct({ total: Schema.Number }),
  events: { Paid: Schema.Struct({ at: Schema.Date }), Remind: NoFields },
  timers: ["payment"],
  children: { Shipping: Shipment },
  result: Schema.Struct({ trackings: Schema.Array(Schema.String) }),
  error: Declined
})

const Plain = Definition.make("plain", { context: Schema.Struct({}) })

const Empty = Definition.make("empty", { context: Schema.Struct({}), result: NoFields, error: NoFields })
const Loose = Definition.make("loose", { context: Schema.Struct({}), result: Schema.Unknown, error: Schema.Unknown })

/** What does not compile must not run either. */
const never = (_: () => unknown): void => {}

describe("The types of a definition", () => {
  it("are read by name", () => {
    type S = Definition.SpecOf<typeof Order>
    expectTypeOf<S["context"]>().toEqualTypeOf<{ readonly total: number }>()
    expectTypeOf<S["input"]>().toEqualTypeOf<{ readonly total: number }>()
    expectTypeOf<S["events"]>().toEqualTypeOf<{
      readonly Paid: { readonly at: Date }
      readonly Remind: Schema.Schema.Type<typeof NoFields>
    }>()
    expectTypeOf<S["timers"]>().toEqualTypeOf<"payment">()
    expectTypeOf<S["result"]>().toEqualTypeOf<{ readonly trackings: ReadonlyArray<string> }>()
    expectTypeOf<S["error"]>().toEqualTypeOf<Declined>()
    expectTypeOf<Definition.SpecOf<typeof Plain>["result"]>().toEqualTypeOf<void>()
  })

  it("are those of its client", () => {
    expectTypeOf(Order.await).returns.toEqualTypeOf<
      Effect.Effect<{ readonly trackings: ReadonlyArray<string> }, Declined | Definition.AwaitError, ExecutionStore>
    >()
    expectTypeOf(Plain.await).returns.toEqualTypeOf<Effect.Effect<void, Definition.AwaitError, ExecutionStore>>()
    expectTypeOf(Order.start).returns.toEqualTypeOf<
      Effect.Effect<
        Definition.Instance<Definition.SpecOf<typeof Order>>,
        DefinitionError.AlreadyExists | DefinitionError.InvalidInput | StoreError,
        ExecutionStore
      >
    >()
  })

  it("refuse what the definition does not name", () => {
    never(() => Order.send("a", "Paid", { at: new Date() }))
    // @ts-expect-error: there is no such event
    never(() => Order.send("a", "Payed", { at: new Date() }))
    // @ts-expect-error: the payload of another event
    never(() => Order.send("a", "Paid", {}))
    // @ts-expect-error: an input of another type
    never(() => Order.start("a", { total: "ten" }))
    never((step?: Step.Builder<{ readonly total: number }>) => {
      if (step === undefined) return
      Order.armTimer(step, "payment", "1 hour")
      // @ts-expect-error: there is no such timer
      Order.armTimer(step, "payments", "1 hour")
      Order.finish(step, { trackings: [] })
      // @ts-expect-error: a result of another type
      Order.finish(step, { tracking: [] })
      Order.fail(step, new Declined({ reason: "" }))
      // @ts-expect-error: an error of another type
      Order.fail(step, new Error("no"))
      Order.spawn(step, "Shipping", { item: "lamp" })
      // @ts-expect-error: there are no such children
      Order.spawn(step, "Shipments", { item: "lamp" })
      // @ts-expect-error: an input of another type
      return Order.spawn(step, "Shipping", { items: [] })
    })
  })

  it("end a step with a result that anything is, as the step itself", () => {
    type Self = Step.Builder<typeof NoFields.Type>
    never((step?: Self) => {
      if (step === undefined) return
      expectTypeOf(Empty.finish(step, {})).toEqualTypeOf<Self>()
      expectTypeOf(Empty.finish(step, {}, { outcome: "sold" })).toEqualTypeOf<Self>()
      expectTypeOf(step.pipe(Empty.finish({}))).toEqualTypeOf<Self>()
      expectTypeOf(step.pipe(Empty.finish({}, { outcome: "sold" }))).toEqualTypeOf<Self>()
      expectTypeOf(Empty.fail(step, {})).toEqualTypeOf<Self>()
      expectTypeOf(step.pipe(Empty.fail({}))).toEqualTypeOf<Self>()
      expectTypeOf(Loose.finish(step, {})).toEqualTypeOf<Self>()
      expectTypeOf(step.pipe(Loose.finish({}))).toEqualTypeOf<Self>()
      expectTypeOf(Loose.fail(step, {})).toEqualTypeOf<Self>()
      expectTypeOf(step.pipe(Loose.fail({}))).toEqualTypeOf<Self>()
    })
  })

  it("require a handler for each event, timer and kind of children", () => {
    const Start = (step: Step.Builder<{ readonly total: number }>) => step
    const rest = {
      Remind: Start,
      timers: { payment: Start },
      children: { Shipping: Start }
    }
    never(() => Order.toLayer({ Start, ...rest, Paid: (step, { at }) => (at.getTime() > 0 ? step : step) }))
    // @ts-expect-error: Paid has no handler
    never(() => Order.toLayer({ Start, ...rest }))
    // @ts-expect-error: the name is misspelt
    never(() => Order.toLayer({ Start, ...rest, Payed: Start }))
    // @ts-expect-error: the timer has no handler
    never(() => Order.toLayer({ Start, Remind: Start, Paid: Start, timers: {}, children: { Shipping: Start } }))
    // @ts-expect-error: the children have no handler
    never(() => Order.toLayer({ Start, Remind: Start, Paid: Start, timers: { payment: Start } }))
    // @ts-expect-error: an event cannot be named so
    never(() => Definition.make("bad", { context: Schema.Struct({}), events: { Timeout: Schema.Struct({}) } }))
  })

  it("give the layer what its handlers need, and no more", () => {
    const start = (step: Step.Builder<object>) => step
    expectTypeOf(Plain.toLayer({ Start: start })).toEqualTypeOf<
      Layer.Layer<never, DefinitionError.AlreadyRegistered | DefinitionError.InvalidImplementation, ExecutionRuntime>
    >()
    const priced = Shipment.toLayer({
      Start: (step) =>
        Effect_.flatMap(Prices, (prices) => Effect_.as(prices.of(step.context.item), Step.advance(step, "Priced")))
    })
    expectTypeOf(priced).toEqualTypeOf<
      Layer.Layer<
        never,
        DefinitionError.AlreadyRegistered | DefinitionError.InvalidImplementation,
        ExecutionRuntime | Prices
      >
    >()
    const once = Shipment.toLayer(
      Effect_.gen(function* () {
        const prices = yield* Prices
        return {
          Start: (step) => Effect_.as(prices.of(step.context.item), Step.advance(step, "Priced"))
        }
      })
    )
    expectTypeOf(once).toEqualTypeOf<
      Layer.Layer<
        never,
        DefinitionError.AlreadyRegistered | DefinitionError.InvalidImplementation,
        ExecutionRuntime | Prices
      >
    >()
    const single = Order.of((step, incoming) => (incoming._tag === "Paid" ? Step.trace(step) : step))
    expectTypeOf(single).returns.toExtend<object>()
  })
})

const V1 = Schema.Struct({ total: Schema.String })
const V2 = Schema.Struct({ total: Schema.NumberFromString })
const V3 = Schema.Struct({ total: Schema.Number, paidAt: Schema.NullOr(Schema.Date) })

describe("The types of migrations", () => {
  it("say what the last one must make, and what each gets", () => {
    const Versioned = Definition.make("versioned", {
      version: 3,
      context: V3,
      migrations: {
        1: ({ context, path }) => {
          expectTypeOf(context).toEqualTypeOf<JsonObject>()
          expectTypeOf(path).toEqualTypeOf<string | null>()
          return { context, path: "There" }
        },
        2: ({ context }) => ({ context: { total: Number(context["total"]), paidAt: null } })
      }
    })
    expectTypeOf<Definition.SpecOf<typeof Versioned>["context"]>().toEqualTypeOf<{
      readonly total: number
      readonly paidAt: Date | null
    }>()
    const decoded = Definition.migration({
      from: V2,
      to: V3,
      migrate: ({ context }) => {
        expectTypeOf(context).toEqualTypeOf<{ readonly total: number }>()
        return { context: { total: context.total, paidAt: new Date(0) } }
      }
    })
    expectTypeOf(decoded).toEqualTypeOf<
      Definition.Migration<{ readonly total: number; readonly paidAt: string | null }>
    >()
    never(() => Definition.make("v", { version: 3, context: V3, migrations: { 2: decoded } }))
    const stored = Definition.migration({ from: V1, migrate: ({ context }) => ({ context: { total: context.total } }) })
    expectTypeOf(stored).toEqualTypeOf<Definition.Migration<{ total: string }>>()
    never(() => Definition.make("v", { version: 2, context: V2, migrations: { 1: stored } }))
  })

  it("refuse versions that are none, and contexts of another version", () => {
    // @ts-expect-error: there is no version 2 before version 2
    never(() => Definition.make("v", { version: 2, context: V1, migrations: { 2: ({ context }) => ({ context }) } }))
    // @ts-expect-error: it is version 1
    never(() => Definition.make("v", { context: V1, migrations: { 1: ({ context }) => ({ context }) } }))
    // @ts-expect-error: no context of version 2
    never(() => Definition.make("v", { version: 2, context: V1, migrations: { 1: () => ({ context: { total: 1 } }) } }))
    const made = Definition.migration({ to: V1, migrate: () => ({ context: { total: "" } }) })
    // @ts-expect-error: it makes another context
    never(() => Definition.make("v", { version: 2, context: V3, migrations: { 1: made } }))
    // @ts-expect-error: no context of `to`
    never(() => Definition.migration({ to: V3, migrate: () => ({ context: { total: 1 } }) }))
    // @ts-expect-error: no path
    never(() => Definition.migration({ migrate: ({ context }) => ({ context, path: 1 }) }))
  })
})
