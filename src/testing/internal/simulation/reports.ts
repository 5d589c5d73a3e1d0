import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Cron from "../../../Cron.js"
import * as Definition from "../../../Definition.js"
import type * as Execution from "../../../Execution.js"
import { ExecutionStore } from "../../../ExecutionStore.js"
import { firingId, idOf } from "../../../internal/cron/contract.js"
import * as Step from "../../../Step.js"

/** A report, as an older deployment has it. */
const Old = Definition.make("report", {
  context: Schema.Struct({ looks: Schema.Number }),
  events: { Asked: Schema.Struct({}) },
  timers: ["written"]
})

const OldLive = Old.toLayer({
  Start: (step) =>
    step.pipe(
      Step.updateContext(({ looks }) => ({ looks: looks + 1 })),
      Step.advance("Writing"),
      Old.armTimer("written", "1 second")
    ),
  Asked: (step) => Step.updateContext(step, ({ looks }) => ({ looks: looks + 1000 })),
  timers: { written: (step) => Old.finish(step, undefined) }
})

/** The same as the newer deployment has it, which takes over what the older one began. */
const Report = Definition.make("report", {
  version: 2,
  context: Schema.Struct({ begun: Schema.Number, asked: Schema.Number }),
  events: { Asked: Schema.Struct({}) },
  timers: ["written"],
  migrations: {
    1: ({ context, path }) => ({
      context: { begun: Number(context["looks"]) % 1000, asked: Math.floor(Number(context["looks"]) / 1000) },
      path: path === "Writing" ? "BeingWritten" : path
    })
  }
})

const ReportLive = Report.toLayer({
  Start: (step) =>
    step.pipe(
      Step.updateContext((context) => ({ ...context, begun: context.begun + 1 })),
      Step.advance("BeingWritten"),
      Report.armTimer("written", "1 second")
    ),
  Asked: (step) => Step.updateContext(step, (context) => ({ ...context, asked: context.asked + 1 })),
  timers: { written: (step) => Report.finish(step, undefined) }
})

/** How many seconds are between two of them. */
const every = 5

const schedule = { schedule: `*/${every} * * * * *`, timeZone: "UTC", catchUp: "all" } as const

const name = "reports"

/** Recurring reports, and those that clients ask for: of the newer deployment, and of the older one. */
export const newer = Layer.merge(
  ReportLive,
  Cron.toLayer(Cron.make(name, { ...schedule, action: Cron.start(Report, () => ({ begun: 0, asked: 0 })) }))
)

export const older = Layer.merge(
  OldLive,
  Cron.toLayer(Cron.make(name, { ...schedule, action: Cron.start(Old, () => ({ looks: 0 })) }))
)

/**
 * Asks for a report, by the code of one deployment or the other, and for more of it, in several events that come one after the other: some
 * of them again, as of a client that does not know whether it has sent them. The next event of a report needs no read, unlike an order's.
 */
export const ask = (argument: number) => {
  const id = `report-${argument % 2}`
  const begin =
    argument % 4 < 2
      ? Effect.ignore(Old.start(id, { looks: 0 }))
      : Effect.ignore(Report.start(id, { begun: 0, asked: 0 }))
  const send = (n: number) => Report.send(id, "Asked", {}, { id: `asked-${argument}-${n}` })
  return Effect.zipRight(begin, Effect.forEach([0, 1, 0, 2, 1], send, { discard: true }))
}

/** Recurring work goes on for ever. */
export const end = Effect.catchTag(Cron.pause(name), "CronMissing", () => Effect.void)

/** So far from the right time may the clocks of processes be, in seconds. */
const mostSkew = 600

/** What is wrong with the times at which reports were begun: none may be left out or be done twice, whatever happened. */
export const checkTimes = Effect.gen(function* () {
  const store = yield* ExecutionStore
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000 / every) * every
  const times = Array.from({ length: (2 * mostSkew) / every }, (_, i) => firingId(name, now - mostSkew + i * every))
  const done = yield* Effect.forEach(times, (id) => store.isProcessed(idOf(name), id))
  const between = times.slice(done.indexOf(true), done.lastIndexOf(true))
  const missing = between.filter((id) => done[times.indexOf(id)] === false)
  const started = yield* store.idsWithPrefix(`cron:${name}:`)
  const timeOf = (id: string): string => id.slice(0, firingId(name, now).length)
  const twice = started.filter((id, i) => started.some((other, j) => j < i && timeOf(other) === timeOf(id)))
  return [
    ...missing.map((id) => `${id} was left out`),
    ...twice.map((id) => `${id} was started beside another of its time`)
  ]
})

/** What is wrong with a report in the end. */
export const problemsOf = ({ context, id, status }: Execution.Execution): ReadonlyArray<string> => {
  const begun = Option.match(Schema.decodeUnknownOption(Schema.Struct({ begun: Schema.Number }))(context), {
    onNone: () => Number(context["looks"]) % 1000,
    onSome: ({ begun }) => begun
  })
  if (status === "CANCELLED") return []
  if (status !== "DONE") return [`${id} is ${status} in the end: it waits for its timer`]
  return begun === 1 ? [] : [`${id} was begun ${begun} times`]
}
