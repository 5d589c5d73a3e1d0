import type { HttpServerResponse } from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"

/** Answers that all who ask the same share. */
export interface Shared {
  readonly get: <E, R>(
    key: string,
    answer: Effect.Effect<HttpServerResponse, E, R>
  ) => Effect.Effect<HttpServerResponse, E, R>
  /** Keeps what is answered from now on until the next call, rather than until it is answered. */
  readonly keep: (kept: boolean) => void
  /** Forgets all answers. */
  readonly clear: () => void
}

/** How many answers are kept. */
const most = 500

/**
 * While pages are open they all ask anew after each tick: the first of them asks the store, the others get the same answer. Who asks is free
 * to go: the answer is made all the same.
 */
export const make: Effect.Effect<Shared, never, Scope.Scope> = Effect.map(Effect.scope, (scope) => {
  const answers = new Map<string, Fiber.RuntimeFiber<HttpServerResponse, unknown>>()
  let kept = false
  const forget = (key: string, fiber: Fiber.RuntimeFiber<HttpServerResponse, unknown>) => {
    if (answers.get(key) === fiber) answers.delete(key)
  }
  return {
    get: <E, R>(key: string, answer: Effect.Effect<HttpServerResponse, E, R>) =>
      Effect.gen(function* () {
        const known = answers.get(key)
        // Whoever began it may fail in another way than this one may: it is asked for again then.
        if (known !== undefined) {
          // Not joined: that would make its request the one that is answered.
          const shared = yield* Fiber.await(known)
          if (Exit.isSuccess(shared)) return shared.value
        }
        if (answers.size >= most) answers.clear()
        const fiber = yield* Effect.forkIn(answer, scope)
        answers.set(key, fiber)
        fiber.addObserver((exit) => {
          if (Exit.isFailure(exit) || exit.value.status !== 200 || !kept) forget(key, fiber)
        })
        return yield* yield* Fiber.await(fiber)
      }),
    keep: (wanted) => {
      kept = wanted
      if (!wanted) answers.clear()
    },
    clear: () => answers.clear()
  }
})
