import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { Info, Listing } from "../../Cron.js"
import { CronMissing, InvalidCron } from "../../CronError.js"
import { StoredInvalid } from "../../DefinitionError.js"
import { isFinished } from "../../Execution.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import * as Ids from "../../Ids.js"
import { StoreConflict, StoreCorrupt } from "../../StoreError.js"
import { type Context, definitionOf, idOf, prefix, scheduleOf, triggeredId } from "./contract.js"
import * as schedules from "./schedule.js"
import * as stored from "./stored.js"

const seconds = Effect.map(Clock.currentTimeMillis, (millis) => millis / 1000)

const utc = (at: number): DateTime.Utc => DateTime.unsafeMake(at * 1000)

const infoOf = (name: string, { context, id, status }: stored.Stored): Info => ({
  name,
  executionId: id,
  status,
  expression: context.expression,
  timeZone: context.timeZone,
  catchUp: context.catchUp,
  paused: context.paused || status === "SUSPENDED",
  last: Option.map(Option.fromNullable(context.last), ({ at, id }) => ({ at: utc(at), id })),
  next: Option.map(Option.fromNullable(context.next), utc)
})

/** The recurring work of a name; what has ended is none. */
const found = (name: string) =>
  Effect.gen(function* () {
    const one = Option.filter(yield* stored.load(name), ({ execution }) => !isFinished(execution))
    return Option.isNone(one) ? yield* new CronMissing({ cron: name }) : one.value
  })

export const get = (name: string) => Effect.map(found(name), (one) => infoOf(name, one))

/** How many are read side by side. */
const concurrency = 64

export const list = Effect.gen(function* () {
  const store = yield* ExecutionStore
  const names = (yield* store.idsWithPrefix(prefix)).map((id) => id.slice(prefix.length))
  const loaded = yield* Effect.forEach(
    names.filter((name) => name !== ""),
    (name) => Effect.map(Effect.either(stored.load(name)), (one) => ({ name, one })),
    { concurrency }
  )
  const listing: { items: Array<Info>; invalid: Array<StoredInvalid>; corrupt: Array<StoreCorrupt> } = {
    items: [],
    invalid: [],
    corrupt: []
  }
  for (const { name, one } of loaded) {
    if (Either.isRight(one)) {
      if (Option.isSome(one.right) && !isFinished(one.right.value.execution)) {
        listing.items.push(infoOf(name, one.right.value))
      }
    } else if (one.left instanceof StoredInvalid) listing.invalid.push(one.left)
    else if (one.left instanceof StoreCorrupt) listing.corrupt.push(one.left)
    // Somebody's own execution, which has such an id.
    else if (one.left._tag !== "OtherDefinition") return yield* one.left
  }
  const listed: Listing = listing
  return listed
})

/** Changes recurring work, unless it is as it should be. */
const change = (name: string, f: (context: Context, now: number) => Either.Either<Context, string>) =>
  stored.untilWritten(
    Effect.gen(function* () {
      const before = yield* found(name)
      const after = yield* Either.mapLeft(
        f(before.context, yield* seconds),
        (problem) => new InvalidCron({ cron: name, problem })
      )
      if (after !== before.context) yield* stored.write(name, Option.some(before), after)
    })
  )

export const pause = (name: string) =>
  change(name, (context) => Either.right(context.paused ? context : { ...context, paused: true, next: null }))

export const resume = (name: string) =>
  change(name, (context, now) => {
    if (!context.paused) return Either.right(context)
    const from = Math.max(context.from, now)
    return Either.map(
      Either.flatMap(scheduleOf(context), (schedule) => schedules.nextAfter(schedule, from)),
      (next) => ({ ...context, paused: false, next, from, caughtUp: 0 })
    )
  })

export const trigger = (name: string) =>
  Effect.gen(function* () {
    yield* found(name)
    const at = yield* seconds
    const id = triggeredId(name, at, yield* Ids.next)
    yield* definitionOf(name).send(idOf(name), "Fire", { at, id, triggered: true }, { id })
    return id
  })

export const remove = (name: string) =>
  stored.untilWritten(
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const one = yield* stored.load(name)
      if (Option.isNone(one)) return yield* new CronMissing({ cron: name })
      const { id, version } = one.value
      if (yield* store.purge(id, version)) return
      return yield* new StoreConflict({ executionId: id, expected: version, found: Option.none() })
    })
  )
