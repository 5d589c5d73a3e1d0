import * as Effect from "effect/Effect"

/**
 * Runs an effect, and hands it to `retry` only when it has failed: what retries is given the failure that there was as the first one.
 * Starting a schedule takes as long as a commit, and hardly any effect needs it.
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
