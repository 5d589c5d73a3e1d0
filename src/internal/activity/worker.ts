import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { Any as AnyActivity, AnyHandler, CurrentRun } from "../../Activity.js"
import { ActivityRegistered, type InvalidActivityHandler } from "../../ActivityError.js"
import type { ActivityWorker, Options, UnknownActivity } from "../../ActivityWorker.js"
import type { ActivityRun } from "../../EncodedStore.js"
import type { Status } from "../../Execution.js"
import { type ClaimedActivity, ExecutionStore, type Notice } from "../../ExecutionStore.js"
import * as Ids from "../../Ids.js"
import type { Health } from "../../QueueWorker.js"
import type { StoreCorrupt, StoreError, StoreRejected } from "../../StoreError.js"
import * as otherWrites from "../supervision/otherWrites.js"
import * as pollSchedule from "../supervision/pollSchedule.js"
import type { StoreMonitor } from "../supervision/storeMonitor.js"
import * as storeMonitor from "../supervision/storeMonitor.js"
import * as supervised from "../supervision/supervised.js"
import * as wakeup_ from "../supervision/wakeup.js"
import { dueMillis } from "../supervision/wakeup.js"
import * as yieldEvery from "../supervision/yieldEvery.js"
import * as telemetryContext from "../telemetry/context.js"
import * as deliveryTelemetry from "../telemetry/delivery.js"
import * as log from "../telemetry/log.js"
import * as onDeliveryFailure from "../worker/onDeliveryFailure.js"
import * as attempt from "./attempt.js"
import { contractOf } from "./contract.js"
import type { Membership } from "./membership.js"
import * as membership_ from "./membership.js"
import { decode, type Settings } from "./options.js"
import * as run from "./run.js"
import type { Served } from "./served.js"
import * as served_ from "./served.js"

const module = "ActivityWorker"
const beginning = Number.NEGATIVE_INFINITY

/** How often it is looked at most for what other processes wrote, in milliseconds. */
const heeds = 100

/** For how long after a claim that failed it may still turn out to have been made, in milliseconds. */
const claimsArriveFor = 60_000

/** What runs, since when in milliseconds since the epoch. */
interface Running {
  readonly activity: ClaimedActivity
  readonly since: number
  readonly fiber: Fiber.RuntimeFiber<void>
}

/** Since when work waits for an activity, in seconds since the epoch, and whether the log says so. */
interface Unknown {
  readonly since: number
  logged: boolean
}

/** A worker while it runs. */
interface Worker {
  readonly settings: Settings
  readonly store: ExecutionStore
  readonly monitor: StoreMonitor
  readonly membership: Membership
  readonly runs: run.Runs
  readonly served: Map<string, Served>
  /** What runs, by the token of its claim and its seq. */
  readonly running: Map<string, Running>
  /** The activities that work waits for and that are not served. */
  readonly unknown: Map<string, Unknown>
  readonly wakeup: wakeup_.Wakeup
  readonly looks: pollSchedule.PollSchedule
  readonly yielding: Effect.Effect<void>
  readonly fork: (effect: Effect.Effect<void>) => Fiber.RuntimeFiber<void>
  readonly drained: Effect.Effect<void>
  mode: "open" | "paused" | "stopped"
  /** Whether an activity that runs here may have been taken back. */
  recheck: boolean
  /** Until when something may be claimed here that does not run, in milliseconds since the epoch. */
  unsureUntil: number
  lastRun: Health["lastRun"]
  lastBegun: number
  deadLetters: number
}

