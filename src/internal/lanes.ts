import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"

/**
 * A stored row to work on. Rows of one lane run one after the other in the order of their positions, lanes run side by side. `id` tells a
 * row that is read a second time, `label` names it in the log.
 */
export interface Work<A> {
  readonly lane: string | null
  readonly id: string
  readonly position: number
  readonly label: string
  readonly item: A
}

export interface Options<A> {
  readonly concurrency: number
  /** How many rows of one lane are held in memory; the others stay in the store until their turn. */
  readonly depth: number
  readonly run: (item: A) => Effect.Effect<unknown, unknown>
  /** When a lane whose work failed may go on, in milliseconds since the epoch. */
  readonly retryAt: (now: number) => number
  /** Says what failed, in the log and elsewhere, and gives a text that stays the same while the failure does. */
  readonly failed: (work: Work<A>, cause: Cause.Cause<unknown>, known: string | undefined) => Effect.Effect<string>
  readonly recovered: (work: Work<A>) => Effect.Effect<void>
  /** A lane ended: `more` where there are rows that it left in the store. */
  readonly ended: (more: boolean) => void
}

const newLane = <A>(): Lane<A> => ({
  queue: [],
  running: false,
  behind: undefined,
  failed: undefined,
  left: undefined,
  retryAt: 0,
  released: false
})

interface Lane<A> {
  readonly queue: Array<Work<A>>
  running: boolean
  /** The position of the first row that the lane left in the store, if it did. Until that one is read again it takes no other. */
  behind: number | undefined
  /** What failed last, until something goes well. Then `behind` is where this row is, and the lane tries it before all others. */
  failed: { readonly id: string; readonly message: string } | undefined
  /** The position of the first row behind the failed one, as far as is known. */
  left: number | undefined
  retryAt: number
  /** Whether it was let go while its work ran. */
  released: boolean
}

/**
 * Runs rows in their lanes. One fiber reads rows and offers them, in order; a lane that falls behind, or whose work fails, leaves its rows
 * in the store, and takes them when they are read again: memory is bounded by lanes, not by rows, and nobody waits for another's lane.
 */
export interface Lanes<A> {
  /** Takes the row, or leaves it in the store; waits while all of `concurrency` is in use. */
  readonly offer: (work: Work<A>) => Effect.Effect<void>
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
  /** Lets a lane that is held back, or is about to be, go on at once; false where it is not held back. */
  readonly release: (lane: string) => boolean
  /** When the first of the lanes that were left behind may go on. */
  readonly nextTurn: () => number
  readonly running: () => number
  readonly backlog: () => number
  readonly held: () => number
  /** Begins no other work, and waits until what runs is done. */
  readonly stop: Effect.Effect<void>
}

export const make = <A>(options: Options<A>): Effect.Effect<Lanes<A>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const fibers = yield* FiberSet.make<void>()
    const concurrency = Math.max(1, options.concurrency)
    const slots = yield* Effect.makeSemaphore(concurrency)
    const lanes = new Map<string | null, Lane<A>>()
    // Where each lane that catches up begins.
    const catching = new Map<string | null, number>()
    // What was done since the page was read, which still shows it.
    const done = new Set<string>()
    let running = 0
    let stopping = false

    const hold = (lane: Lane<A>, work: Work<A>, cause: Cause.Cause<unknown>) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const message = yield* options.failed(work, cause, lane.failed?.message)
        // In one step: what is offered meanwhile must find the lane either running or held back.
        lane.left = lane.queue[1]?.position ?? lane.behind
        lane.behind = work.position
        lane.queue.length = 0
        // What it failed for may have come while it ran; only once, or work that fails by its own doing would never rest.
        lane.retryAt = lane.released && lane.failed === undefined ? 0 : options.retryAt(now)
        lane.failed = { id: work.id, message }
        catching.delete(work.lane)
      })

    const runOne = (lane: Lane<A>, work: Work<A>) =>
      Effect.gen(function* () {
        lane.released = false
        const exit = yield* Effect.exit(options.run(work.item))
        if (Exit.isFailure(exit)) return yield* hold(lane, work, exit.cause)
        lane.queue.shift()
        done.add(work.id)
        if (lane.failed === undefined) return
        lane.failed = undefined
        yield* options.recovered(work)
      })

    const runLane = (key: string | null, lane: Lane<A>) =>
      Effect.whileLoop({
        while: () => !stopping && lane.queue.length > 0,
        body: () => {
          const [work] = lane.queue
          return work === undefined ? Effect.void : runOne(lane, work)
        },
        step: () => {}
      }).pipe(
        Effect.interruptible,
        Effect.ensuring(
          Effect.suspend(() => {
            running--
            lane.running = false
            if (lane.behind === undefined) lanes.delete(key)
            options.ended(lane.behind !== undefined && lane.retryAt === 0)
            return slots.release(1)
          })
        )
      )

    const start = (work: Work<A>, lane: Lane<A>) =>
      Effect.uninterruptibleMask((restore) =>
        Effect.zipRight(
          restore(slots.take(1)),
          Effect.suspend(() => {
            running++
            lane.running = true
            lane.queue.push(work)
            lanes.set(work.lane, lane)
            return FiberSet.run(fibers, runLane(work.lane, lane))
          })
        )
      )

    const offer = (work: Work<A>): Effect.Effect<unknown> => {
      if (done.has(work.id)) return Effect.void
      const lane = lanes.get(work.lane)
      if (lane === undefined) return start(work, newLane())
      if (lane.queue.some((queued) => queued.id === work.id)) return Effect.void
      if (lane.behind !== undefined) {
        if (lane.failed === undefined) lane.behind = Math.min(lane.behind, work.position)
        else if (lane.failed.id !== work.id) lane.left = Math.min(lane.left ?? work.position, work.position)
        return Effect.void
      }
      if (lane.failed !== undefined && !lane.running) {
        // It tries this one alone: where that fails again, the others were read for nothing.
        lane.behind = lane.left
        lane.left = undefined
        catching.delete(work.lane)
        return start(work, lane)
      }
      if (lane.queue.length >= options.depth) {
        lane.behind = work.position
        catching.delete(work.lane)
        return Effect.void
      }
      if (!lane.running) return start(work, lane)
      lane.queue.push(work)
      return Effect.void
    }

    const isHeld = (lane: Lane<A>): boolean => lane.behind !== undefined && lane.retryAt > 0
    const isWaiting = (lane: Lane<A>): boolean => lane.behind !== undefined && !lane.running

    const count = (f: (lane: Lane<A>) => number): number => {
      let sum = 0
      for (const lane of lanes.values()) sum += f(lane)
      return sum
    }

    return {
      offer: (work) => Effect.asVoid(Effect.suspend(() => offer(work))),
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
        if (lane === undefined || !isHeld(lane)) return false
        lane.retryAt = 0
        return true
      },
      nextTurn: () => {
        let next = Number.POSITIVE_INFINITY
        for (const lane of lanes.values()) if (isWaiting(lane)) next = Math.min(next, lane.retryAt)
        return next
      },
      running: () => running,
      backlog: () => count((lane) => lane.queue.length),
      held: () => count((lane) => (isHeld(lane) ? 1 : 0)),
      stop: Effect.suspend(() => {
        stopping = true
        return FiberSet.awaitEmpty(fibers)
      })
    }
  })
