import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { Commit } from "../../Commit.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import * as Metrics from "../../Metrics.js"
import type { StoreConflict, StoreError } from "../../StoreError.js"
import * as metrics from "../telemetry/metrics.js"
import * as batchVariant from "../util/batchVariant.js"
import { fencedBy, isLeaseLost } from "../util/fence.js"

type Failure = StoreConflict | StoreError

const isConflict = (cause: Cause.Cause<Failure>): boolean =>
  Option.exists(Cause.failureOption(cause), (error) => error._tag === "StoreConflict")

const isLost = (cause: Cause.Cause<Failure>): boolean => Option.exists(Cause.failureOption(cause), isLeaseLost)

type Ended = (exit: Exit.Exit<unknown, Failure>, seconds: number, labels: metrics.Labels) => void

/** What is told of an operation that has ended. */
const told = (name: string): Ended => {
  const seconds = metrics.instrument(Metrics.storeDuration, { operation: name })
  const errors = metrics.memoized((error) => metrics.instrument(Metrics.storeErrors, { operation: name, error }))
  return (exit, time, labels) => {
    seconds(time, labels)
    if (Exit.isFailure(exit) && !isConflict(exit.cause) && !isLost(exit.cause)) {
      errors(metrics.errorTag(exit.cause))(1, labels)
    }
  }
}

/** Measures an operation, and counts its failures; in a span, where one is given. */
const operation = (name: string) => {
  const tell = told(name)
  return <A, E extends Failure>(
    effect: Effect.Effect<A, E>,
    ended?: (exit: Exit.Exit<A, E>, labels: metrics.Labels) => void,
    span?: metrics.Span
  ): Effect.Effect<A, E> => {
    const end = (exit: Exit.Exit<A, E>, time: number, labels: metrics.Labels): void => {
      tell(exit, time, labels)
      ended?.(exit, labels)
    }
    return span === undefined ? metrics.timed(effect, end) : metrics.timedInSpan(effect, span, end)
  }
}

const applied = metrics.instrument(Metrics.commits, { outcome: "applied" })
const conflict = metrics.instrument(Metrics.commits, { outcome: "conflict" })
const lost = metrics.instrument(Metrics.commits, { outcome: "lease-lost" })
const failed = metrics.instrument(Metrics.commits, { outcome: "failed" })

const outcomeOf = (exit: Exit.Exit<unknown, Failure>) => {
  if (Exit.isSuccess(exit)) return applied
  if (isConflict(exit.cause)) return conflict
  return isLost(exit.cause) ? lost : failed
}

const commit = operation("commit")
const enqueue = operation("enqueue")
const bury = operation("bury")

const measured = <Args extends ReadonlyArray<unknown>, A, E extends Failure>(
  name: string,
  run: (...args: Args) => Effect.Effect<A, E>
): ((...args: Args) => Effect.Effect<A, E>) => {
  const measure = operation(name)
  return (...args) => measure(run(...args))
}

const countCommit = (exit: Exit.Exit<unknown, Failure>, step: Commit | undefined, labels: metrics.Labels): void => {
  outcomeOf(exit)(1, labels)
  if (Exit.isSuccess(exit) && step?.emits !== undefined) Metrics.emits.unsafeUpdate(step.emits.length, labels)
}

const measureCommit =
  (run: ExecutionStore["commit"]): ExecutionStore["commit"] =>
  (execution, step) =>
    commit(run(execution, step), (exit, labels) => countCommit(exit, step, labels), {
      name: "ExecutionStore.commit",
      options: () => ({
        kind: (step?.emits?.length ?? 0) > 0 ? "producer" : "internal",
        attributes: {
          executionId: execution.id,
          definitionId: execution.definitionId,
          version: execution.version,
          emits: step?.emits?.length ?? 0
        }
      })
    })

