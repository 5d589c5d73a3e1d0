import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as FiberRefs from "effect/FiberRefs"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import type { Scheduler } from "effect/Scheduler"
import * as Metrics from "../../Metrics.js"
import type { Statement } from "../../SqlDriver.js"
import * as telemetryContext from "../telemetry/context.js"
import * as metrics from "../telemetry/metrics.js"
import type { Failure, LazyDriver, Results } from "./lazyDriver.js"
import { failed, type Member, type Outcome, settle, settleAll, succeeded } from "./member.js"

/** - `maxCommits`, `maxBytes`: how much one transaction takes at most; a single larger list still goes, alone. */
export interface Limits {
  readonly maxCommits: number
  readonly maxBytes: number
}

/**
 * Where the shared transaction is.
 *
 * - `Scheduled`: it starts when other fibers have had their turn, and in a turn of the event loop that has time left.
 * - `Beginning`: its fiber waits for the database, and everybody who comes meanwhile will be in it.
 * - `Begun`: its members are taken.
 */
type Phase =
  | { readonly _tag: "Idle" }
  | { readonly _tag: "Scheduled" }
  | { readonly _tag: "Beginning"; readonly fiber: Fiber.RuntimeFiber<void> }
  | { readonly _tag: "Begun" }

/** What of the fiber that opened the store holds for all shared transactions, which belong to no caller. */
interface Environment {
  readonly fork: (effect: Effect.Effect<void>) => Fiber.RuntimeFiber<void>
  readonly scheduler: Scheduler
  readonly tracing: boolean
  readonly labels: metrics.Labels
}

/** Transactions that wait to share one, and the one that is under way: one at a time. */
export interface Group {
  readonly driver: LazyDriver
  readonly limits: Limits
  readonly environment: Environment
  /** Open while there is nothing to do. */
  readonly drained: Effect.Latch
  waiting: Array<Member>
  phase: Phase
  /** How many calls there were. */
  calls: number
  /** Who called last, by the number of the fiber. */
  lastCaller: number | undefined
  closed: boolean
}

export const make = (driver: LazyDriver, limits: Limits): Effect.Effect<Group> =>
  Effect.gen(function* () {
    // The fiber that opens the store ends, and its span with it.
    const runtime = yield* telemetryContext.unparented(Effect.runtime<never>())
    const refs = runtime.fiberRefs
    return {
      driver,
      limits,
      environment: {
        fork: Runtime.runFork(runtime),
        scheduler: FiberRefs.getOrDefault(refs, FiberRef.currentScheduler),
        tracing: FiberRefs.getOrDefault(refs, FiberRef.currentTracerEnabled),
        labels: FiberRefs.getOrDefault(refs, FiberRef.currentMetricLabels)
      },
      drained: yield* Effect.makeLatch(true),
      waiting: [],
      phase: { _tag: "Idle" },
      calls: 0,
      lastCaller: undefined,
      closed: false
    }
  })

const size = metrics.instrument(Metrics.batchSize, { batch: "writes" })

/** Records how many shared a transaction. */
export const measure = (group: Group, members: number): void => size(members, group.environment.labels)

export const enqueue = (group: Group, member: Member): void => {
  group.waiting.push(member)
  if (group.phase._tag === "Idle") {
    group.drained.unsafeClose()
    schedule(group)
  }
}

/**
 * Nobody waits for the member any more, which no transaction has taken. Gives the fiber that begins one for nobody now: it is to be
 * interrupted at once, for a moment later others might have joined it.
 */
export const leave = (group: Group, member: Member): Fiber.RuntimeFiber<void> | undefined => {
  group.waiting = group.waiting.filter((other) => other !== member)
  return group.waiting.length === 0 && group.phase._tag === "Beginning" ? group.phase.fiber : undefined
}

/** Lets every fiber that is about to commit do so first; where there are some, also those that are only being forked. */
const schedule = (group: Group): void => {
  group.phase = { _tag: "Scheduled" }
  soon(group, () => {
    if (group.waiting.length > 1) soon(group, () => soon(group, () => start(group)))
    else start(group)
  })
}

/** Runs a task when the fibers have run that are about to. */
const soon = (group: Group, task: () => void): void => group.environment.scheduler.scheduleTask(task, 0)

/** One shared transaction, and its members from when it has begun. */
interface Round {
  members: ReadonlyArray<Member> | undefined
}

/** The call of a shared transaction. Its members report failures as their own calls. */
const call = { operation: "commit" }

const start = (group: Group): void => {
  const { attempt, inTurn } = group.driver
  // To wait for a turn takes no fiber: what comes meanwhile shares the transaction.
  if (attempt !== undefined && inTurn !== undefined) inTurn(() => startInTurn(group))
  else startInTurn(group)
}

const startInTurn = (group: Group): void => {
  // Everybody may have left meanwhile.
  if (group.waiting.length === 0) {
    ended(group)
    return
  }
  const round: Round = { members: undefined }
  const attempted = group.driver.attempt?.(call, () => statementsOf(group, round))
  if (attempted === undefined || round.members === undefined) {
    startFiber(group, round)
  } else {
    const { members } = round
    measure(group, members.length)
    tell(group, members, outcomesOf(members, attempted), () => ended(group))
  }
}

