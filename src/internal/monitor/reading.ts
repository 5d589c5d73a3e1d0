import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** A value that was read, and when, in seconds since the epoch. */
export interface Read<A> {
  readonly value: A
  readonly at: number
}

/**
 * What is read again and again, however many ask for it.
 *
 * - `get`: the value, at most a little old.
 * - `forget`: makes the next one who asks read it anew.
 */
export interface Reading<A, E> {
  readonly get: Effect.Effect<Read<A>, E>
  readonly forget: Effect.Effect<void>
}

/**
 * Reads at most once in `least` milliseconds, and the less often the longer it takes: one part in `share` of the time at the most goes into
 * it. So a look at a large store costs it as little as one at a small one.
 */
export const make = <A, E>(
  read: Effect.Effect<A, E>,
  { least, share }: { readonly least: number; readonly share: number }
): Effect.Effect<Reading<A, E>> =>
  Effect.map(Effect.makeSemaphore(1), (semaphore) => {
    let last: (Read<A> & { readonly until: number }) | undefined
    const fresh = Effect.gen(function* () {
      const begun = yield* Clock.currentTimeMillis
      const value = yield* read
      const ended = yield* Clock.currentTimeMillis
      last = { value, at: begun / 1000, until: ended + Math.max(least, (ended - begun) * share) }
      return last
    })
    return {
      get: semaphore.withPermits(1)(
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          last !== undefined && now < last.until ? Effect.succeed(last) : fresh
        )
      ),
      forget: Effect.sync(() => {
        last = undefined
      })
    }
  })