/** Each of several operations of one moment, that take as long as all of them, is measured as if it were by itself. */
const measureEach = <Args, A, E extends Failure>(
  run: (asked: ReadonlyArray<Args>) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E>>>,
  ended: (exit: Exit.Exit<A, E>, asked: Args | undefined, seconds: number, labels: metrics.Labels) => void
): ((asked: ReadonlyArray<Args>) => Effect.Effect<ReadonlyArray<Exit.Exit<A, E>>>) => {
  return (asked) =>
    metrics.timed(run(asked), (exit, time, labels) => {
      if (Exit.isSuccess(exit)) exit.value.forEach((one, i) => ended(one, asked[i], time, labels))
    })
}

const tellCommit = told("commit")
const tellLoad = told("loadForEvent")

/** Where there are spans, each commit has one. */
const measureCommits = (
  run: ExecutionStore["commitEach"],
  single: ExecutionStore["commit"]
): ExecutionStore["commitEach"] => {
  const together = measureEach(run, (exit, asked, time, labels) => {
    tellCommit(exit, time, labels)
    countCommit(exit, asked?.commit, labels)
  })
  return (commits) =>
    Effect.withFiberRuntime((fiber) =>
      metrics.isTraced(fiber)
        ? Effect.forEach(
            commits,
            ({ commit, execution, fence }) => Effect.exit(fencedBy(fence)(single(execution, commit))),
            {
              concurrency: "unbounded"
            }
          )
        : together(commits)
    )
}

const measuredEnqueue =
  (run: ExecutionStore["enqueue"]): ExecutionStore["enqueue"] =>
  (emits, options) =>
    enqueue(
      run(emits, options),
      (exit, labels) => {
        if (Exit.isSuccess(exit)) Metrics.emits.unsafeUpdate(emits.length, labels)
      },
      { name: "ExecutionStore.enqueue", options: () => ({ kind: "producer", attributes: { emits: emits.length } }) }
    )

const measuredBury =
  (run: ExecutionStore["deadLetters"]["bury"]): ExecutionStore["deadLetters"]["bury"] =>
  (work, why, options) =>
    bury(run(work, why, options), (exit, labels) => {
      if (Exit.isSuccess(exit) && exit.value) {
        metrics.instrument(Metrics.deadLetters, { work: work._tag, reason: why.reason })(1, labels)
      }
    })

const endActivity = operation("endActivity")

/** The event of an activity that ended is one of those that are put into the outbox. */
const countedEvent = (ended: Effect.Effect<boolean, StoreError>): Effect.Effect<boolean, StoreError> =>
  endActivity(ended, (exit, labels) => {
    if (Exit.isSuccess(exit) && exit.value) Metrics.emits.unsafeUpdate(1, labels)
  })

const measuredEnd =
  (run: ExecutionStore["activities"]["complete"]): ExecutionStore["activities"]["complete"] =>
  (...args) =>
    countedEvent(run(...args))

const measuredCancel =
  (run: ExecutionStore["activities"]["cancel"]): ExecutionStore["activities"]["cancel"] =>
  (...args) =>
    countedEvent(run(...args))

/** What is asked for by people. */
const inspections = (
  store: ExecutionStore
): Pick<ExecutionStore, "stats" | "unserved" | "counts" | "workOf" | "verify"> => ({
  stats: operation("stats")(store.stats),
  unserved: measured("unserved", store.unserved),
  counts: operation("counts")(store.counts),
  workOf: measured("workOf", store.workOf),
  verify: measured("verify", store.verify)
})

const instrumentedDeadLetters = ({
  bury,
  discard,
  list,
  recordFailure,
  redrive
}: ExecutionStore["deadLetters"]): ExecutionStore["deadLetters"] => ({
  recordFailure: measured("recordFailure", recordFailure),
  bury: measuredBury(bury),
  list: measured("listDeadLetters", list),
  redrive: measured("redrive", redrive),
  discard: measured("discard", discard)
})

const instrumentedAttributes = ({ of, set }: ExecutionStore["attributes"]): ExecutionStore["attributes"] => ({
  of: measured("attributesOf", of),
  set: measured("setAttributes", set)
})

