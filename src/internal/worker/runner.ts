import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import * as telemetryContext from "../telemetry/context.js"
import type { FailureState, Lane, Work } from "./lane.js"
import * as lane_ from "./lane.js"
import type { LaneTable } from "./laneTable.js"
import * as laneTable from "./laneTable.js"

export interface Options<A> {
  readonly table: LaneTable<A>
  /** How many lanes run side by side. */
  readonly concurrency: number
  /** Runs all that is done for a row, from its delivery to what becomes of it, under what the lane is fenced by now. */
  readonly fenced: (work: Work<A>, effect: Effect.Effect<void>) => Effect.Effect<void>
  readonly run: (work: Work<A>, attempt: number) => Effect.Effect<unknown, unknown>
  /** Decides what becomes of work that failed, and gives what to remember of it until it is run again; nothing where its row is gone. */
  readonly failed: (
    work: Work<A>,
    cause: Cause.Cause<unknown>,
    before: FailureState | undefined
  ) => Effect.Effect<FailureState | undefined>
  readonly recovered: (work: Work<A>, from: FailureState) => Effect.Effect<void>
  /** A lane gave up its place. Its rows in the store may be read again at this time, in milliseconds since the epoch; 0 is at once. */
  readonly ended: (readableAt: number) => void
}

/** Runs the heads of the lanes that are ready: a fiber a lane, which goes on until the lane holds no more rows. */
export interface Runner {
  /** Starts as many of the lanes that are ready as there are free places. */
  readonly start: () => void
  /** Waits until no lane waits for a place. */
  readonly room: Effect.Effect<void>
  /** Begins no other work, and waits until what runs is done. */
  readonly stop: Effect.Effect<void>
}

export const make = <A>(options: Options<A>): Effect.Effect<Runner, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { concurrency, ended, table } = options
    const clock = yield* Effect.clock
    const fibers = yield* FiberSet.make<void>()
    const fork = yield* telemetryContext.unparented(FiberSet.runtime(fibers)())
    const room = yield* Effect.makeLatch(true)

    const start = (): void => {
      while (table.running.size < concurrency) {
        const lane = laneTable.takeReady(table, clock.unsafeCurrentTimeMillis())
        if (lane === undefined) break
        fork(runLane(options, lane, leave), { immediate: false })
      }
      if (table.ready.size === 0) room.unsafeOpen()
      else room.unsafeClose()
    }

    const leave = (lane: Lane<A>): void => {
      const readableAt = laneTable.yieldPlace(table, lane)
      start()
      ended(readableAt)
    }

    return {
      start,
      room: room.await,
      stop: Effect.suspend(() => {
        table.mode = "stopped"
        return FiberSet.awaitEmpty(fibers)
      })
    }
  })

const runLane = <A>(options: Options<A>, lane: Lane<A>, leave: (lane: Lane<A>) => void): Effect.Effect<void> =>
  Effect.suspend(() => {
    let work = laneTable.head(options.table, lane)
    return Effect.whileLoop({
      while: () => work !== undefined,
      body: () => (work === undefined ? Effect.void : options.fenced(work, runHead(options, lane, work))),
      step: () => {
        work = laneTable.head(options.table, lane)
      }
    })
  }).pipe(Effect.interruptible, Effect.ensuring(Effect.sync(() => leave(lane))))

const runHead = <A>({ failed, recovered, run, table }: Options<A>, lane: Lane<A>, work: Work<A>): Effect.Effect<void> =>
  Effect.gen(function* () {
    const before = lane_.failureOf(lane, work)
    lane_.begin(lane, yield* Clock.currentTimeMillis)
    const exit = yield* Effect.exit(run(work, (before?.attempts ?? 0) + 1))
    if (Exit.isSuccess(exit)) {
      laneTable.finish(table, lane, work)
      if (before !== undefined) yield* recovered(work, before)
      return
    }
    const state = yield* failed(work, exit.cause, before)
    // In one step: what is offered meanwhile must find the lane either running or held back.
    if (state === undefined) laneTable.finish(table, lane, work)
    else laneTable.hold(table, lane, work, state)
  })
