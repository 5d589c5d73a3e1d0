import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Cron from "../../../Cron.js"
import * as Definition from "../../../Definition.js"
import type * as Execution from "../../../Execution.js"
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

const schedule = { schedule: "*/5 * * * * *", timeZone: "UTC" } as const

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

/** Asks for a report, by the code of one deployment or the other, and for it again. */
export const ask = (argument: number) => {
  const id = `report-${argument % 2}`
  const begin =
    argument % 4 < 2
      ? Effect.ignore(Old.start(id, { looks: 0 }))
      : Effect.ignore(Report.start(id, { begun: 0, asked: 0 }))
  return Effect.zipRight(begin, Report.send(id, "Asked", {}))
}

/** Recurring work goes on for ever. */
export const end = Effect.catchTag(Cron.remove(name), "CronMissing", () => Effect.void)

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
