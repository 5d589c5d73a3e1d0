import * as Array from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Hash from "effect/Hash"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Activity from "../../../Activity.js"
import * as Event from "../../../Event.js"
import * as Execution from "../../../Execution.js"
import { ExecutionRuntime } from "../../../ExecutionRuntime.js"
import { ExecutionStore } from "../../../ExecutionStore.js"
import * as Processor from "../../../Processor.js"
import * as Step from "../../../Step.js"
import * as errands from "./errands.js"
import * as reports from "./reports.js"
import type { Workload } from "../../Simulation.js"

const Context = Schema.Struct({
  depth: Schema.Number,
  /** The events that took effect, in order. */
  seen: Schema.Array(Schema.String),
  /** What was to happen and has happened. */
  parts: Schema.Array(Schema.String),
  /** When the guard's timer is to fire, in seconds since the epoch. */
  guardAt: Schema.NullOr(Schema.Number),
  /** What should not have happened. */
  wrong: Schema.Array(Schema.String)
})

type Context = typeof Context.Type

const empty = { depth: 0, seen: [], parts: [], guardAt: null, wrong: [] }

const Work = Activity.make("work", {
  payload: Schema.Struct({ depth: Schema.Number }),
  success: Schema.String,
  error: Schema.String,
  retry: Schedule.spaced("500 millis").pipe(Schedule.intersect(Schedule.recurs(50)))
})

/** Notes that a part of the order has happened: each happens once. */
const part =
  (name: string) =>
  (step: Step.Builder<Context>): Step.Builder<Context> =>
    Step.updateContext(step, (context) =>
      context.parts.includes(name)
        ? { ...context, wrong: [...context.wrong, `${name} happened twice`] }
        : { ...context, parts: [...context.parts, name] }
    )

const saw =
  (eventId: string) =>
  (step: Step.Builder<Context>): Step.Builder<Context> =>
    Step.updateContext(step, (context) => ({
      ...context,
      seen: [...context.seen, eventId],
      wrong: context.seen.includes(eventId) ? [...context.wrong, `${eventId} took effect twice`] : context.wrong
    }))

const needed = ({ depth }: Context): ReadonlyArray<string> => [
  "first",
  "guard",
  "later",
  "second",
  "work",
  ...(depth === 0 ? ["child", "errand"] : [])
]

const has = (step: Step.Builder<Context>, name: string): boolean => step.execution.context.parts.includes(name)

/** Arms the guard's timer, which replaces the one that is armed. */
const guard =
  (now: number) =>
  (step: Step.Builder<Context>): Step.Builder<Context> =>
    step.pipe(
      Step.armTimerAt("guard", now + 2),
      Step.updateContext((context: Context) => ({ ...context, guardAt: now + 2 }))
    )

const start = (step: Step.Builder<Context>, now: number): Step.Builder<Context> => {
  const { context, id } = step.execution
  // A ping may be older than the order, and be delivered before its start.
  const guarded = has(step, "guard") ? step : guard(now)(step)
  const begun = guarded.pipe(
    Step.advance("Working"),
    Step.armTimer("first", "2 seconds"),
    Step.emitAfter(id, "3 seconds", { kind: "Later" }),
    Step.run(Work, { depth: context.depth })
  )
  return context.depth === 0
    ? begun.pipe(
        Step.spawn("part", { definition: "order", context: { ...empty, depth: 1 } }),
        Step.spawn("errand", { definition: "errand", context: {} })
      )
    : begun
}

const timedOut =
  (path: unknown, fireAt: unknown) =>
  (step: Step.Builder<Context>): Step.Builder<Context> => {
    if (path === "first") return step.pipe(part("first"), Step.armTimer("second", "2 seconds"))
    const { guardAt } = step.execution.context
    if (path !== "guard" || fireAt === guardAt) return part(String(path))(step)
    return Step.updateContext(step, (context: Context) => ({
      ...context,
      wrong: [...context.wrong, `guard fired for ${String(fireAt)}, and is armed for ${guardAt}`]
    }))
  }

