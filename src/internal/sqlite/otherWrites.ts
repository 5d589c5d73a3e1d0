import { watch } from "node:fs"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as DefaultServices from "effect/DefaultServices"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** Tells a listener, until the scope closes, soon after another connection has written. */
export type OtherWrites = (listener: () => void) => Effect.Effect<void, never, Scope.Scope>

/** - `watch` calls back while something happens to the file, until what it gives is called; `look` is cheap, and does not throw. */
export interface Options {
  readonly watch: (changed: () => void) => () => void
  readonly look: () => boolean
}

const real = Context.get(DefaultServices.liveServices, Clock.Clock)

/** In milliseconds: how long until the first look, between two looks while the file changes, and at most after it has changed. */
const first = 1
const busy = 5
const last = 600

/**
 * Who listens, and the looks that follow a change of the file: its writer may still be at it, or be waiting for the disk. `delay` is how long
 * the timer waits, `changed` whether the file changed since it was set.
 */
interface State {
  readonly options: Options
  readonly listeners: Set<() => void>
  stop: (() => void) | undefined
  timer: NodeJS.Timeout | undefined
  delay: number
  changed: boolean
}

const schedule = (state: State, delay: number): void => {
  clearTimeout(state.timer)
  state.delay = delay
  state.changed = false
  // It keeps no process alive that has nothing else to do.
  state.timer = setTimeout(() => tick(state), delay).unref()
}

const tick = (state: State): void => {
  const delay = state.changed ? busy : state.delay * 2
  state.timer = undefined
  if (state.options.look()) for (const listener of state.listeners) listener()
  if (state.listeners.size > 0 && delay <= last) schedule(state, delay)
}

const onChange = (state: State): void => {
  if (state.timer === undefined || state.delay > busy) schedule(state, first)
  else state.changed = true
}

/**
 * Watches the file that every write of every connection goes to. A look tells whether a change of it was another's write, and its end. The clock of a
 * test says nothing of other processes: under it nothing is watched.
 */
export const make = (options: Options): OtherWrites => {
  const state: State = {
    options,
    listeners: new Set(),
    stop: undefined,
    timer: undefined,
    delay: 0,
    changed: false
  }
  const add = (listener: () => void) =>
    Effect.sync(() => {
      // What was written until now is read by whoever begins to listen.
      if (state.listeners.size === 0) options.look()
      state.listeners.add(listener)
      state.stop ??= options.watch(() => onChange(state))
    })
  const remove = (listener: () => void) =>
    Effect.sync(() => {
      state.listeners.delete(listener)
      if (state.listeners.size > 0) return
      state.stop?.()
      state.stop = undefined
    })
  return (listener) =>
    Effect.flatMap(Effect.clock, (clock) =>
      clock === real ? Effect.acquireRelease(add(listener), () => remove(listener)) : Effect.void
    )
}

/** Watches a file. Where the system does not let it, it is as if nothing ever happened to it: then workers look at their intervals alone. */
export const watchFile =
  (path: string): Options["watch"] =>
  (changed) => {
    try {
      const watcher = watch(path, { persistent: false }, changed)
      watcher.on("error", () => watcher.close())
      return () => watcher.close()
    } catch {
      return () => {}
    }
  }