const start = (settings: Settings): Effect.Effect<Worker, never, ExecutionStore | Scope.Scope> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const monitor = storeMonitor.make()
    const running = new Map<string, Running>()
    const fibers = yield* FiberSet.make<void>()
    const runFork = yield* telemetryContext.unparented(FiberSet.runtime(fibers)())
    // Who starts again under its name is another: what it ran before is given back, and not taken for its own.
    const id = yield* Ids.next
    const membership = yield* membership_.make({
      store,
      owner: settings.name === undefined ? id : `${settings.name} ${id}`,
      ttl: settings.ttl,
      runs: () => running.size > 0
    })
    const worker: Worker = {
      settings,
      store,
      monitor,
      membership,
      runs: {
        store,
        monitor,
        telemetry: deliveryTelemetry.make(module, "Activity.run"),
        held: new Map(),
        buried: () => void worker.deadLetters++
      },
      served: new Map(),
      running,
      unknown: new Map(),
      wakeup: yield* wakeup_.make(() => running.size > 0),
      looks: yield* pollSchedule.make(store),
      yielding: yieldEvery.make(),
      fork: (effect) => runFork(effect, { immediate: false }),
      drained: FiberSet.awaitEmpty(fibers),
      mode: "open",
      recheck: false,
      unsureUntil: beginning,
      lastRun: Option.none(),
      lastBegun: 0,
      deadLetters: 0
    }
    return worker
  })

/** @internal */
export const make = (
  options: Options = {}
): Effect.Effect<ActivityWorker, StoreRejected, ExecutionStore | Scope.Scope> =>
  Effect.gen(function* () {
    const worker = yield* start(yield* decode(options))
    const { membership, monitor, store, wakeup } = worker
    yield* store.listen((notice) => onNotice(worker, notice))
    yield* otherWrites.heed(store, heeds, (at) => {
      worker.recheck = true
      wakeup.request(at)
    })
    const looping = yield* supervised.run(monitor, makeLoop(worker), shutDown(worker))
    const beating = yield* membership_.start(membership, monitor, recheck(worker))
    return {
      register: register(worker),
      unknown: Effect.sync(() => Array.from(worker.unknown, ([name, { since }]): UnknownActivity => ({ name, since }))),
      health: Effect.sync(() => health(worker)),
      pause: Effect.sync(() => {
        if (worker.mode === "open") worker.mode = "paused"
      }),
      resume: Effect.sync(() => {
        if (worker.mode === "paused") worker.mode = "open"
        wakeup.request(beginning)
        wakeup.wake()
      }),
      retryWaiting: Effect.sync(() => wakeup.request(beginning)),
      awaitQuiet: wakeup.quiet,
      awaitFatal: Effect.raceFirst(looping, beating)
    }
  }).pipe(log.annotate({ package: "holdfast", module }))

const register =
  ({ served, unknown, wakeup }: Worker) =>
  <R>(
    activity: AnyActivity,
    handler: AnyHandler<R>
  ): Effect.Effect<void, ActivityRegistered | InvalidActivityHandler, Scope.Scope | Exclude<R, CurrentRun>> =>
    Effect.gen(function* () {
      const implementation = yield* attempt.implement<R>(contractOf(activity), handler)
      const { name } = implementation
      yield* Effect.acquireRelease(
        Effect.suspend(() => {
          if (served.has(name)) return new ActivityRegistered({ activity: name })
          served.set(name, served_.make(implementation))
          unknown.delete(name)
          wakeup.request(beginning)
          return Effect.void
        }),
        () => Effect.sync(() => served.delete(name))
      )
    })

const health = ({ deadLetters, lastBegun, lastRun, mode, monitor, running, served }: Worker): Health => {
  const all = Array.from(served.values())
  const isSaturated = all.length > 0 && all.every((one) => served_.places(one) === 0)
  const since = Array.from(running.values(), ({ since }) => since)
  return {
    lastRun,
    deadLetters,
    lastError: monitor.lastError,
    outage: storeMonitor.outage(monitor),
    backlog: running.size,
    held: 0,
    runningSince: since.length === 0 ? Option.none() : Option.some(Math.min(...since) / 1000),
    saturatedSince: isSaturated ? Option.some(lastBegun / 1000) : Option.none(),
    paused: mode === "paused"
  }
}

const ended: ReadonlyArray<Status> = ["DONE", "CANCELLED", "CANCELLING"]
const halted: ReadonlyArray<Status> = ["SUSPENDED", "FAILED"]