/** A ping ends the wait for the guard's timer, or begins it anew. */
const pinged =
  (eventId: string, now: number) =>
  (step: Step.Builder<Context>): Step.Builder<Context> => {
    if (has(step, "guard")) return step
    return Hash.string(eventId) % 3 === 0 ? guard(now)(step) : step.pipe(Step.cancelTimer("guard"), part("guard"))
  }

const joined = (step: Step.Builder<Context>): Step.Builder<Context> => {
  const after = Step.join(step)
  const child = isNew(after, "part", "child") ? part("child")(after) : after
  return isNew(child, "errand", "errand") ? ranErrand(part("errand")(child)) : child
}

const isNew = (step: Step.Builder<Context>, key: string, name: string): boolean =>
  step.execution.context.depth === 0 && Step.isJoined(step, key) && !has(step, name)

/** The parent knows how its errand has ended. */
const ranErrand = (step: Step.Builder<Context>): Step.Builder<Context> => {
  const [errand] = Step.children(step, "errand")
  // An operator may have cancelled it before.
  if (errand === undefined || errand.outcome === "cancelled" || errand.outcome === errands.outcomeOf(errand.id))
    return step
  return Step.updateContext(step, (context) => ({
    ...context,
    wrong: [...context.wrong, `its errand ended with ${errand.outcome ?? "nothing"}`]
  }))
}

const react =
  (event: Event.Event, now: number) =>
  (step: Step.Builder<Context>): Step.Builder<Context> => {
    switch (event.kind) {
      case Event.WellKnownKind.Start:
        return start(step, now)
      case Event.WellKnownKind.Timeout:
        return timedOut(event.data["path"], event.data["fire_at"])(step)
      case Event.WellKnownKind.ActivityEnded:
        return part("work")(step)
      case Event.WellKnownKind.Cancel:
        return step
      case "Later":
        return part("later")(step)
      case "Ping":
        return pinged(event.id, now)(step)
      default:
        return joined(step)
    }
  }

const finished = (step: Step.Builder<Context>): Step.Builder<Context> => {
  const { context } = step.execution
  return needed(context).every((name) => context.parts.includes(name)) ? Step.finish(step, "success") : step
}

/** How often an order fails at an event in each process: one event in five, and half of those that come together, with others behind. */
const failuresAt = (eventId: string): number => {
  const hash = Math.abs(Hash.string(eventId))
  // A timer that was given up fires when it is redriven, although it was cancelled since.
  if (eventId.startsWith("timeout:") && eventId.includes(":guard:")) return 0
  if (eventId.startsWith("pings")) return hash % 4 < 2 ? 1 + (hash % 2) : 0
  return hash % 5 === 0 ? 1 + (hash % 3) : 0
}

/** An order, which fails now and then, to be tried again. `failed` counts that in one process. */
const order = (failed: Map<string, number>) =>
  Processor.transition({
    context: Context,
    transition: (execution, event) =>
      Effect.gen(function* () {
        const count = failed.get(event.id) ?? 0
        failed.set(event.id, count + 1)
        if (count < failuresAt(event.id) || (yield* Random.next) < 0.02) return yield* Effect.fail("the weather is bad")
        // A long step, in which the process may lose its lease.
        if ((yield* Random.next) < 0.1) yield* Effect.sleep(`${yield* Random.nextIntBetween(1, 2_000)} millis`)
        const step = yield* Step.make(execution, event)
        const now = (yield* Clock.currentTimeMillis) / 1_000
        return step.pipe(saw(event.id), react(event, now), finished)
      })
  })

const register = Layer.scopedDiscard(
  Effect.flatMap(ExecutionRuntime, (runtime) => runtime.register("order", order(new Map())))
)

const work = Work.toLayer(({ depth }) =>
  Effect.gen(function* () {
    // Some run for longer than a sign of life counts, and a few for several times as long.
    const kind = yield* Random.next
    const most = kind < 0.06 ? 12_000 : kind < 0.3 ? 5_000 : 1_000
    yield* Effect.sleep(`${yield* Random.nextIntBetween(1, most)} millis`)
    return (yield* Random.next) < 0.2 ? yield* Effect.fail("out of stock") : `worked at ${depth}`
  })
)

// A client that is not answered asks again.
const patiently = Effect.retry({ times: 3, schedule: Schedule.spaced("300 millis") })

