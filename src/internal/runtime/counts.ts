import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Stats } from "../../ExecutionStore.js"
import type { StoreError } from "../../StoreError.js"

/** What the store counts; none where it does not answer. */
export type Counted = Either.Either<Option.Option<Stats>, StoreError>

/** For how many seconds a caller waits for the store to count. */
export const answerTimeout = 1

// Probes ask often; the store need not count each time.
const freshFor = 1
// A large store takes a while to count, which is no reason not to be ready. For this long the last count stands in for the next.
const staleAfter = 15
const givenUpAfter = "30 seconds"

interface Answer {
  readonly counted: Counted
  /** In seconds. */
  readonly at: number
}

/** An answer that seems to come from the future is as old as the clock was set back since. */
const age = ({ at }: Answer, now: number): number => Math.abs(now - at)

interface State {
  running: Fiber.Fiber<Counted> | undefined
  last: Answer | undefined
}

const begin = (state: State, stats: Effect.Effect<Stats, StoreError>, scope: Scope.Scope) =>
  stats.pipe(
    Effect.withTracerEnabled(false),
    Effect.timeoutOption(givenUpAfter),
    Effect.either,
    Effect.tap((counted) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        state.last = { counted, at: now / 1000 }
      })
    ),
    Effect.ensuring(
      Effect.sync(() => {
        state.running = undefined
      })
    ),
    Effect.interruptible,
    Effect.forkIn(scope)
  )

const none: Counted = Either.right(Option.none())

/** Counts what waits in a store. A caller has an answer within a second, however long the store takes. */
export const make = (
  stats: Effect.Effect<Stats, StoreError>
): Effect.Effect<Effect.Effect<Counted>, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => {
    const state: State = { running: undefined, last: undefined }
    return Effect.gen(function* () {
      const now = (yield* Clock.currentTimeMillis) / 1000
      const { last } = state
      if (last !== undefined && age(last, now) < freshFor) return last.counted
      state.running ??= yield* begin(state, stats, scope)
      const counted = yield* Effect.timeoutOption(Fiber.join(state.running), `${answerTimeout} seconds`)
      const earlier =
        last !== undefined && age(last, now) <= staleAfter && Either.isRight(last.counted) ? last.counted : none
      return Option.getOrElse(counted, () => earlier)
    })
  })
