/** The processes that run on the store, which the faults befall. */
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type * as Scope from "effect/Scope"
import * as Child from "../support/childProcess.js"
import type { Options } from "./worker.js"

/** - `env`: of each process. - `note`: is told what happens, for people. - `caches`: what the processes remember, each place another one with each process in it. */
export interface Settings extends Omit<Options, "by" | "executionCache" | "copy"> {
  readonly program: string
  readonly caches: ReadonlyArray<Options["executionCache"]>
  readonly copies: boolean
  readonly env: { readonly [name: string]: string }
  readonly note: (what: string) => Effect.Effect<void>
}

/** A place that always has a process in it, until it is emptied. */
interface Slot {
  readonly name: string
  readonly place: number
  incarnation: number
  child: Child.Child | undefined
  fiber: Fiber.RuntimeFiber<void> | undefined
  /** What its process said last. */
  said: string
  /** What its processes have said when they ended by themselves. */
  readonly failures: Array<string>
  /** What is to happen before the next process is started in it. */
  between: Effect.Effect<void>
}

const isRunning = (said: string): boolean => said === "ready" || said === "resting" || said.startsWith("clients rest")

/** How it ended; the last line is what it failed with. */
const untilItsEnd = (child: Child.Child, onLine: (line: string) => void) =>
  Effect.gen(function* () {
    const listening = yield* Effect.fork(Effect.forever(Effect.map(child.line, onLine)))
    const exit = yield* child.exit
    yield* Fiber.interrupt(listening)
    return exit
  })

export interface Workers {
  readonly count: number
  /** Kills a process, of which another one takes the place unless it is `held`. */
  readonly kill: (place: number) => Effect.Effect<void>
  /** Kills a process, and runs an effect before the next one is started. */
  readonly replace: (place: number, between: Effect.Effect<void>) => Effect.Effect<void>
  readonly freeze: (place: number) => Effect.Effect<void>
  readonly thaw: (place: number) => Effect.Effect<void>
  readonly pid: (place: number) => number | undefined
  /** The file of the copy of a process. */
  readonly copy: (place: number) => string | undefined
  /** Whether a process runs, and what those before it have failed with. */
  readonly state: (place: number) => { readonly runs: boolean; readonly failures: ReadonlyArray<string> }
  /** Kills all, and leaves their places empty until `start`. */
  readonly killAll: Effect.Effect<void>
  /** Fills all places. */
  readonly start: Effect.Effect<void>
  /** Whether all run. */
  readonly ready: () => boolean
  /** What those say who have not come to rest: their clients, or what they know of themselves. */
  readonly restless: () => ReadonlyArray<string>
  /** From now on clients, also of processes to come, ask for nothing any more. */
  readonly rest: Effect.Effect<void>
  /** Ends all in order; gives those that did not end well. */
  readonly end: Effect.Effect<ReadonlyArray<string>>
  readonly failures: () => ReadonlyArray<string>
}

class Places {
  held = false
  resting = false
  ending = false
  readonly slots: ReadonlyArray<Slot>

  constructor(
    readonly settings: Settings,
    count: number
  ) {
    this.slots = Array.from({ length: count }, (_, i) => ({
      name: `p${i}`,
      place: i,
      incarnation: 0,
      child: undefined,
      fiber: undefined,
      said: "",
      failures: [],
      between: Effect.void
    }))
  }

  /** A copy belongs to a place: a process that was killed leaves it to the next. */
  copy({ name }: Slot): string | undefined {
    const { copies, journals, shared } = this.settings
    return copies ? join(journals, `${shared}-${name}.copy`) : undefined
  }