const onNotice = (worker: Worker, notice: Notice): void => {
  const { monitor, running, wakeup } = worker
  storeMonitor.answered(monitor)
  const committed = Option.getOrUndefined(notice.committed)?.execution
  const gone = notice.purged ?? (committed !== undefined && ended.includes(committed.status) ? committed.id : undefined)
  if (gone !== undefined && running.size > 0) interruptWhere(worker, ({ executionId }) => executionId === gone)
  // What was held because of its execution is ready now.
  const before = notice.origin?.status
  if (before !== undefined && halted.includes(before) && committed?.status !== before) wakeup.request(beginning)
  if (notice.activities === 0) return
  const isOurs = committed === undefined ? notice.emits > 0 : runsOf(worker, committed.id)
  if (isOurs) worker.recheck = true
  wakeup.request(beginning)
}

const runsOf = ({ running }: Worker, executionId: string): boolean =>
  Array.from(running.values()).some(({ activity }) => activity.executionId === executionId)

/** Interrupts what nobody waits for any more: whatever it comes to could not be written. */
const interruptWhere = ({ running }: Worker, isGone: (activity: ClaimedActivity) => boolean): void => {
  for (const { activity, fiber } of running.values()) {
    if (isGone(activity)) fiber.unsafeInterruptAsFork(fiber.id())
  }
}

const idOf = ({ claim, seq }: ActivityRun): string => `${seq} ${claim}`

/** Interrupts what runs here and is not claimed any more. What is claimed from now on is no part of it. */
const recheck = (worker: Worker): Effect.Effect<void, StoreError> =>
  Effect.gen(function* () {
    const { membership, running, store } = worker
    worker.recheck = false
    if (running.size === 0) return
    const before = new Set(running.keys())
    const owned = new Set((yield* store.activities.owned(membership.owner)).map(idOf))
    interruptWhere(worker, (activity) => before.has(idOf(activity)) && !owned.has(idOf(activity)))
  }).pipe(Effect.withTracerEnabled(false))

/**
 * Gives back what is claimed here and does not run: the claim was made, but its answer was lost, or what it took could not be read. Others
 * leave it to this process for as long as that lives. Only the fiber that claims may look, for then no claim is on its way.
 */
const giveBack = (worker: Worker): Effect.Effect<void, StoreError> =>
  Effect.gen(function* () {
    const { membership, running, store } = worker
    const now = yield* Clock.currentTimeMillis
    const owned = yield* store.activities.owned(membership.owner)
    const idle = owned.filter((run) => !running.has(idOf(run)))
    yield* Effect.forEach(idle, (run) => store.activities.release(run, now / 1000), { discard: true })
    if (now >= worker.unsureUntil) worker.unsureUntil = beginning
  })

/** Looks for what may run, and runs it; gives when to look again, in milliseconds since the epoch. */
const pass = (worker: Worker): Effect.Effect<number, StoreError> =>
  Effect.gen(function* () {
    const { membership, runs, served, store, yielding } = worker
    yield* yielding
    if (worker.recheck) yield* recheck(worker)
    if (worker.unsureUntil > beginning) yield* giveBack(worker)
    const { foreign, names } = yield* store.activities.waiting(membership.owner)
    membership.foreign = foreign
    membership_.changed(membership)
    const now = yield* Clock.currentTimeMillis
    worker.lastRun = Option.some(now / 1000)
    yield* runs.telemetry.read(now / 1000)
    const { due, nextAt, unknown } = served_.sort(served, names, now)
    yield* noteUnknown(worker, unknown, now)
    let next = nextAt
    for (const one of due) {
      if (worker.mode !== "open") return next
      next = Math.min(next, yield* claim(worker, one, now))
    }
    return next
  }).pipe(Effect.withTracerEnabled(false))

