import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type { UnknownDefinition } from "../../ExecutionRuntime.js"
import * as Metrics from "../../Metrics.js"
import type { DefinitionNotFound } from "../../ProcessorError.js"
import type { Elsewhere } from "../../QueueWorker.js"
import * as log from "../telemetry/log.js"

/** Since when work waits for a definition that the process does not have, and when such work was last seen, in seconds since the epoch. */
interface Seen {
  readonly since: number
  readonly last: number
}

/**
 * The definitions that work waits for and that this process does not have.
 *
 * - `seen`: when each was seen.
 * - `passed`: those whose work is passed over until `until`, in milliseconds since the epoch. Then all of them are looked at again, and those
 *   for which there is work yet are found again.
 */
export interface UnknownDefinitions {
  readonly seen: Map<string, Seen>
  readonly passed: Set<string>
  until: number
}

export const make = (): UnknownDefinitions => ({
  seen: new Map(),
  passed: new Set(),
  until: Number.NEGATIVE_INFINITY
})

// The work of more definitions than these is put aside target by target.
const most = 1000
const passedFor = 10 * 60_000
/** Work that waits is found again, and so seen, at least this often. What was not seen for longer is done, or somebody has removed it. */
const seenAgainWithin = 15 * 60

/** Records a definition that work waits for, and logs it once. */
const note = (unknown: UnknownDefinitions, { definitionId, message }: DefinitionNotFound): Effect.Effect<void> =>
  Effect.gen(function* () {
    const millis = yield* Clock.currentTimeMillis
    const now = millis / 1000
    const { passed, seen } = unknown
    const before = seen.get(definitionId)
    const isNew = before === undefined || now - before.last > seenAgainWithin
    if (before !== undefined || seen.size < most)
      seen.set(definitionId, { since: isNew ? now : before.since, last: now })
    if (passed.size === 0) unknown.until = millis + passedFor
    if (passed.size < most) passed.add(definitionId)
    yield* measure(unknown, now)
    if (isNew) yield* log.warning(`work waits for a definition that this process does not have: ${message}`)
  })

const measure = (unknown: UnknownDefinitions, now: number): Effect.Effect<void> => {
  const waiting = current(unknown, now)
  const oldest = Math.min(now, ...waiting.map(({ since }) => since))
  return Effect.zipRight(
    Metric.set(Metrics.unknownDefinitions, waiting.length),
    Metric.set(Metrics.unknownDefinitionAge, now - oldest)
  )
}

/** Forgets what was not seen for long, and what is passed over when it is to be looked at again. */
const expire = (unknown: UnknownDefinitions, millis: number): void => {
  const { passed, seen, until } = unknown
  if (millis >= until) passed.clear()
  for (const [definitionId, { last }] of seen) if (millis / 1000 - last > seenAgainWithin) seen.delete(definitionId)
}

const passed = (unknown: UnknownDefinitions): ReturnType<Elsewhere["passed"]> =>
  Effect.flatMap(Clock.currentTimeMillis, (millis) => {
    const wasEmpty = unknown.seen.size === 0
    expire(unknown, millis)
    const answer = { definitions: Array.from(unknown.passed), until: unknown.until }
    return wasEmpty ? Effect.succeed(answer) : Effect.as(measure(unknown, millis / 1000), answer)
  })

/** Tells workers whose work to pass over, and hears of it; `has` says whether the process has a definition by now. */
export const elsewhere = (unknown: UnknownDefinitions, has: (definitionId: string) => boolean): Elsewhere => ({
  passed: () => passed(unknown),
  found: (error) =>
    Effect.suspend(() => (has(error.definitionId) ? Effect.succeed(false) : Effect.as(note(unknown, error), true)))
})

/** A definition was registered: nothing waits for it any more. */
export const forget = (unknown: UnknownDefinitions, definitionId: string): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (millis) => {
    unknown.passed.delete(definitionId)
    return unknown.seen.delete(definitionId) ? measure(unknown, millis / 1000) : Effect.void
  })

/** The definitions for which work waits now. */
export const current = ({ seen }: UnknownDefinitions, now: number): ReadonlyArray<UnknownDefinition> =>
  Array.from(seen)
    .filter(([, { last }]) => now - last <= seenAgainWithin)
    .map(([definitionId, { since }]) => ({ definitionId, since }))
