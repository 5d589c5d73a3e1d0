import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { type StoreRejected, StoreUnavailable } from "../../StoreError.js"

type Failure = StoreUnavailable | StoreRejected

/**
 * What the database shows of a write whose answer was lost: its outcome, that it is not applied so far, or that later writes hide what
 * became of it.
 */
export type Seen<A> =
  | { readonly _tag: "Known"; readonly outcome: A }
  | { readonly _tag: "Open" }
  | { readonly _tag: "Hidden" }

export const known = <A>(outcome: A): Seen<A> => ({ _tag: "Known", outcome })
export const open: Seen<never> = { _tag: "Open" }
export const hidden: Seen<never> = { _tag: "Hidden" }

/**
 * A write that may be sent any number of times and is applied once, whichever of them arrives, however late.
 *
 * - `send`: sends it; gives its outcome, or none where the answer tells too little of it.
 * - `look`: reads what became of it. It must see every write that was acknowledged before.
 */
export interface Write<A> {
  readonly send: Effect.Effect<Option.Option<A>, Failure>
  readonly look: Effect.Effect<Seen<A>, Failure>
}

interface Obstacle {
  readonly why: string
  /** Whether looking again could change it. */
  readonly final: boolean
}

const obstacle = (error: Failure): Obstacle => ({
  why: error.detail,
  final: error._tag === "StoreRejected" || error.reason === "shutdown"
})

const hiddenNow: Obstacle = { why: "later writes hide what became of it", final: true }

/** How long to wait before looking again. */
const backoff = Schedule.exponential("50 millis").pipe(
  Schedule.union(Schedule.spaced("1 second")),
  Schedule.jitteredWith({ min: 0.5, max: 1.5 })
)

/** What was seen; nothing where the write is not applied so far. */
const outcomeOf = <A>(seen: Seen<A>): Effect.Effect<Option.Option<A>, Obstacle> => {
  switch (seen._tag) {
    case "Known":
      return Effect.succeed(Option.some(seen.outcome))
    case "Open":
      return Effect.succeed(Option.none())
    case "Hidden":
      return Effect.fail(hiddenNow)
  }
}

const attempt = <A>({ look, send }: Write<A>): Effect.Effect<A, Obstacle> =>
  Effect.gen(function* () {
    const looked = Effect.flatMap(Effect.mapError(look, obstacle), outcomeOf)
    const before = yield* looked
    if (Option.isSome(before)) return before.value
    const sent = yield* Effect.either(send)
    if (Either.isRight(sent) && Option.isSome(sent.right)) return sent.right.value
    if (Either.isLeft(sent) && !obstacle(sent.left).final) return yield* Effect.fail(obstacle(sent.left))
    // It was refused, or the answer tells too little: the first one may have arrived meanwhile.
    const after = yield* looked
    if (Option.isSome(after)) return after.value
    return yield* Effect.fail(
      Either.isLeft(sent) ? obstacle(sent.left) : { why: "it is not applied so far", final: false }
    )
  })

/** Finds out what became of a write whose answer was lost, and sends it again where it is not applied. */
const settle = <A>(
  write: Write<A>,
  budget: Duration.Duration,
  lost: StoreUnavailable
): Effect.Effect<A, StoreUnavailable> =>
  Effect.suspend(() => {
    let why = "there was no time to look"
    return attempt(write).pipe(
      Effect.tapError((obstacle) =>
        Effect.sync(() => {
          why = obstacle.why
        })
      ),
      Effect.retry({ schedule: backoff, while: (obstacle) => !obstacle.final }),
      Effect.timeout(budget),
      Effect.mapError(
        () =>
          new StoreUnavailable({
            operation: lost.operation,
            executionId: lost.executionId,
            reason: lost.reason,
            outcome: "unknown",
            detail: `${lost.detail}; what became of it cannot be told: ${why}`,
            cause: lost.cause
          })
      )
    )
  })

/** The outcome of a write, and whether its answer was lost on the way to it. */
export interface Settled<A> {
  readonly outcome: A
  readonly lost: boolean
}

/**
 * Sends a write. Where its answer is lost, looks and sends again until the outcome is certain, for as long as `budget`; then it fails with
 * `outcome: "unknown"`, as the lost answer did. None is the answer to the first sending that tells too little; `first` is that sending, where
 * it is not like the others.
 */
export const run = <A>(
  write: Write<A>,
  budget: Duration.Duration,
  first: Write<A>["send"] = write.send
): Effect.Effect<Settled<Option.Option<A>>, StoreUnavailable | StoreRejected> =>
  Effect.matchEffect(first, {
    onSuccess: (outcome) => Effect.succeed({ outcome, lost: false }),
    onFailure: (error): Effect.Effect<Settled<Option.Option<A>>, Failure> =>
      error._tag === "StoreUnavailable" && error.outcome === "unknown"
        ? Effect.map(settle(write, budget, error), (outcome) => ({ outcome: Option.some(outcome), lost: true }))
        : Effect.fail(error)
  })
