import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"

/** Whether a test moves this clock. Then all that goes by it is in this process, and nothing happens between two moves. */
export const isTestClock = (clock: Clock.Clock): boolean =>
  Predicate.hasProperty(clock, "adjust") && Predicate.hasProperty(clock, "sleeps")

/** Tells a listener, until the scope closes, that others have written. */
export type Listen = (listener: () => void) => Effect.Effect<void, never, Scope.Scope>

/** What one store tells all the others of this process that go by the clock of a test. */
export interface Told {
  readonly wrote: () => void
  readonly listen: Listen
}

interface Listener {
  readonly store: Told
  readonly call: () => void
}

/** Empty but in tests, so that a write costs nothing more. */
const listeners = new Set<Listener>()
const complete = new WeakSet<Listen>()

/** `listen` is for other clocks than a test's, under which `wrote` tells nobody. */
export const tell = (listen: Listen = () => Effect.void): Told => {
  const store: Told = {
    wrote: () => {
      if (listeners.size > 0) for (const listener of listeners) if (listener.store !== store) listener.call()
    },
    listen: (call) =>
      Effect.flatMap(Effect.clock, (clock) => {
        if (!isTestClock(clock)) return listen(call)
        const listener: Listener = { store, call }
        return Effect.acquireRelease(
          Effect.sync(() => void listeners.add(listener)),
          () => Effect.sync(() => listeners.delete(listener))
        )
      })
  }
  complete.add(store.listen)
  return store
}

/** Whether who listens is told of all writes of others that go by this clock. */
export const tellsAll = (listen: Listen, clock: Clock.Clock): boolean => isTestClock(clock) && complete.has(listen)
