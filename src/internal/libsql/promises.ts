import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Runtime from "effect/Runtime"

/** Runs an effect as a promise that fails with the error itself. The signal interrupts it. */
export const toPromise = async <A, E>(
  runtime: Runtime.Runtime<never>,
  effect: Effect.Effect<A, E>,
  signal?: AbortSignal
): Promise<A> => {
  const result = await Runtime.runPromise(runtime)(Effect.either(effect), signal === undefined ? undefined : { signal })
  if (Either.isRight(result)) return result.right
  throw result.left
}
