import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"

/** A value that was read, and when, in seconds since the epoch. */
export interface Read<A> {
  readonly value: A
  readonly at: number
}

/**
 * What is read again and again, however many ask for it.
 *
 * - `get`: the value, at most a little old.
 * - `soon`: the value where it is known or comes within so many milliseconds, however old; it is read anew meanwhile.
 * - `forget`: makes the next one who asks read it anew.
 */
export interface CachedRead<A, E> {
  readonly get: Effect.Effect<Read<A>, E>
  readonly soon: (patience: number) => Effect.Effect<Option.Option<Read<A>>, E>
  readonly forget: Effect.Effect<void>
}

/**
 * Reads at most once in `least` milliseconds, and the less often the longer it takes: one part in `share` of the time at the most goes into
 * it. So a look at a large store costs it as little as one at a small one.
 */
export const make = <A, E>(
  read: Effect.Effect<A, E>,
  { least, share }: { readonly least: number; readonly share: number }
): Effect.Effect<CachedRead<A, E>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const semaphore = yield* Effect.makeSemaphore(1)
    const scope = yield* Effect.scope
    let forgotten = false
    let last: (Read<A> & { readonly begun: number; readonly until: number }) | undefined
    const fresh = Effect.gen(function* () {
      const begun = yield* Clock.currentTimeMillis
      forgotten = false
      const value = yield* read
      const ended = yield* Clock.currentTimeMillis
      last = { value, at: begun / 1000, begun, until: ended + Math.max(least, (ended - begun) * share) }
      return last
    })
    const get = semaphore.withPermits(1)(
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        // Where the clock was set back since, nobody knows how old it is.
        last !== undefined && now >= last.begun && now < last.until && !forgotten ? Effect.succeed(last) : fresh
      )
    )
    return {
      get,
      soon: (patience) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.forkIn(get, scope)
          const exit = yield* Effect.timeoutOption(Fiber.await(fiber), patience)
          return Option.isSome(exit) ? Option.some(yield* exit.value) : Option.fromNullable(last)
        }),
      forget: Effect.sync(() => {
        forgotten = true
      })
    }
  })
