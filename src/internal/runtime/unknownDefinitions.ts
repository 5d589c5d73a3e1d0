import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { UnknownDefinition } from "../../ExecutionRuntime.js"
import type { DefinitionNotFound } from "../../ProcessorError.js"
import * as log from "../telemetry/log.js"

/** Since when work waits for a definition that the process does not have, and when such work was last seen, in seconds since the epoch. */
interface Seen {
  readonly since: number
  last: number
}

/** The definitions that work waits for and that this process does not have. */
export type UnknownDefinitions = Map<string, Seen>

/** Work that waits is seen again at least so often: what was not seen for longer is done, or is another process's. */
const seenAgainWithin = 15 * 60

/** Remembers what work waits for, and says so once for each definition. */
export const note = (unknown: UnknownDefinitions, error: DefinitionNotFound): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (millis) => {
    const now = millis / 1000
    const seen = unknown.get(error.definitionId)
    if (seen !== undefined && now - seen.last <= seenAgainWithin) {
      seen.last = now
      return Effect.void
    }
    unknown.set(error.definitionId, { since: now, last: now })
    return log.warning(`work waits for a definition that this process does not have: ${error.message}`)
  })

/** The definitions for which work waits now. */
export const current = (unknown: UnknownDefinitions, now: number): ReadonlyArray<UnknownDefinition> =>
  Array.from(unknown)
    .filter(([, { last }]) => now - last <= seenAgainWithin)
    .map(([definitionId, { since }]) => ({ definitionId, since }))