const place = (argument: number) =>
  Effect.flatMap(ExecutionRuntime, (runtime) =>
    runtime
      .start(Execution.make({ id: `order-${argument % 5}`, definitionId: "order", context: empty }))
      .pipe(patiently)
  )

const ping = (argument: number) =>
  Effect.gen(function* () {
    const runtime = yield* ExecutionRuntime
    const event = Event.make({ id: `ping-${argument}`, kind: "Ping" })
    const send = runtime.send(`order-${argument % 5}`, event).pipe(patiently)
    yield* send
    // A client that has forgotten it sends it again.
    if (argument % 3 === 0) yield* Effect.delay(send, "1500 millis")
  })

/** Several pings at once for one order, and some more while it may still be busy with these. */
const pings = (argument: number) =>
  Effect.gen(function* () {
    const runtime = yield* ExecutionRuntime
    const send = (n: number) =>
      runtime.send(`order-${argument % 5}`, Event.make({ id: `pings-${argument}-${n}`, kind: "Ping" })).pipe(patiently)
    const together = { concurrency: "unbounded", discard: true } as const
    yield* Effect.forEach(Array.range(0, 3 + (argument % 6)), send, together)
    yield* Effect.sleep(`${argument % 3_000} millis`)
    yield* Effect.forEach(Array.range(10, 12), send, together)
  })

/** Gives up on pings for good, or has them tried again, as people do who look at dead letters. */
const tidy = (argument: number) =>
  Effect.gen(function* () {
    const { deadLetters } = yield* ExecutionRuntime
    const { entries } = yield* deadLetters.list({ limit: 20 })
    for (const dead of entries) {
      const isPing = dead._tag === "Outbox" && Option.exists(dead.row, ({ event }) => event.kind === "Ping")
      yield* isPing && argument % 2 === 0 ? deadLetters.discard(dead.id) : deadLetters.redrive(dead.id)
    }
  })

/** The workers of a process rest for a while. */
const rest = (argument: number) =>
  Effect.flatMap(ExecutionRuntime, (runtime) =>
    runtime.pause.pipe(Effect.zipRight(Effect.sleep(`${argument % 6_000} millis`)), Effect.ensuring(runtime.resume))
  )

const problemsOf = ({ context, id, status }: Execution.Execution): ReadonlyArray<string> => {
  const decoded = Schema.decodeUnknownOption(Context)(context)
  if (Option.isNone(decoded)) return [`${id} has another context: ${JSON.stringify(context)}`]
  const { parts, wrong } = decoded.value
  const missing = needed(decoded.value).filter((name) => !parts.includes(name))
  return [
    ...wrong.map((what) => `${id}: ${what}`),
    ...(status === "DONE" || status === "CANCELLED"
      ? []
      : [`${id} is ${status} in the end: it waits for ${missing.join(", ")}`]),
    ...(status === "DONE" && missing.length > 0 ? [`${id} is done without ${missing.join(", ")}`] : [])
  ]
}

const check = Effect.gen(function* () {
  const store = yield* ExecutionStore
  const ids = yield* store.idsWithPrefix("")
  const found = yield* Effect.forEach(ids, store.load)
  const wrong = Array.getSomes(found).flatMap((execution) => {
    switch (execution.definitionId) {
      case "order":
        return problemsOf(execution)
      case "report":
        return reports.problemsOf(execution)
      default:
        return []
    }
  })
  return [...wrong, ...(yield* reports.checkTimes)]
})

export const workload: Workload = {
  layer: Layer.mergeAll(register, errands.layer, work, reports.newer),
  others: [
    Layer.mergeAll(register, errands.layer, work, reports.older),
    Layer.mergeAll(register, errands.layer, reports.newer),
    Layer.mergeAll(work, errands.layer, reports.older),
    Layer.mergeAll(register, work, reports.newer)
  ],
  operations: [
    { name: "place", run: place },
    { name: "ping", run: ping },
    { name: "pings", run: pings },
    { name: "place", run: place },
    { name: "pings", run: pings },
    { name: "tidy", run: tidy },
    { name: "ask", run: reports.ask },
    { name: "rest", run: rest }
  ],
  end: reports.end,
  check
}
