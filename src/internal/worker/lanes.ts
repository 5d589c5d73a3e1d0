import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import type { Lane, Trouble, Work } from "./lane.js"
import * as lane_ from "./lane.js"

export type { Trouble, Work } from "./lane.js"

export interface Options<A> {
  readonly concurrency: number
  /** How many rows of one lane are held in memory; the others stay in the store until their turn. */
  readonly depth: number
  /** How many lanes are held in memory. While there are that many, it takes no others. */
  readonly most: number
  readonly run: (work: Work<A>, attempt: number) => Effect.Effect<unknown, unknown>
  /** Decides what becomes of work that failed, and gives what to remember of it until it is run again; nothing where its row is gone. */
  readonly failed: (
    work: Work<A>,
    cause: Cause.Cause<unknown>,
    before: Trouble | undefined
  ) => Effect.Effect<Trouble | undefined>
  readonly recovered: (work: Work<A>, from: Trouble) => Effect.Effect<void>
  /** A lane ended, which left rows in the store that may run at this time, in milliseconds since the epoch; 0 is at once. */
  readonly ended: (next: number) => void
  /** Whether the lane is to be served here. */
  readonly owns: (lane: string | null) => boolean
}

/**
 * Runs rows in their lanes. One fiber reads rows and offers them, in order; a lane that falls behind, or whose work fails, leaves its rows
 * in the store, and takes them when they are read again: memory is bounded by lanes, not by rows, and nobody waits for another's lane.
 */
export interface Lanes<A> {
  /** Takes the row, or leaves it in the store. Gives what is to be run to wait for a place, where all of `concurrency` is in use. */
  readonly offer: (work: Work<A>, now: number) => Effect.Effect<unknown> | undefined
  readonly has: (lane: string | null) => boolean
  /** Whether there are as many lanes as there may be. */
  readonly full: () => boolean
  /**
   * Begins a reading: lanes that were left behind and may go on catch up, as many as can run, so that new rows get their share too. Gives
   * where the first and the last of them begin.
   */
  readonly begin: (now: number) => { readonly first: number; readonly last: number }
  /** The rows of this lane are wanted although they were read before. */
  readonly catchingUp: (lane: string | null) => boolean
  /** The rows up to this position were offered. Gives where the next ones are that lanes want although they were read before. */
  readonly wanted: (reached: number) => number
  /** A page is about to be read: what was done before that is not in it. */
  readonly reading: () => void
  /** Ends the catching up: the rows that were read before have all been offered. */
  readonly end: () => void
  /** An execution was advanced: lets work that waits for that, or is about to, go on at once; false where none waits. */
  readonly release: (executionId: string) => boolean
  /** When the first of the lanes that were left behind may go on. */
  readonly nextTurn: () => number
  readonly running: () => number
  /** When the work began that runs the longest, none where nothing runs. */
  readonly runningSince: () => number | undefined
  readonly backlog: () => number
  readonly held: () => number
  /** Begins no work until it is resumed; what is left goes back to the store. */
  readonly pause: () => void
  readonly resume: () => void
  /** Forgets the lanes that are served elsewhere now. */
  readonly disown: () => void
  /** Begins no other work, and waits until what runs is done. */
  readonly stop: Effect.Effect<void>
}

const mostWaiters = 1000

