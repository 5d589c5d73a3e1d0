import * as Effect from "effect/Effect"
import * as Iterable from "effect/Iterable"
import * as Option from "effect/Option"
import * as Order from "effect/Order"
import type { Timer } from "../../Commit.js"
import type { Encoded } from "../../EncodedStore.js"
import { compareUtf8 } from "../codec/utf8Order.js"
import { fenced } from "./leases.js"
import { Ordered } from "./sortedArray.js"
import type { Tables } from "./tables.js"

const sign = (n: number): -1 | 0 | 1 => (n < 0 ? -1 : n > 0 ? 1 : 0)

/** Timers are due in this order. */
const timerOrder: Order.Order<Timer> = Order.combineAll([
  Order.mapInput(Order.number, (timer: Timer) => timer.fireAt),
  Order.make((a: Timer, b: Timer) => sign(compareUtf8(a.executionId, b.executionId))),
  Order.make((a: Timer, b: Timer) => sign(compareUtf8(a.path, b.path)))
])

/** Armed timers: one for each path of an execution. */
export class Timers {
  /** In the order in which they are due. */
  readonly due = new Ordered<Timer, Timer>((timer) => timer, timerOrder)
  private readonly executions = new Map<string, Map<string, Timer>>()

  /** Adds a timer to a path that has none. */
  add(timer: Timer): void {
    const timers = this.executions.get(timer.executionId)
    if (timers === undefined) this.executions.set(timer.executionId, new Map([[timer.path, timer]]))
    else timers.set(timer.path, timer)
    this.due.set(timer)
  }

  at(executionId: string, path: string): Timer | undefined {
    return this.executions.get(executionId)?.get(path)
  }

  of(executionId: string): ReadonlyArray<Timer> {
    return Array.from(this.executions.get(executionId)?.values() ?? [])
  }

  /** Removes the timer where it is armed for exactly this time. */
  remove(timer: Timer): boolean {
    if (!this.due.delete(timer)) return false
    const timers = this.executions.get(timer.executionId)
    timers?.delete(timer.path)
    if (timers?.size === 0) this.executions.delete(timer.executionId)
    return true
  }
}

/** Removes a timer, and what is known of its failures, where it is armed for exactly this time. */
export const removeTimer = (tables: Tables, { executionId, fireAt, path }: Timer): boolean => {
  const removed = tables.timers.remove({ executionId, path, fireAt })
  if (removed) tables.failures.forget({ _tag: "Timer", executionId, path, fireAt })
  return removed
}

export const cancelTimer = (tables: Tables, executionId: string, path: string): void => {
  const timer = tables.timers.at(executionId, path)
  if (timer !== undefined) removeTimer(tables, timer)
}

export const armTimer = (tables: Tables, timer: Timer): void => {
  cancelTimer(tables, timer.executionId, timer.path)
  tables.timers.add(timer)
}

const dueTimers = (tables: Tables, ...[now, after, limit, except]: Parameters<Encoded["dueTimers"]>) => {
  const { failures, timers } = tables
  const isExcepted = tables.excepted(except)
  const due = Iterable.takeWhile(timers.due.after(after), (timer) => timer.fireAt <= now)
  const served = Iterable.filter(due, ({ executionId }) => !isExcepted(executionId))
  const page = Array.from(Iterable.take(served, limit))
  return {
    timers: page,
    failures: page.flatMap((timer) => failures.get({ _tag: "Timer", ...timer }) ?? []),
    broken: []
  }
}

/** Armed timers. */
export const make = (tables: Tables): Pick<Encoded, "dueTimers" | "nextTimer" | "isArmed" | "deleteTimer"> => ({
  dueTimers: (...query) => Effect.sync(() => dueTimers(tables, ...query)),

  nextTimer: Effect.sync(() => Option.fromNullable(tables.timers.due.first())),

  isArmed: ({ executionId, fireAt, path }) =>
    Effect.sync(() => tables.timers.due.get({ executionId, path, fireAt }) !== undefined),

  deleteTimer: (timer, fence) =>
    fenced(tables, { operation: "deleteTimer", executionId: timer.executionId }, fence, () =>
      removeTimer(tables, timer)
    )
})
