import * as Effect from "effect/Effect"

/** Runs a task in the next turn of the event loop, when timers, sockets and signals have had theirs. */
export const onNextTurn: (task: () => void) => unknown =
  typeof globalThis.setImmediate === "function" ? globalThis.setImmediate : (task) => setTimeout(task, 0)

/** Lets the others of the event loop have their turn. */
export const turn: Effect.Effect<void> = Effect.async((resume) => void onNextTurn(() => resume(Effect.void)))
