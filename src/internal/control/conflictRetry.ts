import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Schedule from "effect/Schedule"
import { type Command, ControlConflict } from "../../ControlError.js"
import { StoreConflict } from "../../StoreError.js"

/** Runs a command on an execution again where another commit came first; the end of the schedule is a failure of its own. */
export const untilApplied =
  (schedule: Schedule.Schedule<unknown, StoreConflict>) =>
  <A, E, R>(
    on: { readonly command: Command; readonly executionId: string },
    effect: Effect.Effect<A, E | StoreConflict, R>
  ): Effect.Effect<A, E | ControlConflict, R> =>
    Effect.suspend(() => {
      let attempts = 0
      // The schedule is for lost commits alone: the other failures pass it by as values.
      const attempt = Effect.suspend(() => {
        attempts++
        return Effect.flatMap(Effect.either(effect), (outcome): Effect.Effect<Either.Either<A, E>, StoreConflict> => {
          if (Either.isRight(outcome)) return Effect.succeed(Either.right(outcome.right))
          const error = outcome.left
          return error instanceof StoreConflict ? Effect.fail(error) : Effect.succeed(Either.left(error))
        })
      })
      return attempt.pipe(
        Effect.retry(schedule),
        Effect.catchAll(() => new ControlConflict({ ...on, attempts })),
        Effect.flatten
      )
    })
