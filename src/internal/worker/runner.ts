import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberSet from "effect/FiberSet"
import type * as Scope from "effect/Scope"
import * as telemetryContext from "../telemetry/context.js"
import * as fence from "../util/fence.js"
import type { FailureState, Lane, Work } from "./lane.js"
import * as lane_ from "./lane.js"
import type { LaneTable } from "./laneTable.js"
import * as laneTable from "./laneTable.js"

export interface Options<A> {
  readonly table: LaneTable<A>
  /** How many lanes run side by side. */
  readonly concurrency: number
  /** What the lane is fenced by now: all that is done for a row is, from its delivery to what becomes of it. */
  readonly fenceOf: (work: Work<A>) => fence.Fence | undefined
  readonly run: (work: Work<A>, attempt: number) => Effect.Effect<unknown, unknown>
  /** The same for heads of several lanes at once, where that can be. */
  readonly runTogether?: RunTogether<A> | undefined
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

/** The head of a lane, how often it was tried, and what its lane was fenced by when it began. */
export interface Head<A> {
  readonly work: Work<A>
  readonly attempt: number
  readonly fence: fence.Fence | undefined
}

/** Who is told what becomes of each of several heads, by its place among them. */
export interface Ends {
  readonly done: (place: number) => void
  /** The work is not done yet: this does it, and its lane goes its own way. */
  readonly rest: (place: number, run: Effect.Effect<unknown, unknown>) => void
}

export type RunTogether<A> = (heads: ReadonlyArray<Head<A>>, ends: Ends) => Effect.Effect<void>

/** Runs the heads of the lanes that are ready: a fiber a group of lanes, or a lane, which goes on until these hold no more rows. */
export interface Runner {
  /** Starts as many of the lanes that are ready as there are free places. */
  readonly start: () => void
  /** Waits until no lane waits for a place. */
  readonly room: Effect.Effect<void>
  /** Begins no other work, and waits until what runs is done. */
  readonly stop: Effect.Effect<void>
}

/** A runner while it runs. `arrived` are the lanes that have a place and wait for the next group to begin, which `gathers` says is about to. */
interface Running<A> {
  readonly options: Options<A>
  readonly fork: (effect: Effect.Effect<void>, options: { readonly immediate: boolean }) => unknown
  readonly clock: Clock.Clock
  readonly room: Effect.Latch
  arrived: Array<Lane<A>>
  gathers: boolean
  /** How many groups run. */
  groups: number
}

export const make = <A>(options: Options<A>): Effect.Effect<Runner, never, Scope.Scope> =>
  Effect.gen(function* () {
    const fibers = yield* FiberSet.make<void>()
    const running: Running<A> = {
      options,
      fork: yield* telemetryContext.unparented(FiberSet.runtime(fibers)()),
      clock: yield* Effect.clock,
      room: yield* Effect.makeLatch(true),
      arrived: [],
      gathers: false,
      groups: 0
    }
    return {
      start: () => start(running),
      room: running.room.await,
      stop: Effect.suspend(() => {
        options.table.mode = "stopped"
        return FiberSet.awaitEmpty(fibers)
      })
    }
  })

const start = <A>(running: Running<A>): void => {
  const { clock, fork, options, room } = running
  const { concurrency, runTogether, table } = options
  while (table.running.size < concurrency) {
    const lane = laneTable.takeReady(table, clock.unsafeCurrentTimeMillis())
    if (lane === undefined) break
    if (runTogether === undefined) fork(runLane(running, lane), { immediate: false })
    else running.arrived.push(lane)
  }
  if (runTogether !== undefined) gather(running, runTogether)
  if (table.ready.size === 0) room.unsafeOpen()
  else room.unsafeClose()
}

const leave = <A>(running: Running<A>, lane: Lane<A>): void => {
  const { ended, table } = running.options
  const readableAt = laneTable.yieldPlace(table, lane)
  start(running)
  ended(readableAt)
}

/** Runs a lane by itself; `first` is what is left of its head, where that runs already. */
const runLane = <A>(
  running: Running<A>,
  lane: Lane<A>,
  first: Effect.Effect<void> = Effect.void
): Effect.Effect<void> => {
  const { fenceOf, table } = running.options
  const rows = Effect.suspend(() => {
    let work = laneTable.head(table, lane)
    return Effect.whileLoop({
      while: () => work !== undefined,
      body: () => (work === undefined ? Effect.void : fence.under(fenceOf(work))(runHead(running.options, lane, work))),
      step: () => {
        work = laneTable.head(table, lane)
      }
    })
  })
  return Effect.zipRight(first, rows).pipe(
    Effect.interruptible,
    Effect.ensuring(Effect.sync(() => leave(running, lane)))
  )
}

const runHead = <A>(options: Options<A>, lane: Lane<A>, work: Work<A>): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const before = lane_.failureOf(lane, work)
    lane_.begin(lane, now)
    return finishHead(options, lane, work, before, options.run(work, attemptAfter(before)))
  })

const attemptAfter = (before: FailureState | undefined): number => (before?.attempts ?? 0) + 1