export const make = <A>(options: Options<A>): Effect.Effect<Lanes<A>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const fibers = yield* FiberSet.make<void>()
    const clock = yield* Effect.clock
    const concurrency = Math.max(1, options.concurrency)
    const slots = yield* Effect.makeSemaphore(concurrency)
    const lanes = new Map<string | null, Lane<A>>()
    const active = new Set<Lane<A>>()
    // Where each lane that catches up begins.
    const catching = new Map<string | null, number>()
    // What was done since the page was read, which still shows it.
    const done = new Set<string | number>()
    // Lanes that wait for an execution which is not their own.
    const waiters = new Map<string, Set<Lane<A>>>()
    let stopping = false
    let paused = false

    const finished = (lane: Lane<A>, work: Work<A>) => {
      lane.queue.shift()
      done.add(work.id)
      lane.failed = undefined
    }

    const waitFor = (executionId: string, lane: Lane<A>) => {
      // Those who are forgotten go on at their time.
      if (waiters.size >= mostWaiters) waiters.clear()
      const others = waiters.get(executionId)
      if (others === undefined || others.size >= mostWaiters) waiters.set(executionId, new Set([lane]))
      else others.add(lane)
    }

    const runOne = (lane: Lane<A>, work: Work<A>) =>
      Effect.gen(function* () {
        const before = lane_.troubleOf(lane, work)
        lane.released = false
        lane.since = clock.unsafeCurrentTimeMillis()
        const exit = yield* Effect.exit(options.run(work, (before?.attempts ?? 0) + 1))
        if (Exit.isSuccess(exit)) {
          finished(lane, work)
          return before === undefined ? undefined : yield* options.recovered(work, before)
        }
        const trouble = yield* options.failed(work, exit.cause, before)
        // In one step: what is offered meanwhile must find the lane either running or held back.
        if (trouble === undefined) return finished(lane, work)
        catching.delete(work.lane)
        lane_.hold(lane, work, trouble)
        if (trouble.waits > 0 && work.waitsFor !== undefined) waitFor(work.waitsFor, lane)
      })

    const mayRun = (key: string | null) => !stopping && !paused && options.owns(key)

    const runLane = (key: string | null, lane: Lane<A>) =>
      Effect.whileLoop({
        while: () => lane.queue.length > 0 && mayRun(key),
        body: () => {
          const [work] = lane.queue
          return work === undefined ? Effect.void : runOne(lane, work)
        },
        step: () => {}
      }).pipe(
        Effect.interruptible,
        Effect.ensuring(
          Effect.suspend(() => {
            active.delete(lane)
            lane.running = false
            lane_.leaveQueue(lane)
            if (lane.behind === undefined || !options.owns(key)) lanes.delete(key)
            options.ended(lane.behind !== undefined && mayRun(key) ? lane.retryAt : Number.POSITIVE_INFINITY)
            return slots.release(1)
          })
        )
      )

    const start = (work: Work<A>, lane: Lane<A>) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.zipRight(
          restore(slots.take(1)),
          Effect.suspend((): Effect.Effect<unknown> => {
            // It may have waited long for its place.
            if (!options.owns(work.lane)) {
              lanes.delete(work.lane)
              return slots.release(1)
            }
            lane_.take(lane, work)
            lanes.set(work.lane, lane)
            if (paused) {
              lane_.leaveQueue(lane)
              return slots.release(1)
            }
            lane.running = true
            lane.since = clock.unsafeCurrentTimeMillis()
            active.add(lane)
            return FiberSet.run(fibers, runLane(work.lane, lane))
          })
        )
      )

    const startOrHold = (work: Work<A>, lane: Lane<A>, now: number): Effect.Effect<unknown> | undefined => {
      const later = lane_.heldElsewhere(lane, work, now)
      if (later === undefined) return start(work, lane)
      lane_.take(lane, work)
      lane_.hold(lane, work, later)
      lanes.set(work.lane, lane)
      return undefined
    }

    const offer = (work: Work<A>, now: number): Effect.Effect<unknown> | undefined => {
      if (done.has(work.id) || !options.owns(work.lane)) return undefined
      const lane = lanes.get(work.lane)
      if (lane === undefined) return startOrHold(work, lane_.make(), now)
      if (lane_.hasTaken(lane, work)) return undefined
      if (lane.behind !== undefined) {
        lane_.leave(lane, work)
        return undefined
      }
      if (lane.failed !== undefined && !lane.running) {
        // It tries this one alone: where that fails again, the others were read for nothing.
        lane.behind = lane.left
        lane.left = undefined
        catching.delete(work.lane)
        return startOrHold(work, lane, now)
      }
      if (lane.queue.length >= options.depth) {
        lane.behind = work.position
        catching.delete(work.lane)
        return undefined
      }
      if (!lane.running) return startOrHold(work, lane, now)
      lane_.take(lane, work)
      return undefined
    }

    const count = (f: (lane: Lane<A>) => number): number => {
      let sum = 0
      for (const lane of lanes.values()) sum += f(lane)
      return sum
    }

    return {
      offer,
      has: (key) => lanes.has(key),
      full: () => lanes.size >= options.most,
      begin: (now) => {
        let first = Number.POSITIVE_INFINITY
        let last = Number.NEGATIVE_INFINITY
        for (const [key, lane] of lanes) {
          if (catching.size >= concurrency) break
          if (lane.behind === undefined || lane.running || lane.retryAt > now) continue
          first = Math.min(first, lane.behind)
          last = Math.max(last, lane.behind)
          catching.set(key, lane.behind)
          lane.behind = undefined
          lane.retryAt = 0
        }
        return { first, last }
      },
      catchingUp: (key) => catching.has(key),
      wanted: (reached) => {
        let next = Number.POSITIVE_INFINITY
        for (const position of catching.values()) next = Math.min(next, Math.max(position, reached))
        return next
      },
      reading: () => done.clear(),
      end: () => {
        for (const key of catching.keys()) {
          // Nothing of it is left: its rows were removed by others.
          if (lanes.get(key)?.running === false) lanes.delete(key)
        }
        catching.clear()
      },
      release: (key) => {
        const lane = lanes.get(key)
        if (lane?.running) lane.released = true
        let released = lane !== undefined && lane_.release(lane)
        for (const waiting of waiters.get(key) ?? []) released = lane_.release(waiting) || released
        waiters.delete(key)
        return released
      },
      nextTurn: () => {
        let next = Number.POSITIVE_INFINITY
        for (const lane of lanes.values()) {
          if (lane.behind !== undefined && !lane.running) next = Math.min(next, lane.retryAt)
        }
        return next
      },
      running: () => active.size,
      runningSince: () => {
        let since: number | undefined
        for (const lane of active) since = Math.min(since ?? lane.since, lane.since)
        return since
      },
      backlog: () => count((lane) => lane.queue.length),
      held: () => count((lane) => (lane_.isHeld(lane) ? 1 : 0)),
      pause: () => {
        paused = true
      },
      resume: () => {
        paused = false
      },
      disown: () => {
        for (const [key, lane] of lanes) if (!lane.running && !options.owns(key)) lanes.delete(key)
      },
      stop: Effect.suspend(() => {
        stopping = true
        return FiberSet.awaitEmpty(fibers)
      })
    }
  })
