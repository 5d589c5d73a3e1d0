import { describe, expectTypeOf, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import { pipe } from "effect/Function"
import type * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Activity from "holdfast/Activity"
import * as Definition from "holdfast/Definition"
import type { ExecutionRuntime } from "holdfast/ExecutionRuntime"
import * as Step from "holdfast/Step"

class CardDeclined extends Schema.TaggedError<CardDeclined>()("CardDeclined", { code: Schema.String }) {}

class Bank extends Context.Tag("test/Bank")<
  Bank,
  { readonly charge: (amount: number) => Effect.Effect<string, CardDeclined> }
>() {}

const Charge = Activity.make("charge", {
  payload: Schema.Struct({ amount: Schema.Number, due: Schema.Date }),
  success: Schema.Struct({ receipt: Schema.String }),
  error: CardDeclined
})

const Notify = Activity.make("notify")

const Order = Definition.make("order", {
  context: Schema.Struct({ total: Schema.Number }),
  activities: { charge: Charge, notify: Notify }
})

const Plain = Definition.make("plain", { context: Schema.Struct({}) })

type OrderStep = Step.Builder<{ readonly total: number }>

/** What does not compile must not run either. */
const never = (_: () => unknown): void => {}

const due = new Date(0)

describe("The types of an activity", () => {
  it("are read by name", () => {
    expectTypeOf<Activity.Payload<typeof Charge>>().toEqualTypeOf<{ readonly amount: number; readonly due: Date }>()
    expectTypeOf<Activity.Success<typeof Charge>>().toEqualTypeOf<{ readonly receipt: string }>()
    expectTypeOf<Activity.Error<typeof Charge>>().toEqualTypeOf<CardDeclined>()
    expectTypeOf<Activity.Payload<typeof Notify>>().toEqualTypeOf<void>()
    expectTypeOf<Activity.Success<typeof Notify>>().toEqualTypeOf<void>()
    expectTypeOf<Activity.Error<typeof Notify>>().toEqualTypeOf<never>()
    expectTypeOf(Charge.outcome).returns.toEqualTypeOf<
      Option.Option<Activity.Outcome<{ readonly receipt: string }, CardDeclined>>
    >()
    type Result = Activity.Outcome<void, never>["result"]
    expectTypeOf<Result>().toEqualTypeOf<
      Either.Either<void, Activity.ActivityTimedOut | Activity.ActivityDied | Activity.ActivityCancelled>
    >()
  })

  it("refuse what it cannot be asked with, in a step of a definition", () => {
    never((step?: OrderStep) => {
      if (step === undefined) return
      Order.runActivity(step, "charge", { amount: 1, due })
      Order.runActivity(step, "charge", { amount: 1, due }, { key: "c" })
      Order.runActivity(step, "notify", undefined)
      pipe(step, Order.runActivity("charge", { amount: 1, due }, { key: "c" }))
      // @ts-expect-error: there is no such activity
      Order.runActivity(step, "charged", { amount: 1, due })
      // @ts-expect-error: a payload of another type
      Order.runActivity(step, "charge", { amount: "one", due })
      // @ts-expect-error: a payload that lacks a field
      Order.runActivity(step, "charge", { amount: 1 })
      // @ts-expect-error: the payload in its stored form
      Order.runActivity(step, "charge", { amount: 1, due: "1970-01-01T00:00:00.000Z" })
      // @ts-expect-error: it takes no payload
      Order.runActivity(step, "notify", { amount: 1 })
      // @ts-expect-error: a payload of another type, in a pipe
      pipe(step, Order.runActivity("charge", { amount: "one", due }))
      // @ts-expect-error: a definition without activities has none to ask for
      return Plain.runActivity(step, "charge", { amount: 1, due })
    })
  })

  it("refuse what it cannot be asked with, in any step", () => {
    never((step?: OrderStep) => {
      if (step === undefined) return
      Step.run(step, Charge, { amount: 1, due })
      Step.run(step, Charge, { amount: 1, due }, { key: "c" })
      Step.run(step, Notify, undefined)
      expectTypeOf(pipe(step, Step.run(Charge, { amount: 1, due }))).toEqualTypeOf<OrderStep>()
      // @ts-expect-error: a payload of another type
      Step.run(step, Charge, { amount: "one", due })
      // @ts-expect-error: a payload that lacks a field
      Step.run(step, Charge, { due })
      // @ts-expect-error: the key is a text
      Step.run(step, Charge, { amount: 1, due }, { key: 1 })
      // @ts-expect-error: it takes no payload
      Step.run(step, Notify, { amount: 1 })
      // @ts-expect-error: the name is not the activity
      Step.run(step, "charge", { amount: 1, due })
      // @ts-expect-error: a payload of another type, in a pipe
      return pipe(step, Step.run(Charge, { amount: "one", due }))
    })
  })

  it("require handlers for the outcomes of each", () => {
    const Start = (step: OrderStep) => step
    const ends = { success: Start, failure: Start }
    never(() =>
      Order.toLayer({
        Start,
        activities: {
          charge: {
            success: (step, value, ended) => {
              expectTypeOf(value).toEqualTypeOf<{ readonly receipt: string }>()
              expectTypeOf(ended).toEqualTypeOf<Definition.EndedActivity>()
              return step
            },
            failure: (step, error) => {
              expectTypeOf(error).toEqualTypeOf<Activity.Failure<CardDeclined>>()
              return step
            }
          },
          notify: {
            success: (step, value) => {
              expectTypeOf(value).toEqualTypeOf<void>()
              return step
            },
            failure: (step, error) => {
              expectTypeOf(error).toEqualTypeOf<Activity.Failure<never>>()
              return step
            }
          }
        }
      })
    )
    // @ts-expect-error: no activity has handlers
    never(() => Order.toLayer({ Start }))
    // @ts-expect-error: one has none
    never(() => Order.toLayer({ Start, activities: { charge: ends } }))
    // @ts-expect-error: a failure has no handler
    never(() => Order.toLayer({ Start, activities: { charge: { success: Start }, notify: ends } }))
    // @ts-expect-error: a name is misspelt
    never(() => Order.toLayer({ Start, activities: { charge: ends, notfy: ends } }))
    const text = (step: OrderStep, _: string) => step
    // @ts-expect-error: a handler of another value
    never(() => Order.toLayer({ Start, activities: { charge: { success: text, failure: Start }, notify: ends } }))
    // @ts-expect-error: a handler of another error
    never(() => Order.toLayer({ Start, activities: { charge: { success: Start, failure: text }, notify: ends } }))
  })

  it("give the layer what its handler needs, and refuse another handler", () => {
    const live = Charge.toLayer(({ amount }, { idempotencyKey }) =>
      Effect.gen(function* () {
        expectTypeOf(idempotencyKey).toEqualTypeOf<string>()
        const run = yield* Activity.CurrentRun
        expectTypeOf(run.attempt).toEqualTypeOf<number>()
        const bank = yield* Bank
        return { receipt: yield* bank.charge(amount) }
      })
    )
    expectTypeOf(live).toEqualTypeOf<
      Layer.Layer<never, Activity.ActivityRegistered | Activity.InvalidActivityHandler, ExecutionRuntime | Bank>
    >()
    const once = Charge.toLayer(
      Effect.map(Bank, (bank) => Charge.of(({ amount }) => Effect.map(bank.charge(amount), (receipt) => ({ receipt }))))
    )
    expectTypeOf(once).toEqualTypeOf<
      Layer.Layer<never, Activity.ActivityRegistered | Activity.InvalidActivityHandler, ExecutionRuntime | Bank>
    >()
    // @ts-expect-error: a value of another type
    never(() => Charge.toLayer(() => Effect.succeed({ receipt: 1 })))
    const fails = () => Effect.fail("no")
    // @ts-expect-error: an error of another type
    never(() => Charge.toLayer(fails))
    // @ts-expect-error: a payload of another type
    never(() => Charge.toLayer(({ total }) => Effect.succeed({ receipt: String(total) })))
    // @ts-expect-error: it has no error of its own
    never(() => Notify.toLayer(fails))
  })

  it("refuse options that do not fit", () => {
    never(() =>
      Activity.make("a", {
        payload: Schema.Struct({ partner: Schema.String }),
        error: CardDeclined,
        retry: Schedule.recurs(1).pipe(
          Schedule.whileInput((error: Activity.AttemptError<CardDeclined>) => error._tag !== "CardDeclined")
        ),
        limit: { key: ({ partner }) => partner, concurrency: 1 }
      })
    )
    // @ts-expect-error: the payload has no such field
    never(() => Activity.make("a", { payload: Schema.Struct({}), limit: { key: ({ partner }) => partner } }))
    // @ts-expect-error: a payload that is no object
    never(() => Activity.make("a", { payload: Schema.String }))
    // @ts-expect-error: an event cannot be named so
    never(() => Definition.make("bad", { context: Schema.Struct({}), events: { ActivityEnded: Schema.Struct({}) } }))
    // @ts-expect-error: no activity
    never(() => Definition.make("bad", { context: Schema.Struct({}), activities: { charge: "charge" } }))
  })
})