/** Runs what is to be done for the head of a lane, or what is left of that. */
const finishHead = <A>(
  { failed, recovered, table }: Options<A>,
  lane: Lane<A>,
  work: Work<A>,
  before: FailureState | undefined,
  run: Effect.Effect<unknown, unknown>
): Effect.Effect<void> =>
  Effect.flatMap(Effect.exit(run), (exit) => {
    if (Exit.isSuccess(exit)) {
      laneTable.finish(table, lane, work)
      return before === undefined ? Effect.void : recovered(work, before)
    }
    const { takenBack } = table
    return Effect.zipWith(failed(work, exit.cause, before), Clock.currentTimeMillis, (state, now) => {
      // In one step: what is offered meanwhile must find the lane either running or held back.
      if (state === undefined) laneTable.finish(table, lane, work)
      else laneTable.hold(table, lane, work, { state, now, takenBack })
    })
  })

// While a group begins, nothing else runs in the process.
const mostTogether = 64

/** Lets a group begin when all have arrived that are ready at this moment. */
const gather = <A>(running: Running<A>, runTogether: RunTogether<A>): void => {
  if (running.gathers || running.arrived.length === 0) return
  running.gathers = true
  running.fork(
    Effect.suspend(() => {
      running.gathers = false
      return runGroup(running, runTogether)
    }),
    { immediate: false }
  )
}

/**
 * Runs lanes together, round by round, each with the heads of those that have one; others join them as they arrive. Groups that run side by
 * side become one when their rounds end: lanes that go on for long would stay in the groups in which they began.
 */
const runGroup = <A>(running: Running<A>, runTogether: RunTogether<A>): Effect.Effect<void> =>
  Effect.suspend(() => {
    const group = new Set<Lane<A>>()
    let heads = takeHeads(running, group)
    const loop = Effect.whileLoop({
      while: () => heads.length > 0,
      body: () => runRound(running, runTogether, group, heads),
      step: () => {
        if (running.groups > 1) {
          running.arrived.push(...group)
          group.clear()
          heads = []
        } else heads = takeHeads(running, group)
      }
    })
    running.groups++
    return Effect.ensuring(
      Effect.interruptible(loop),
      Effect.sync(() => {
        running.groups--
        for (const lane of group) leave(running, lane)
        gather(running, runTogether)
      })
    )
  })

/** A lane of a group, and its head, which runs. */
interface Begun<A> extends Head<A> {
  readonly lane: Lane<A>
  readonly before: FailureState | undefined
}

/** Begins the heads of the lanes of a group, and of those that have arrived; a lane without one gives up its place. */
const takeHeads = <A>(running: Running<A>, group: Set<Lane<A>>): ReadonlyArray<Begun<A>> => {
  const { clock, options } = running
  for (const lane of running.arrived.splice(0, Math.max(0, mostTogether - group.size))) group.add(lane)
  const heads: Array<Begun<A>> = []
  for (const lane of group) {
    const work = laneTable.head(options.table, lane)
    if (work === undefined) {
      group.delete(lane)
      leave(running, lane)
      continue
    }
    const before = lane_.failureOf(lane, work)
    lane_.begin(lane, clock.unsafeCurrentTimeMillis())
    heads.push({ lane, work, attempt: attemptAfter(before), fence: options.fenceOf(work), before })
  }
  return heads
}

const runRound = <A>(
  running: Running<A>,
  runTogether: RunTogether<A>,
  group: Set<Lane<A>>,
  heads: ReadonlyArray<Begun<A>>
): Effect.Effect<void> => {
  const { options } = running
  const left = new Set(heads.keys())
  /** From here on the lane goes its own way. */
  const part = (place: number, run: Effect.Effect<unknown, unknown>): void => {
    const head = heads[place]
    if (head === undefined || !left.delete(place)) return
    const { before, lane, work } = head
    group.delete(lane)
    // The lease may have been lost and taken again meanwhile: what the head comes to is still of the one under which it began.
    const first = fence.under(head.fence)(finishHead(options, lane, work, before, run))
    running.fork(runLane(running, lane, first), { immediate: true })
  }
  const done = (place: number): void => {
    const head = heads[place]
    if (head === undefined || !left.has(place)) return
    if (head.before !== undefined) {
      part(place, Effect.void)
      return
    }
    left.delete(place)
    laneTable.finish(options.table, head.lane, head.work)
  }
  // A bug must not leave a lane behind: it is what became of the work.
  const partAll = (run: (head: Begun<A>) => Effect.Effect<unknown, unknown>): void => {
    for (const place of left) {
      const head = heads[place]
      if (head !== undefined) part(place, run(head))
    }
  }
  return Effect.matchCauseEffect(runTogether(heads, { done, rest: part }), {
    onFailure: (cause) => {
      if (Cause.isInterruptedOnly(cause)) return Effect.failCause(cause)
      partAll(() => Effect.failCause(cause))
      return Effect.void
    },
    onSuccess: () => {
      partAll(({ attempt, work }) => options.run(work, attempt))
      return Effect.void
    }
  })
}
