import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { ExecutionStore } from "../../ExecutionStore.js"
import * as Metrics from "../../Metrics.js"
import type { StoreConflict, StoreError } from "../../StoreError.js"
import * as metrics from "../telemetry/metrics.js"

type Failure = StoreConflict | StoreError

const isConflict = (cause: Cause.Cause<Failure>): boolean =>
  Option.exists(Cause.failureOption(cause), (error) => error._tag === "StoreConflict")

/** Measures an operation, and counts its failures. */
const operation = (name: string) => {
  const seconds = metrics.instrument(Metrics.storeDuration, { operation: name })
  const errors = metrics.once((error) => metrics.instrument(Metrics.storeErrors, { operation: name, error }))
  return <A, E extends Failure>(
    effect: Effect.Effect<A, E>,
    ended?: (exit: Exit.Exit<A, E>, labels: metrics.Labels) => void
  ): Effect.Effect<A, E> =>
    metrics.timed(effect, (exit, time, labels) => {
      seconds(time, labels)
      if (Exit.isFailure(exit) && !isConflict(exit.cause)) {
        errors(metrics.errorTag(exit.cause))(1, labels)
      }
      ended?.(exit, labels)
    })
}

const applied = metrics.instrument(Metrics.commits, { outcome: "applied" })
const conflict = metrics.instrument(Metrics.commits, { outcome: "conflict" })
const failed = metrics.instrument(Metrics.commits, { outcome: "failed" })

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

/** A store whose operations are measured, and whose commits are in spans. */
export const instrumented = (store: ExecutionStore): ExecutionStore => {
  const measuredCommit: ExecutionStore["commit"] = (execution, step) =>
    commit(store.commit(execution, step), (exit, labels) => {
      const ended = Exit.isSuccess(exit) ? applied : isConflict(exit.cause) ? conflict : failed
      ended(1, labels)
      if (Exit.isSuccess(exit) && step?.emits !== undefined) Metrics.emits.unsafeUpdate(step.emits.length, labels)
    }).pipe(
      metrics.withSpan("ExecutionStore.commit", () => ({
        kind: (step?.emits?.length ?? 0) > 0 ? "producer" : "internal",
        attributes: {
          executionId: execution.id,
          definitionId: execution.definitionId,
          version: execution.version,
          emits: step?.emits?.length ?? 0
        }
      }))
    )

  return {
    load: measured("load", store.load),
    loadForEvent: measured("loadForEvent", store.loadForEvent),
    commit: measuredCommit,
    save: (execution) => Effect.map(measuredCommit(execution), (committed) => committed.execution),
    isProcessed: measured("isProcessed", store.isProcessed),
    listExecutions: measured("listExecutions", store.listExecutions),
    enqueue: (emits) =>
      enqueue(store.enqueue(emits), (exit, labels) => {
        if (Exit.isSuccess(exit)) Metrics.emits.unsafeUpdate(emits.length, labels)
      }).pipe(
        metrics.withSpan("ExecutionStore.enqueue", () => ({
          kind: "producer",
          attributes: { emits: emits.length }
        }))
      ),
    releaseDelayed: measured("releaseDelayed", store.releaseDelayed),
    nextDelayed: operation("nextDelayed")(store.nextDelayed),
    pendingOutbox: measured("pendingOutbox", store.pendingOutbox),
    ackOutbox: measured("ackOutbox", store.ackOutbox),
    pendingSpawns: measured("pendingSpawns", store.pendingSpawns),
    ackSpawn: measured("ackSpawn", store.ackSpawn),
    isSpawnParent: measured("isSpawnParent", store.isSpawnParent),
    dropSpawns: measured("dropSpawns", store.dropSpawns),
    isSpawning: measured("isSpawning", store.isSpawning),
    dueTimers: measured("dueTimers", store.dueTimers),
    nextTimer: operation("nextTimer")(store.nextTimer),
    isArmed: measured("isArmed", store.isArmed),
    deleteTimer: measured("deleteTimer", store.deleteTimer),
    recordFailure: measured("recordFailure", store.recordFailure),
    bury: (work, why) =>
      bury(store.bury(work, why), (exit, labels) => {
        if (Exit.isSuccess(exit) && exit.value) {
          metrics.instrument(Metrics.deadLetters, { work: work._tag, reason: why.reason })(1, labels)
        }
      }),
    listDeadLetters: measured("listDeadLetters", store.listDeadLetters),
    redrive: measured("redrive", store.redrive),
    discard: measured("discard", store.discard),
    stats: operation("stats")(store.stats),
    appendTrace: measured("appendTrace", store.appendTrace),
    readTrace: measured("readTrace", store.readTrace),
    purge: measured("purge", store.purge),
    idsWithPrefix: measured("idsWithPrefix", store.idsWithPrefix),
    markProcessed: operation("markProcessed")(store.markProcessed),
    pruneProcessed: measured("pruneProcessed", store.pruneProcessed),
    publishDefinition: measured("publishDefinition", store.publishDefinition),
    loadDefinition: measured("loadDefinition", store.loadDefinition),
    leases: measured("leases", store.leases),
    renewLeases: measured("renewLeases", store.renewLeases),
    leaveLeases: measured("leaveLeases", store.leaveLeases),
    listen: store.listen
  }
}
