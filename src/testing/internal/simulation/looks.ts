import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as ExecutionRuntime from "../../../ExecutionRuntime.js"
import type { Life } from "./processLife.js"
import type { Stage } from "./run.js"

const second = 1_000_000

/** How often one of the processes is asked. */
const every = 2 * second

/** After a failure a worker waits for half a minute at most before it asks again. */
const outageLasts = 40 * second

export const healthOf = Effect.flatMap(ExecutionRuntime.ExecutionRuntime, ({ health }) => health)

/** What cannot be true, whatever happens to the process. */
const untrue = (life: Life, health: ExecutionRuntime.Health, wroteSince: boolean): ReadonlyArray<string> => {
  const { activities, live, outbox, problems, spawns, timers } = health
  const outages = [outbox, spawns, timers, activities].flatMap(({ outage }) => Option.toArray(outage))
  return [
    ...(live ? [] : ["a worker of it has ended"]),
    ...(life.wellFor() > outageLasts
      ? outages.map(({ message }) => `it waits for a store that works: ${message}`)
      : []),
    ...(wroteSince && problems.some((problem) => problem.startsWith("store: has refused writes"))
      ? ["its last write was taken, and it says that writes are refused"]
      : [])
  ]
}

/** Asks the processes in turn how they are while faults come, and looks at what can be decided then. */
export const begin = <R>(stage: Stage<R>): void => {
  const { journal, network, processes, world } = stage
  const look = (nth: number): void => {
    if (network.isCalm) return
    const process = processes[nth % processes.length]
    const life = process?.life
    const wrote = life?.wroteSince()
    process?.ask(healthOf, (exit) => {
      // It may be stopping meanwhile.
      if (life === undefined || !life.alive || Exit.isInterrupted(exit)) return
      const wroteSince = wrote !== undefined && wrote === life.wroteSince()
      const wrong = Exit.isFailure(exit)
        ? [`it cannot say how it is: ${String(exit.cause)}`]
        : untrue(life, exit.value, wroteSince)
      for (const problem of wrong) journal.problem(`${life.name} is asked for its health: ${problem}`)
    })
    world.after(every, () => look(nth + 1))
  }
  world.after(every, () => look(0))
}
