import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import type { UnknownActivity, UnknownDefinition } from "../../ExecutionRuntime.js"
import type {
  ExecutionStore,
  Stats,
  Unserved as Found,
  UnservedActivity,
  UnservedDefinition
} from "../../ExecutionStore.js"
import * as Metrics from "../../Metrics.js"
import type { DefinitionNotFound, DefinitionVersionNotFound } from "../../ProcessorError.js"
import type { Elsewhere } from "../../QueueWorker.js"
import type { StoreError } from "../../StoreError.js"
import * as log from "../telemetry/log.js"

/**
 * What waits for one definition or activity.
 *
 * - `since`: when this process saw it first, `last`: when a worker met it last, in seconds since the epoch.
 * - `logged`: whether the log says so.
 * - `found`: what the store counted last.
 */
interface Seen<A> {
  readonly since: number
  readonly last: number
  readonly logged: boolean
  readonly found: A
}

/** What the process has, and what becomes of the rest. */
export interface Options {
  readonly definitions: {
    readonly transitions: ReadonlyMap<string, unknown>
    readonly serves: (definitionId: string, version?: number) => boolean
  }
  readonly activities: ReadonlySet<string>
  /** Whether work for a definition that it does not have waits. */
  readonly waits: boolean
  /** Whether the store can tell which definition a child will follow. */
  readonly tellsChildren: boolean
}

/**
 * What waits in the store for definitions and activities that this process does not have. The store is asked for it, and workers tell of what
 * they meet meanwhile: an entry goes only when the store has none of it, so that it is there after any pause.
 *
 * - `versions`: of definitions that the process has. The store does not tell of them: one goes when it is not met for long after its work was
 *   looked at again.
 * - `passed`: definitions whose work is passed over until `until`, in milliseconds since the epoch. Then all of them are looked at again, and
 *   those for which there is work yet are found again. `lookedAt` is when that was last, in seconds since the epoch.
 */
export interface Unserved {
  readonly options: Options
  readonly definitions: Map<string, Seen<UnservedDefinition>>
  readonly versions: Map<string, Seen<UnservedVersion>>
  readonly activities: Map<string, Seen<UnservedActivity>>
  readonly passed: Set<string>
  until: number
  lookedAt: number
}

type Missing = DefinitionNotFound | DefinitionVersionNotFound

interface UnservedVersion extends UnservedDefinition {
  readonly version: number
}

export const make = (options: Options): Unserved => ({
  options,
  definitions: new Map(),
  versions: new Map(),
  activities: new Map(),
  passed: new Set(),
  until: Number.NEGATIVE_INFINITY,
  lookedAt: Number.NEGATIVE_INFINITY
})

// The work of more definitions than these is put aside target by target.
const most = 1000
const passedFor = 10 * 60_000
/** Work that waits for a version is looked at again, and so met, within this time, in seconds. */
const metAgainWithin = 5 * 60
const nothing: Found = { definitions: [], activities: [], more: false }

const noWork = (definitionId: string): UnservedDefinition => ({
  definitionId,
  outbox: 0,
  spawns: 0,
  timers: 0,
  oldest: Option.none()
})

/** One more was met of what waits; says whether that is news. */
const meet = <A>(all: Map<string, Seen<A>>, key: string, none: A, now: number): boolean => {
  const before = all.get(key)
  const { found, since } = before ?? { found: none, since: now }
  if (before !== undefined || all.size < most) all.set(key, { since, last: now, logged: true, found })
  return before?.logged !== true
}

/** Records a definition that work waits for, or a version of one; says whether that is news. */
const note = (unserved: Unserved, error: Missing, millis: number): boolean => {
  const now = millis / 1000
  const { definitions, passed, versions } = unserved
  const { definitionId } = error
  const none = noWork(definitionId)
  if (millis >= unserved.until) unserved.until = millis + passedFor
  if (error._tag === "DefinitionVersionNotFound") {
    const { version } = error
    return meet(versions, JSON.stringify([definitionId, version]), { ...none, version }, now)
  }
  if (passed.size < most) passed.add(definitionId)
  return meet(definitions, definitionId, none, now)
}

/** Tells of what was recorded; logs it where it is news. */
const tell = (unserved: Unserved, { message }: Missing, millis: number, isNew: boolean): Effect.Effect<void> => {
  const told = measure(unserved, millis / 1000)
  const warning = log.warning(`work waits for a definition that this process does not have: ${message}`)
  return isNew ? Effect.zipRight(told, warning) : told
}

const ageOf = (seen: Iterable<Seen<{ readonly oldest: Option.Option<number> }>>, now: number): number => {
  let age = 0
  for (const { found, since } of seen) age = Math.max(age, now - Option.getOrElse(found.oldest, () => since))
  return age
}

const measure = ({ activities, definitions, versions }: Unserved, now: number): Effect.Effect<void> => {
  const age = Math.max(ageOf(definitions.values(), now), ageOf(versions.values(), now))
  return Effect.all(
    [
      Metric.set(Metrics.unknownDefinitions, definitions.size + versions.size),
      Metric.set(Metrics.unknownDefinitionAge, age),
      Metric.set(Metrics.unknownActivities, activities.size),
      Metric.set(Metrics.unknownActivityAge, ageOf(activities.values(), now))
    ],
    { discard: true }
  )
}