/** Claims what may run of an activity, and begins it; gives when there may be more. */
const claim = (worker: Worker, one: Served, now: number): Effect.Effect<number, StoreError> =>
  Effect.gen(function* () {
    const { membership, store } = worker
    yield* membership_.join(membership)
    const query = served_.claimOf(one, membership.owner)
    // From the claim to the fibers nothing comes between, or what is claimed would be run by nobody.
    const claimed = yield* Effect.uninterruptible(
      Effect.tapBoth(store.activities.claim(query), {
        onSuccess: ({ entries }) =>
          Effect.sync(() => {
            for (const activity of entries) begin(worker, one, activity, now)
          }),
        onFailure: () =>
          Effect.map(Clock.currentTimeMillis, (failedAt) => {
            worker.unsureUntil = failedAt + claimsArriveFor
          })
      })
    )
    yield* Effect.forEach(claimed.corrupt, (corrupt) => bury(worker, corrupt), { discard: true })
    if (Option.isSome(claimed.last)) one.last = claimed.last
    const isFull = claimed.entries.length + claimed.corrupt.length >= query.limit
    if (isFull && served_.places(one) > 0) return now
    return Option.match(claimed.nextAt, { onNone: () => Number.POSITIVE_INFINITY, onSome: dueMillis })
  })

const begin = (worker: Worker, one: Served, activity: ClaimedActivity, now: number): void => {
  const { fork, running, runs, wakeup, yielding } = worker
  const id = idOf(activity)
  one.running++
  worker.lastBegun = now
  const fiber = fork(
    Effect.zipRight(yielding, run.run(runs, one.implementation, activity)).pipe(
      Effect.catchAllCause((cause) => log.error(`the run of activity ${activity.seq} died`, cause)),
      log.annotate({ package: "holdfast", module })
    )
  )
  running.set(id, { activity, since: now, fiber })
  // A fiber that is interrupted before its first step runs no finalizer of its own.
  fiber.addObserver(() => {
    running.delete(id)
    one.running--
    wakeup.request(beginning)
    wakeup.ended()
  })
  membership_.changed(worker.membership)
}

/** A row that does not decode is no use to anybody but people. */
const bury = ({ monitor, runs, store }: Worker, corrupt: StoreCorrupt): Effect.Effect<void> => {
  const told = Effect.zipRight(storeMonitor.report(monitor, corrupt.message), log.warning(corrupt.message))
  if (corrupt.work === undefined) return told
  const why = { reason: "corrupt", attempts: 0, error: corrupt.message } as const
  const message = `${corrupt.message}: it is a dead letter now`
  return onDeliveryFailure
    .bury({ store, monitor, buried: runs.buried }, corrupt.work, why, message)
    .pipe(Effect.catchAll(() => told))
}

/** How long work waits before the log says so, in seconds: at the start of a process its activities are registered one after the other. */
const unknownFor = 5

const noteUnknown = ({ unknown }: Worker, names: ReadonlyArray<string>, now: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (const name of unknown.keys()) if (!names.includes(name)) unknown.delete(name)
    for (const name of names) {
      const waits = unknown.get(name) ?? { since: now / 1000, logged: false }
      unknown.set(name, waits)
      if (waits.logged || now / 1000 - waits.since < unknownFor) continue
      waits.logged = true
      yield* log.warning(`work waits for an activity that this process does not have: ${JSON.stringify(name)}`)
    }
  })

const makeLoop = (worker: Worker): Effect.Effect<never> =>
  Effect.gen(function* () {
    const { looks, monitor, settings, wakeup } = worker
    if (worker.mode === "paused") {
      yield* wakeup.park
      return
    }
    const at = yield* storeMonitor.waitOut(
      monitor,
      Effect.suspend(() => {
        wakeup.clear()
        return pass(worker)
      })
    )
    const now = yield* Clock.currentTimeMillis
    yield* wakeup.sleep(Math.min(at, looks.next(now, Duration.toMillis(settings.pollInterval))))
  }).pipe(Effect.forever)

const shutDown = (worker: Worker): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { drained, membership, running, settings } = worker
    worker.mode = "stopped"
    const stopped = yield* drained.pipe(Effect.interruptible, Effect.timeoutOption(settings.shutdownTimeout))
    if (Option.isNone(stopped)) {
      yield* log.warning("activities that ran at shutdown took too long and are interrupted; they will be run again")
      yield* Fiber.interruptAll(Array.from(running.values(), ({ fiber }) => fiber)).pipe(
        Effect.interruptible,
        Effect.timeoutOption(settings.shutdownTimeout)
      )
    }
    yield* membership_.leave(membership)
  })