  /** Runs one process after the other in a place. */
  keep(slot: Slot): Effect.Effect<void> {
    const { env, program } = this.settings
    const once = Effect.gen(this, function* () {
      const by = `${this.settings.shared}-${slot.name}-${++slot.incarnation}`
      const { caches, durability, journals, leases, pause, prefix, shared, store } = this.settings
      const executionCache = caches[(slot.place + slot.incarnation) % caches.length]
      slot.said = ""
      const { between } = slot
      slot.between = Effect.void
      yield* between
      const own = { by, executionCache, copy: this.copy(slot) }
      const options: Options = { ...own, durability, journals, leases, pause, prefix, shared, store }
      const child = yield* Child.spawn(process.execPath, [program, JSON.stringify(options)], env)
      slot.child = child
      if (this.resting) yield* child.send("rest")
      // It may have been told while there was no process yet.
      if (this.ending) yield* child.send("end")
      const exit = yield* untilItsEnd(child, (line) => {
        slot.said = line
      })
      slot.child = undefined
      if (exit !== "SIGKILL" && exit !== 0) {
        slot.failures.push(`${by} ended with ${exit}: ${slot.said}`)
        yield* this.settings.note(`${by} ended with ${exit}: ${slot.said}`)
        yield* Effect.sleep("300 millis")
      }
    })
    return Effect.repeat(Effect.scoped(once), { while: () => !this.held })
  }

  get start(): Effect.Effect<void> {
    return Effect.suspend(() => {
      this.held = false
      return Effect.forEach(
        this.slots,
        (slot) =>
          Effect.gen(this, function* () {
            slot.fiber = yield* Effect.forkDaemon(this.keep(slot))
          }),
        { discard: true }
      )
    })
  }

  get killAll(): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      this.held = true
      for (const { child } of this.slots) if (child !== undefined) yield* child.kill
      for (const slot of this.slots) {
        if (slot.fiber !== undefined) yield* Fiber.interrupt(slot.fiber)
        slot.child = undefined
      }
    })
  }

  get end(): Effect.Effect<ReadonlyArray<string>> {
    return Effect.gen(this, function* () {
      this.held = true
      this.ending = true
      const bad: Array<string> = []
      for (const { child } of this.slots) if (child !== undefined) yield* child.send("end")
      for (const { fiber, name } of this.slots) {
        if (fiber === undefined) continue
        const ended = yield* Effect.timeoutOption(Fiber.join(fiber), "60 seconds")
        if (ended._tag === "None") bad.push(`${name} does not end when it is told to`)
      }
      yield* this.killAll
      return bad
    })
  }
}

export const make = (settings: Settings, count: number): Effect.Effect<Workers, never, Scope.Scope> =>
  Effect.gen(function* () {
    const places = new Places(settings, count)
    yield* Effect.addFinalizer(() => places.killAll)
    const on = (place: number, what: "kill" | "freeze" | "thaw") =>
      Effect.suspend(() => places.slots[place]?.child?.[what] ?? Effect.void)
    return {
      count,
      kill: (place) => on(place, "kill"),
      replace: (place, between) =>
        Effect.suspend(() => {
          const slot = places.slots[place]
          if (slot !== undefined) slot.between = Effect.zipRight(slot.between, between)
          return on(place, "kill")
        }),
      freeze: (place) => on(place, "freeze"),
      thaw: (place) => on(place, "thaw"),
      pid: (place) => places.slots[place]?.child?.pid,
      copy: (place) => {
        const slot = places.slots[place]
        return slot && places.copy(slot)
      },
      state: (place) => {
        const { failures = [], said = "" } = places.slots[place] ?? {}
        return { runs: isRunning(said), failures }
      },
      killAll: places.killAll,
      start: places.start,
      ready: () => places.slots.every(({ said }) => isRunning(said)),
      restless: () =>
        places.slots
          .filter(({ said }) => said !== "resting")
          .map(({ name, said }) => `${name} says ${JSON.stringify(said)}`),
      rest: Effect.suspend(() => {
        places.resting = true
        return Effect.forEach(places.slots, ({ child }) => child?.send("rest") ?? Effect.void, { discard: true })
      }),
      end: places.end,
      failures: () => places.slots.flatMap(({ failures }) => failures)
    }
  })
