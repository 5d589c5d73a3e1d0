import * as Effect from "effect/Effect"

/**
 * An effect to run between pieces of work. Once in `every` runs it waits for a turn of the event loop; runs in the meantime wait for it
 * too.
 *
 * With a store that never waits, fibers that make work for each other would block timers, sockets and signals of the process. It does not
 * yield each time, because then a test's clock could not tell work that goes on from work that is done.
 */
export const make = (every = 64): Effect.Effect<void> => counted(every)(1)

/** {@link make} for so many pieces of work that begin at once. */
export const counted = (every = 64): ((pieces: number) => Effect.Effect<void>) => {
  const yielded = Effect.unsafeMakeLatch(true)
  let count = 0
  let waits = false
  return (pieces) =>
    Effect.suspend(() => {
      count += pieces
      if (count >= every) {
        count = 0
        waits = true
        yielded.unsafeClose()
        setImmediate(() => {
          waits = false
          yielded.unsafeOpen()
        })
      }
      return waits ? yielded.await : Effect.void
    })
}
