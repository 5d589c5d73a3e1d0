import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Commit from "holdfast/Commit"
import type * as Event from "holdfast/Event"
import type { Execution } from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as Processor from "holdfast/Processor"
import type { Delivered } from "holdfast/QueueWorker"
import * as TimerSweeper from "holdfast/TimerSweeper"
import { execution } from "./workers.js"

export const sweeperOn = <E, R>(store: ExecutionStore.ExecutionStore, options: TimerSweeper.Options<E, R>) =>
  Effect.provideService(TimerSweeper.make(options), ExecutionStore.ExecutionStore, store)

export const seconds = Effect.map(Clock.currentTimeMillis, (millis) => millis / 1000)

/** Writes down what fired, and when. */
export const recording = () => {
  const fired: Array<readonly [path: string, at: number]> = []
  const events: Array<Event.Event> = []
  const deliver = (timer: Commit.Timer, event: Event.Event): Effect.Effect<Delivered> =>
    Effect.map(seconds, (now) => {
      fired.push([timer.path, now])
      events.push(event)
      return "Delivered"
    })
  return { fired, events, deliver }
}

/** Delivers through a processor, as a runtime does. */
export const processing = (store: ExecutionStore.ExecutionStore, transition: Processor.Transition) =>
  Effect.map(
    Effect.provideService(
      Processor.make({ definitions: { recorder: transition } }),
      ExecutionStore.ExecutionStore,
      store
    ),
    ({ process }) =>
      (timer: Commit.Timer, event: Event.Event) =>
        Effect.as(process(timer.executionId, event, { ack: { _tag: "Timer", ...timer } }), "Acknowledged" as const)
  )

export const arm = (
  store: ExecutionStore.ExecutionStore,
  id: string,
  timers: ReadonlyArray<readonly [path: string, fireAt: number]>
) =>
  Effect.map(
    store.commit(execution(id), { timers: timers.map(([path, fireAt]) => Commit.scheduleTimer(path, fireAt)) }),
    (committed): Execution => committed.execution
  )

/** Counts the pages that are read. */
export const counting = (store: ExecutionStore.ExecutionStore) => {
  const reads = { count: 0 }
  const counted: ExecutionStore.ExecutionStore = {
    ...store,
    dueTimers: (...args) =>
      Effect.suspend(() => {
        reads.count++
        return store.dueTimers(...args)
      })
  }
  return { reads, counted }
}

/** The clock of the test, of which the wall clock can be set back by so many seconds: what passes is measured as before. */
export const wallClock = Effect.map(Effect.clock, (clock) => {
  let back = 0
  const millis = () => clock.unsafeCurrentTimeMillis() - back
  const nanos = () => clock.unsafeCurrentTimeNanos()
  const wall: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: millis,
    unsafeCurrentTimeNanos: nanos,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanos: Effect.sync(nanos),
    sleep: (duration) => clock.sleep(duration)
  }
  return {
    wall,
    setBack: (seconds: number): void => {
      back += seconds * 1000
    }
  }
})