/** Takes over what the store counted from `begun` on; `isGone` says whether what it does not tell of is gone. */
const replace = <A>(
  all: Map<string, Seen<A>>,
  found: ReadonlyArray<readonly [string, A]>,
  begun: number,
  isGone: boolean,
  none: (id: string) => A
): void => {
  const counted = new Map(found)
  for (const [id, seen] of all) {
    if (counted.has(id)) continue
    // A worker may have met it after the store had looked.
    if (isGone && seen.last < begun) all.delete(id)
    else all.set(id, { ...seen, found: none(id) })
  }
  for (const [id, found] of counted) {
    const { last, logged, since } = all.get(id) ?? { since: begun, last: begun, logged: false }
    if (all.has(id) || all.size < most) all.set(id, { since, last, logged, found })
  }
}

const update = (unserved: Unserved, stats: Stats, found: Found, begun: number): void => {
  const { activities, definitions, options, versions } = unserved
  const waits = ({ definitionId, outbox, spawns, timers }: UnservedDefinition): boolean =>
    options.waits &&
    !options.definitions.serves(definitionId) &&
    outbox + timers + (options.tellsChildren ? spawns : 0) > 0
  const told = found.definitions
    .filter(waits)
    .map((one) => [one.definitionId, options.tellsChildren ? one : { ...one, spawns: 0 }] as const)
  const isGone = !found.more && (options.tellsChildren || stats.spawns.count === 0)
  replace(definitions, told, begun, isGone, noWork)
  const isOld = begun - unserved.lookedAt > metAgainWithin
  for (const [key, { last }] of versions) {
    if (last < begun && (isEmpty(stats) || (isOld && last < unserved.lookedAt))) versions.delete(key)
  }
  const asked = found.activities
    .filter(({ name }) => !options.activities.has(name))
    .map((one) => [one.name, one] as const)
  replace(activities, asked, begun, !found.more, (name) => ({ name, count: 0, oldest: Option.none() }))
}

const isEmpty = ({ activities, outbox, spawns, timers }: Stats): boolean =>
  outbox.count === 0 && spawns.count === 0 && timers.due === 0 && activities.count === activities.running

/** The store's own counts, with which it is asked too what waits for others. */
export const stats = (
  unserved: Unserved,
  store: Pick<ExecutionStore, "stats" | "unserved">
): Effect.Effect<Stats, StoreError> =>
  Effect.gen(function* () {
    const { activities, definitions } = unserved.options
    const begun = (yield* Clock.currentTimeMillis) / 1000
    const stats = yield* store.stats
    const served = { definitions: Array.from(definitions.transitions.keys()), activities: Array.from(activities) }
    update(unserved, stats, isEmpty(stats) ? nothing : yield* store.unserved(served), begun)
    yield* measure(unserved, begun)
    return stats
  })

const passed = (unserved: Unserved): ReturnType<Elsewhere["passed"]> =>
  Effect.map(Clock.currentTimeMillis, (millis) => {
    // A clock that was set back since would put it off for as long.
    if (unserved.until > millis + passedFor) {
      unserved.until = millis + passedFor
      unserved.lookedAt = Math.min(unserved.lookedAt, millis / 1000)
    }
    if (millis >= unserved.until && unserved.lookedAt * 1000 < unserved.until) {
      unserved.passed.clear()
      unserved.lookedAt = millis / 1000
    }
    return { definitions: Array.from(unserved.passed), until: unserved.until }
  })

/** Tells workers whose work to pass over, and hears of it. */
export const elsewhere = (unserved: Unserved): Elsewhere => ({
  passed: () => passed(unserved),
  found: (error) =>
    // In one step: a definition that is registered between the look and the record would be passed over, although it is there.
    Effect.flatMap(Clock.currentTimeMillis, (millis) => {
      const version = error._tag === "DefinitionVersionNotFound" ? error.version : undefined
      if (unserved.options.definitions.serves(error.definitionId, version)) return Effect.succeed(false)
      return Effect.as(tell(unserved, error, millis, note(unserved, error, millis)), true)
    })
})

/** A definition was registered, or a version of it: what waits for another version is met again. */
export const forgetDefinition = (unserved: Unserved, definitionId: string): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (millis) => {
    const { definitions, passed, versions } = unserved
    passed.delete(definitionId)
    let isGone = definitions.delete(definitionId)
    for (const [key, { found }] of versions) {
      if (found.definitionId === definitionId) isGone = versions.delete(key) || isGone
    }
    return isGone ? measure(unserved, millis / 1000) : Effect.void
  })

/** The same of an activity. */
export const forgetActivity = (unserved: Unserved, name: string): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (millis) =>
    unserved.activities.delete(name) ? measure(unserved, millis / 1000) : Effect.void
  )

/** The definitions for which work waits now. */
export const unknownDefinitions = ({ definitions, versions }: Unserved): ReadonlyArray<UnknownDefinition> =>
  [...definitions.values(), ...versions.values()].map(({ found, since }) => ({ ...found, since }))

/** The activities for which work waits now. */
export const unknownActivities = ({ activities }: Unserved): ReadonlyArray<UnknownActivity> =>
  Array.from(activities.values(), ({ found, since }) => ({ ...found, since }))
