import * as Clock from "effect/Clock"
import { isCron } from "effect/Cron"
import { isTimeZone } from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { Options } from "../../Cron.js"
import { InvalidCron } from "../../CronError.js"
import { isFinished } from "../../Execution.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { StoreError } from "../../StoreError.js"
import { decoder, type Fields } from "../options/decode.js"
import { checked, delay, oneOf, optional, whole } from "../options/fields.js"
import { type Context, catchUps, idOf, triggeredId } from "./contract.js"
import * as schedules from "./schedule.js"
import * as stored from "./stored.js"

/** What a deployment says of recurring work. */
type Declared = Pick<Context, "expression" | "timeZone" | "and" | "catchUp" | "grace" | "limit">

const textOr = (is: (u: unknown) => boolean) => (u: unknown) => (Predicate.isString(u) ? u.isWellFormed() : is(u))

const decode = (name: string) =>
  decoder(
    Schema.Struct({
      schedule: checked(textOr(isCron), "a cron expression"),
      timeZone: optional(checked(textOr(isTimeZone), "a time zone")),
      catchUp: optional(oneOf(...catchUps)),
      grace: optional(delay),
      limit: optional(whole(1)),
      action: checked((u) => Predicate.hasProperty(u, "act"), "what Cron.start or Cron.send gives")
    } satisfies Fields<Options>),
    ({ detail, path }) => new InvalidCron({ cron: name, problem: `${path}: ${detail}` })
  )

const nameProblem = (name: unknown): string | undefined => {
  if (typeof name !== "string" || !name.isWellFormed()) return "its name is not Unicode"
  return name === "" ? "it has no name" : undefined
}

/** What the options say, or what is wrong with them. */
const declared = (name: string, options: Options, now: number): Either.Either<Declared, InvalidCron> =>
  Either.gen(function* () {
    const refuse = (problem: string) => new InvalidCron({ cron: String(name).toWellFormed(), problem })
    const unnamed = nameProblem(name)
    if (unnamed !== undefined) return yield* Either.left(refuse(unnamed))
    const { catchUp = "once", grace = Duration.minutes(1), limit = 1000 } = yield* decode(name)(options)
    const schedule = yield* Either.mapLeft(schedules.make(options.schedule, options.timeZone, now), refuse)
    return { ...schedule, catchUp, grace: Duration.toSeconds(grace), limit }
  })

/** Fails where an execution could not have the id that one for this name would get: what is found out at a firing is found out too late. */
const checkIds = (name: string, now: number): Effect.Effect<void, InvalidCron | StoreError, ExecutionStore> =>
  Effect.flatMap(ExecutionStore, (store) => store.load(triggeredId(name, now, "0".repeat(32)))).pipe(
    Effect.asVoid,
    Effect.catchTag("StoreRejected", ({ detail }) =>
      Effect.fail(
        new InvalidCron({ cron: name, problem: `the ids that are made of its name are too long (${detail})` })
      )
    ),
    // Something else that lies under this id, which is nobody's.
    Effect.catchTag("StoreCorrupt", () => Effect.void)
  )

const isDeclared = (context: Context, declared: Declared): boolean =>
  schedules.isSame(context, declared) &&
  context.catchUp === declared.catchUp &&
  context.grace === declared.grace &&
  context.limit === declared.limit

/** Whether the timer is there that should be: one that was given up is not. */
const isArmed = (name: string, { next }: Context): Effect.Effect<boolean, StoreError, ExecutionStore> =>
  next === null
    ? Effect.succeed(true)
    : Effect.flatMap(ExecutionStore, (store) =>
        store.timers.isArmed({ executionId: idOf(name), path: "next", fireAt: next })
      )

/** What becomes of recurring work that is declared otherwise now. */
const changed = (context: Context, declared: Declared, now: number): Either.Either<Context, string> =>
  Either.gen(function* () {
    const updated = { ...context, ...declared }
    if (context.paused || schedules.isSame(context, declared)) return updated
    const from = Math.max(context.from, now)
    // What was due before the change is not lost: after it the new schedule counts.
    if (context.next !== null && context.next <= now) return { ...updated, from }
    return { ...updated, from, next: yield* schedules.nextAfter(yield* schedules.read(declared), from) }
  })

const begun = (declared: Declared, from: number): Either.Either<Context, string> =>
  Either.gen(function* () {
    const next = yield* schedules.nextAfter(yield* schedules.read(declared), from)
    return { ...declared, paused: false, next, from, caughtUp: 0, last: null }
  })

/** Stores what a deployment says. Where that is stored already, as by another process, nothing is written. */
export const register = (name: string, options: Options) =>
  Effect.gen(function* () {
    const now = (yield* Clock.currentTimeMillis) / 1000
    const refuse = (problem: string) => new InvalidCron({ cron: name, problem })
    const wanted = yield* declared(name, options, now)
    yield* checkIds(name, now)
    yield* stored.untilWritten(
      Effect.gen(function* () {
        const found = yield* stored.load(name)
        const live = Option.filter(found, ({ execution }) => !isFinished(execution))
        if (Option.isSome(live) && isDeclared(live.value.context, wanted) && (yield* isArmed(name, live.value.context)))
          return
        // An event that it consumed before it ended has no effect again.
        const done = Option.match(found, { onNone: () => now, onSome: ({ context }) => Math.max(now, context.from) })
        const context = yield* Either.mapLeft(
          Option.match(live, {
            onNone: () => begun(wanted, done),
            onSome: ({ context }) => changed(context, wanted, now)
          }),
          refuse
        )
        yield* stored.write(name, found, context)
      })
    )
  })
