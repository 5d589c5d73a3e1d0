/** What the processes of a torture run: orders with events, timers, delayed events, children and activities, which note what happened to them. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Activity from "holdfast/Activity"
import * as Definition from "holdfast/Definition"
import * as Step from "holdfast/Step"

/** How often an order's timer is armed, one after the other. */
export const ticks = 3

/** How many events an order sends itself, each when it has the one before. */
const links = 4

const Work = Activity.make("work", {
  payload: Schema.Struct({}),
  success: Schema.String,
  error: Schema.String,
  retry: Schedule.spaced("100 millis").pipe(Schedule.intersect(Schedule.recurs(10_000)))
})

const Noted = Schema.Struct({
  /** The times for which timers were armed that have fired. */
  ticks: Schema.Array(Schema.Number),
  /** What was to happen and has. */
  parts: Schema.Array(Schema.String),
  /** What should not have happened. */
  wrong: Schema.Array(Schema.String)
})

type Noted = typeof Noted.Type

const empty: Noted = { ticks: [], parts: [], wrong: [] }

/** A part that happens once. */
const part =
  (name: string) =>
  <C extends Noted>(context: C): C =>
    context.parts.includes(name)
      ? { ...context, wrong: [...context.wrong, `${name} happened twice`] }
      : { ...context, parts: [...context.parts, name] }

/** A timer that has fired: once for each time, and not before it. */
const tick =
  (fireAt: number, now: number) =>
  <C extends Noted>(context: C): C => {
    const wrong = [
      ...(context.ticks.includes(fireAt) ? [`the timer for ${fireAt} fired twice`] : []),
      ...(now < fireAt ? [`the timer for ${fireAt} fired at ${now}`] : [])
    ]
    return { ...context, ticks: [...context.ticks, fireAt], wrong: [...context.wrong, ...wrong] }
  }

const seconds = Effect.map(Clock.currentTimeMillis, (millis) => millis / 1000)

export const Part = Definition.make("part", {
  context: Noted,
  input: Schema.Struct({}),
  initial: () => empty,
  timers: ["tick"],
  result: Schema.Struct({ ticks: Schema.Number })
})

const PartLive = Part.toLayer({
  Start: (step) => step.pipe(Step.updateContext(part("start")), Part.armTimer("tick", "150 millis")),
  timers: {
    tick: (step, { fireAt }) =>
      Effect.map(seconds, (now) => step.pipe(Step.updateContext(tick(fireAt, now)), Part.finish({ ticks: 1 })))
  }
})

/**
 * An event of a client. `nth` counts the client's events to this execution: they take effect in this order. Clients send the next event
 * when the one before it is acknowledged.
 */
const Add = Schema.Struct({ event: Schema.String, client: Schema.String, nth: Schema.Number })

/** `events`: how many events end the order; with 0 it goes on for ever. */
export const Order = Definition.make("order", {
  context: Schema.Struct({
    ...Noted.fields,
    events: Schema.Number,
    seen: Schema.Array(Schema.String),
    last: Schema.Record({ key: Schema.String, value: Schema.Number })
  }),
  input: Schema.Struct({ events: Schema.Number }),
  initial: ({ events }) => ({ ...empty, events, seen: [], last: {} }),
  events: { Add, Later: Schema.Struct({}), Link: Schema.Struct({ nth: Schema.Number }) },
  timers: ["tick"],
  children: { part: Part },
  activities: { work: Work },
  result: Schema.Struct({ seen: Schema.Number })
})

type Context = typeof Order.schemas.context.Type

const link = (nth: number): string => `link ${nth}`

const chain = Array.from({ length: links }, (_, i) => link(i + 1))

export const needed: ReadonlyArray<string> = ["start", "later", "work", "child", ...chain]

/** Whether all has happened to an order that has to, beside the events of clients. */
export const isComplete = ({ parts, ticks: fired }: Noted): boolean =>
  needed.every((name) => parts.includes(name)) && fired.length === ticks

const add =
  ({ client, event, nth }: typeof Add.Type) =>
  (context: Context): Context => {
    const last = context.last[client] ?? 0
    const wrong = [
      ...(context.seen.includes(event) ? [`${event} took effect twice`] : []),
      ...(nth <= last ? [`${event} of ${client} took effect after its event ${last}`] : [])
    ]
    return {
      ...context,
      seen: [...context.seen, event],
      last: { ...context.last, [client]: Math.max(last, nth) },
      wrong: [...context.wrong, ...wrong]
    }
  }

const ended = (step: Step.Builder<Context>) => {
  const { events, seen } = step.context
  return events > 0 && seen.length >= events && isComplete(step.context)
    ? Order.finish(step, { seen: seen.length })
    : step
}

const OrderLive = Order.toLayer({
  Start: (step) =>
    step.pipe(
      Step.updateContext(part("start")),
      Order.armTimer("tick", "120 millis"),
      Order.emit(step.execution.id, "Later", {}, { after: "250 millis" }),
      Order.emit(step.execution.id, "Link", { nth: 1 }),
      Order.runActivity("work", {}, { key: "work" }),
      Order.spawn("part", {}),
      ended
    ),
  Add: (step, payload) => step.pipe(Step.updateContext(add(payload)), ended),
  Later: (step) => step.pipe(Step.updateContext(part("later")), ended),
  Link: (step, { nth }) => {
    const next = step.pipe(Step.updateContext(part(link(nth))))
    return nth < links ? next.pipe(Order.emit(step.execution.id, "Link", { nth: nth + 1 })) : ended(next)
  },
  timers: {
    tick: (step, { fireAt }) =>
      Effect.map(seconds, (now) => {
        const next = step.pipe(Step.updateContext(tick(fireAt, now)))
        return ended(next.context.ticks.length < ticks ? next.pipe(Order.armTimer("tick", "120 millis")) : next)
      })
  },
  children: { part: (step) => step.pipe(Step.updateContext(part("child")), ended) },
  activities: {
    work: {
      success: (step) => step.pipe(Step.updateContext(part("work")), ended),
      failure: (step, error) =>
        step.pipe(
          Step.updateContext((context) => ({ ...context, wrong: [...context.wrong, `work failed: ${String(error)}`] })),
          ended
        )
    }
  }
})

const WorkLive = Work.toLayer(() =>
  Effect.gen(function* () {
    yield* Effect.sleep(`${yield* Random.nextIntBetween(1, 300)} millis`)
    return (yield* Random.next) < 0.2 ? yield* Effect.fail("not now") : "worked"
  })
)

export const Live = Layer.mergeAll(OrderLive, PartLive, WorkLive)
