import * as DateTime from "effect/DateTime"
import type * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Definition from "../../Definition.js"
import type * as Step from "../../Step.js"
import * as schedules from "./schedule.js"

export const catchUps = ["skip", "once", "all"] as const

/** What is stored of recurring work. Times are in seconds since the epoch. */
const Context = Schema.Struct({
  expression: Schema.String,
  timeZone: Schema.String,
  and: Schema.Boolean,
  catchUp: Schema.Literal(...catchUps),
  grace: Schema.Number,
  limit: Schema.Number,
  paused: Schema.Boolean,
  /** The time for which the timer is armed; none while it is paused. */
  next: Schema.NullOr(Schema.Number),
  /** Up to here nothing is to be done any more. */
  from: Schema.Number,
  caughtUp: Schema.Number,
  last: Schema.NullOr(Schema.Struct({ at: Schema.Number, id: Schema.String }))
})

export interface Context extends Schema.Schema.Type<typeof Context> {}

export const encodeContext = Schema.encodeSync(Context)

/** An event of recurring work to itself: one time, or a trigger, for which it does what it is for. */
const Fire = Schema.Struct({ at: Schema.Number, id: Schema.String, triggered: Schema.Boolean })

export interface Fire extends Schema.Schema.Type<typeof Fire> {}

/** What all ids of executions of recurring work begin with. */
export const prefix = "cron/"

/** The id of the execution that is the recurring work of a name, and of its definition: a process runs what it has registered. */
export const idOf = (name: string): string => `${prefix}${name}`

/** The definition of the recurring work of a name. */
export const definitionOf = (name: string) =>
  Definition.make(idOf(name), { context: Context, events: { Fire }, timers: ["next"] })

export type CronDefinition = ReturnType<typeof definitionOf>

export type Builder = Step.Builder<Context>

const text = (at: number): string => DateTime.formatIso(DateTime.unsafeMake(at * 1000))

/** The id of what is started for a time of a schedule, which is a whole second. */
export const firingId = (name: string, at: number): string => `cron:${name}:${text(at).replace(".000Z", "Z")}`

/** The id of what is started by a trigger. */
export const triggeredId = (name: string, at: number, token: string): string => `cron:${name}:${text(at)}:${token}`

/** The state of the execution, for those who look at it. */
export const pathOf = ({ paused }: Pick<Context, "paused">): string => (paused ? "Paused" : "Waiting")

/** The schedule that is stored, or what is wrong with it. */
export const scheduleOf = (context: Context): Either.Either<schedules.Schedule, string> => schedules.read(context)
