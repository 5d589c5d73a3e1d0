import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ExecutionStore } from "../../ExecutionStore.js"

/**
 * Asks for a run, at a time in milliseconds since the epoch, where another process has written: at once, but not more often than `every` so many
 * milliseconds. Processes that write without a pause must not keep each other reading.
 */
export const heed = (
  store: Pick<ExecutionStore, "listenToOthers">,
  every: number,
  request: (at: number) => void
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(Effect.clock, (clock) => {
    // When the last run was asked for; one that is still to come does for all that is written until then.
    let asked = Number.NEGATIVE_INFINITY
    return store.listenToOthers(() => {
      const now = clock.unsafeCurrentTimeMillis()
      // Where the clock was set back since, the last run is not later than after one interval all the same.
      asked = asked <= now ? Math.max(now, asked + every) : Math.min(asked, now + every)
      request(asked)
    })
  })
