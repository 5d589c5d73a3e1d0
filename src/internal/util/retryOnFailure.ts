import * as Effect from "effect/Effect"

/**
 * Runs an effect, and passes it to `retry` only after it failed; `retry` sees that failure as its first. Starting a schedule takes as long
 * as a commit, and few effects need it.
 */
export const whereItFails = <A, E, E2>(
  effect: Effect.Effect<A, E>,
  retry: (effect: Effect.Effect<A, E>) => Effect.Effect<A, E2>
): Effect.Effect<A, E2> =>
  Effect.catchAll(effect, (first) => {
    let next: Effect.Effect<A, E> = Effect.fail(first)
    return retry(
      Effect.suspend(() => {
        const current = next
        next = effect
        return current
      })
    )
  })
