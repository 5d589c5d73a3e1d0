import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"

/** Milliseconds that only go forward, from any beginning: the time of a clock may be set back while somebody waits. */
export const elapsedOf = (clock: Clock.Clock): number => Number(clock.unsafeCurrentTimeNanos() / 1_000n) / 1_000

/** {@link elapsedOf} the fiber's clock. */
export const elapsed: Effect.Effect<number> = Effect.map(Effect.clock, elapsedOf)