/** What became of the members of a transaction that needed no fiber. */
export const outcomesOf = (
  members: ReadonlyArray<Member>,
  attempted: Either.Either<Results, Failure>
): ReadonlyArray<Outcome> =>
  Either.isRight(attempted) ? succeeded(members, attempted.right) : failed(members, Cause.fail(attempted.left))

// What so many callers do next takes about as long as the transaction took. It is no less than what a relay does at once: told of in smaller
// parts, its events would be worked off in smaller parts too, which costs a third more.
const toldTogether = 64

// So few are told at once: nobody has to wait for what they do next.
const few = 8

/**
 * Tells the members what became of them. Where there are many, the callers may have a lot to do now: others of the event loop have their turn before
 * where it is time for it. The next transaction waits until all are told, as most of them come back for it.
 */
const tell = (
  group: Group,
  members: ReadonlyArray<Member>,
  outcomes: ReadonlyArray<Outcome>,
  done: () => void
): void => {
  const { inTurn } = group.driver
  if (inTurn === undefined || members.length <= few) {
    settleAll(members, outcomes)
    done()
    return
  }
  inTurn(() => {
    settleAll(members.slice(0, toldTogether), outcomes)
    if (members.length <= toldTogether) done()
    else soon(group, () => tell(group, members.slice(toldTogether), outcomes.slice(toldTogether), done))
  })
}

/** Whether so many can share one transaction. */
export const fits = ({ limits }: Group, members: ReadonlyArray<Member>): boolean =>
  members.length <= limits.maxCommits && members.reduce((sum, { bytes }) => sum + bytes, 0) <= limits.maxBytes

const startFiber = (group: Group, round: Round): void => {
  const fiber = group.environment.fork(Effect.uninterruptible(run(group, round)))
  if (group.phase._tag === "Scheduled") group.phase = { _tag: "Beginning", fiber }
  fiber.addObserver(() => ended(group))
}

const ended = (group: Group): void => {
  group.phase = { _tag: "Idle" }
  if (group.waiting.length > 0) schedule(group)
  else group.drained.unsafeOpen()
}

/** What the transaction runs, which has begun. One that begins anew has the same members. */
const statementsOf = (group: Group, round: Round): ReadonlyArray<Statement> => {
  round.members ??= takeMembers(group)
  return round.members.flatMap((member) => member.statements)
}

const takeMembers = (group: Group): ReadonlyArray<Member> => {
  const { limits, waiting } = group
  let bytes = 0
  const end = waiting.findIndex((member, i) => {
    bytes += member.bytes
    return i > 0 && (i === limits.maxCommits || bytes > limits.maxBytes)
  })
  const members = end < 0 ? waiting : waiting.slice(0, end)
  group.waiting = end < 0 ? [] : waiting.slice(end)
  group.phase = { _tag: "Begun" }
  for (const member of members) member.state = { _tag: "Taken" }
  return members
}

const run = (group: Group, round: Round): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { calls, driver, environment, waiting } = group
    // What only upkeep asks for makes no spans, as the upkeep itself makes none.
    const traced = waiting.some((member) => member.traced)
    const transaction = driver.transaction(call, () => statementsOf(group, round))
    const ran = traced === environment.tracing ? transaction : Effect.withTracerEnabled(transaction, traced)
    return Effect.flatMap(Effect.exit(Effect.interruptible(ran)), (exit) => {
      if (round.members === undefined) return Effect.sync(() => neverBegan(group, exit, calls))
      measure(group, round.members.length)
      return tellAll(group, round.members, exit)
    })
  })

/** Fails those who waited from the first for a transaction that could not begin; those who came later try again. */
const neverBegan = (group: Group, exit: Outcome, calls: number): void => {
  if (Exit.isSuccess(exit) || Exit.isInterrupted(exit)) return
  const { waiting } = group
  group.waiting = waiting.filter((member) => member.number > calls)
  const first = waiting.filter((member) => member.number <= calls)
  settleAll(first, failed(first, exit.cause))
}

const tellAll = (group: Group, members: ReadonlyArray<Member>, exit: Outcome): Effect.Effect<void> => {
  if (Exit.isFailure(exit) && members.length > 1 && isRejected(exit.cause)) {
    return Effect.forEach(members, (member) => runAlone(group, member), { discard: true })
  }
  return Effect.async((resume) => {
    const outcomes = Exit.isSuccess(exit) ? succeeded(members, exit.value) : failed(members, exit.cause)
    tell(group, members, outcomes, () => resume(Effect.void))
  })
}

const isRejected = (cause: Cause.Cause<Failure>): boolean =>
  Option.exists(Cause.failureOption(cause), (error) => error._tag === "StoreRejected")

const runAlone = (group: Group, member: Member): Effect.Effect<void> =>
  Effect.map(Effect.exit(group.driver.transaction(member.call, () => member.statements)), (exit) =>
    settle(member, exit)
  )
