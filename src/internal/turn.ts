import * as Effect from "effect/Effect"

// How long timers, sockets and signals of the process may wait for a busy database.
const patience = 20

const schedule: (task: () => void) => unknown =
  typeof globalThis.setImmediate === "function" ? globalThis.setImmediate : (task) => setTimeout(task, 0)

/**
 * Waits for a turn of the event loop where it has had none for a while, and otherwise not at all.
 *
 * A synchronous database and Effect's microtasks keep each other busy: without this, a loop of commits stops everything else in the process
 * for seconds. How long that has been is a matter of the process and not of the application's `Clock`.
 */
export const make = (): Effect.Effect<void> => {
  let since = 0
  let waiting: Array<() => void> | undefined

  const turned = (): void => {
    const waited = waiting ?? []
    waiting = undefined
    for (const resume of waited) resume()
  }

  return Effect.suspend(() => {
    if (waiting === undefined) {
      waiting = []
      since = performance.now()
      schedule(turned)
      return Effect.void
    }
    if (performance.now() - since < patience) return Effect.void
    return Effect.async<void>((resume) => {
      const go = () => resume(Effect.void)
      if (waiting === undefined) go()
      else waiting.push(go)
    })
  })
}
