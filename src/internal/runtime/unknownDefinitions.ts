import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import type { UnknownDefinition } from "../../ExecutionRuntime.js"
import * as Metrics from "../../Metrics.js"
import type { DefinitionNotFound, DefinitionVersionNotFound } from "../../ProcessorError.js"
import * as log from "../telemetry/log.js"

/** Since when work waits for a definition that the process does not have, and when such work was last seen, in seconds since the epoch. */
interface Seen {
  readonly definitionId: string
  readonly version?: number | undefined
  readonly since: number
  readonly last: number
}

/** The definitions, and versions of definitions, that work waits for and that this process does not have. */
export type UnknownDefinitions = Map<string, Seen>

/** Work that waits is tried, and so seen, at least this often. What was not seen for longer is done, or belongs to another process. */
const seenAgainWithin = 15 * 60

/** Records a definition that work waits for, and logs it once. */
export const note = (
  unknown: UnknownDefinitions,
  error: DefinitionNotFound | DefinitionVersionNotFound
): Effect.Effect<void> =>
  Effect.gen(function* () {
    const now = (yield* Clock.currentTimeMillis) / 1000
    const missing = { definitionId: error.definitionId, ...("version" in error && { version: error.version }) }
    const key = JSON.stringify(missing)
    const seen = unknown.get(key)
    const isNew = seen === undefined || now - seen.last > seenAgainWithin
    unknown.set(key, { ...missing, since: isNew ? now : seen.since, last: now })
    yield* measure(unknown, now)
    if (isNew) yield* log.warning(`work waits for a definition that this process does not have: ${error.message}`)
  })

const measure = (unknown: UnknownDefinitions, now: number): Effect.Effect<void> => {
  const waiting = current(unknown, now)
  const oldest = Math.min(now, ...waiting.map(({ since }) => since))
  return Effect.zipRight(
    Metric.set(Metrics.unknownDefinitions, waiting.length),
    Metric.set(Metrics.unknownDefinitionAge, now - oldest)
  )
}

/** A definition was registered: what waits for another version of it is seen again. */
export const forget = (unknown: UnknownDefinitions, definitionId: string): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (millis) => {
    const keys = Array.from(unknown).flatMap(([key, seen]) => (seen.definitionId === definitionId ? [key] : []))
    for (const key of keys) unknown.delete(key)
    return keys.length > 0 ? measure(unknown, millis / 1000) : Effect.void
  })

/** The definitions for which work waits now. */
export const current = (unknown: UnknownDefinitions, now: number): ReadonlyArray<UnknownDefinition> =>
  Array.from(unknown.values())
    .filter(({ last }) => now - last <= seenAgainWithin)
    .map(({ last, ...missing }) => missing)