const instrumentedLoads = (
  store: ExecutionStore
): Pick<ExecutionStore, "load" | "loadForEvent" | "loadForEvents" | "recall" | "timers"> => {
  const load = measured("load", store.load)
  const loadForEvent = measured("loadForEvent", store.loadForEvent)
  const isArmed = measured("isArmed", store.timers.isArmed)
  const each = measureEach(store.loadForEvents, (exit, _, time, labels) => tellLoad(exit, time, labels))
  return {
    load,
    loadForEvent,
    loadForEvents: batchVariant.of(each, load, loadForEvent, isArmed),
    recall: store.recall,
    timers: { next: operation("nextTimer")(store.timers.next), isArmed }
  }
}

/** A store whose operations are measured, and whose commits are in spans. */
export const instrumented = (store: ExecutionStore): ExecutionStore => {
  const measuredCommit = measureCommit(store.commit)
  const pendingOutbox = measured("pendingOutbox", store.pendingOutbox)
  const listen: ExecutionStore["listen"] = (listener, options) => store.listen(listener, options)

  return {
    ...instrumentedLoads(store),
    commit: measuredCommit,
    commitEach: batchVariant.of(measureCommits(store.commitEach, measuredCommit), measuredCommit),
    save: (execution) => Effect.map(measuredCommit(execution), (committed) => committed.execution),
    isProcessed: measured("isProcessed", store.isProcessed),
    listExecutions: measured("listExecutions", store.listExecutions),
    countExecutions: measured("countExecutions", store.countExecutions),
    enqueue: measuredEnqueue(store.enqueue),
    pendingOutbox,
    ackOutbox: measured("ackOutbox", store.ackOutbox),
    pendingSpawns: measured("pendingSpawns", store.pendingSpawns),
    ackSpawn: measured("ackSpawn", store.ackSpawn),
    dueTimers: measured("dueTimers", store.dueTimers),
    deleteTimer: measured("deleteTimer", store.deleteTimer),
    appendTrace: measured("appendTrace", store.appendTrace),
    readTrace: measured("readTrace", store.readTrace),
    purge: measured("purge", store.purge),
    idsWithPrefix: measured("idsWithPrefix", store.idsWithPrefix),
    publishDefinition: measured("publishDefinition", store.publishDefinition),
    loadDefinition: measured("loadDefinition", store.loadDefinition),
    ...inspections(store),
    delayed: {
      release: measured("releaseDelayed", store.delayed.release),
      next: operation("nextDelayed")(store.delayed.next)
    },
    spawns: {
      isParent: measured("isSpawnParent", store.spawns.isParent),
      isPending: measured("isSpawning", store.spawns.isPending),
      drop: measured("dropSpawns", store.spawns.drop)
    },
    activities: {
      list: measured("listActivities", store.activities.list),
      of: measured("activitiesOf", store.activities.of),
      waiting: measured("waitingActivities", store.activities.waiting),
      claim: measured("claimActivities", store.activities.claim),
      complete: measuredEnd(store.activities.complete),
      fail: measured("failActivity", store.activities.fail),
      release: measured("releaseActivity", store.activities.release),
      drop: measured("dropActivity", store.activities.drop),
      releaseAll: measured("releaseActivities", store.activities.releaseAll),
      releaseOrphans: operation("releaseOrphans")(store.activities.releaseOrphans),
      owned: measured("ownedActivities", store.activities.owned),
      owners: operation("activityOwners")(store.activities.owners),
      cancel: measuredCancel(store.activities.cancel)
    },
    attributes: instrumentedAttributes(store.attributes),
    deadLetters: instrumentedDeadLetters(store.deadLetters),
    ledger: {
      mark: operation("markProcessed")(store.ledger.mark),
      prune: measured("pruneProcessed", store.ledger.prune)
    },
    leases: {
      load: measured("leases", store.leases.load),
      pools: operation("leasePools")(store.leases.pools),
      renew: measured("renewLeases", store.leases.renew),
      leave: measured("leaveLeases", store.leases.leave)
    },
    listen: batchVariant.of(listen, pendingOutbox),
    listenToOthers: store.listenToOthers,
    exclusive: store.exclusive,
    rows: store.rows
  }
}
