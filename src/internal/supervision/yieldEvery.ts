import * as Effect from "effect/Effect"

/**
 * An effect to run between pieces of work: now and then it lets the event loop have a turn, and all who come meanwhile wait for it.
 *
 * Where a store never waits, fibers would keep the process from its timers, sockets and signals, and events that make events for ever. It
 * is not done each time, because then no test's clock could tell work that goes on from work that is done.
 */
export const make = (every = 64): Effect.Effect<void> => {
  const yielded = Effect.unsafeMakeLatch(true)
  let count = 0
  return Effect.suspend(() => {
    if (++count >= every) {
      count = 0
      yielded.unsafeClose()
      setImmediate(() => yielded.unsafeOpen())
    }
    return yielded.await
  })
}
