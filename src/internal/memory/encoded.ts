import * as Effect from "effect/Effect"
import * as Iterable from "effect/Iterable"
import * as Option from "effect/Option"
import type { CommitOutcome, Encoded, EncodedCommit, Failed } from "../../EncodedStore.js"
import type { PublishedDefinition } from "../../PublishedDefinition.js"
import * as memoryDeadLetters from "./deadLetters.js"
import * as memoryDelayed from "./delayed.js"
import * as memoryLeases from "./leases.js"
import { type ExecutionRow, listedOf, type Tables } from "./tables.js"

const page = <A>(rows: Iterable<A>, limit: number): ReadonlyArray<A> => Array.from(Iterable.take(rows, limit))

/**
 * The semantics of a store on plain tables. Each operation is one synchronous block, hence atomic: no other fiber runs in the middle.
 * It is written from what {@link Encoded} says and shares nothing with the SQL, which is held against it.
 */
export const make = (tables: Tables, traceMax: number): Encoded => {
  const { deadLetters, definitions, due, executions, ledger, outbox, spawns, traces } = tables

  const settle = (ack: EncodedCommit["ack"]): void => {
    switch (ack?._tag) {
      case "Outbox":
        tables.removeOutbox(ack.seq)
        break
      case "Spawn":
        tables.removeSpawn(ack.seq)
        break
      case "Timer":
        tables.removeTimer({ executionId: ack.executionId, path: ack.path, fireAt: ack.fireAt })
        break
    }
  }

  const commit = (commit: EncodedCommit): CommitOutcome => {
    const executionId = commit.executionId
    const stored = executions.get(executionId)
    if (stored === undefined ? commit.version !== 0 : commit.version === 0 || stored.version !== commit.version) {
      return {
        _tag: "Conflict",
        found: Option.map(Option.fromNullable(stored), (row) => Number(row.version))
      }
    }
    executions.set({
      id: executionId,
      definitionId: commit.definitionId,
      data: commit.data,
      version: commit.version + 1
    })
    // before the timers are armed: a step may arm the very timer that it was fired by
    settle(commit.ack)
    const seqs = commit.emits.map((emit) => tables.addOutbox(emit))
    for (const emit of commit.delayed) tables.delayed.add(emit)
    if (commit.processed !== undefined) ledger.add(executionId, commit.processed)
    for (const path of commit.cancelled) tables.cancelTimer(executionId, path)
    for (const { fireAt, path } of commit.armed) tables.armTimer({ executionId, path, fireAt })
    for (const spawn of commit.spawns) tables.addSpawn({ parentId: executionId, ...spawn })
    if (commit.trace !== undefined) tables.addTrace(executionId, commit.trace, traceMax)
    return { _tag: "Applied", seqs }
  }

  const purge = (id: string, expectedVersion: number): boolean => {
    const stored = executions.get(id)
    if (stored !== undefined && stored.version !== expectedVersion) return false
    ledger.purge(id)
    traces.delete(id)
    for (const timer of tables.timersOf(id)) tables.removeTimer(timer)
    tables.delayed.removeOf(id)
    for (const row of Array.from(outbox.from())) {
      if (row.targetId === id) tables.removeOutbox(row.seq)
    }
    for (const row of Array.from(spawns.from())) {
      if (row.parentId === id) tables.removeSpawn(row.seq)
    }
    for (const row of Array.from(deadLetters.from())) {
      if (row.executionId === id) deadLetters.delete(row.id)
    }
    return executions.delete(id)
  }

  const withFailures = <Row extends { readonly seq: number }>(
    _tag: "Outbox" | "Spawn",
    rows: ReadonlyArray<Row>
  ): ReadonlyArray<Row & Failed> => rows.map((row) => ({ ...row, failed: tables.failureOf({ _tag, seq: row.seq }) }))

  const isProcessed = (id: string, eventId: string): boolean => ledger.has(id, eventId)

  const loadDefinition = (definitionId: string, version: number | undefined): PublishedDefinition | undefined => {
    const versions = definitions.get(definitionId)
    return version === undefined ? Array.from(versions?.from() ?? []).at(-1) : versions?.get(version)
  }

  return {
    load: (id) => Effect.sync(() => Option.fromNullable(executions.get(id))),

    loadForEvent: (id, eventId) =>
      Effect.sync(() =>
        Option.map(Option.fromNullable(executions.get(id)), (row) => ({ ...row, processed: isProcessed(id, eventId) }))
      ),

    commit: (encoded) => Effect.sync(() => commit(encoded)),

    isProcessed: (id, eventId) => Effect.sync(() => isProcessed(id, eventId)),

    list: ({ after, definitionId, limit, parentId, rootsOnly, status }) =>
      Effect.sync(() => {
        const statuses = status === undefined ? undefined : new Set<unknown>(status)
        const matches = (row: ExecutionRow): boolean =>
          (definitionId === undefined || row.definitionId === definitionId) &&
          (statuses === undefined || statuses.has(listedOf(row).status)) &&
          (!rootsOnly || listedOf(row).parentId === null) &&
          (parentId === undefined || listedOf(row).parentId === parentId)
        return page(Iterable.filter(executions.after(after), matches), limit).map((row) => ({
          ...row,
          parts: listedOf(row).parts
        }))
      }),

    ...memoryDelayed.make(tables),

    ...memoryLeases.make(),

    pendingOutbox: (after, limit) => Effect.sync(() => withFailures("Outbox", page(outbox.after(after), limit))),

    ackOutbox: (seq) => Effect.sync(() => void tables.removeOutbox(seq)),

    pendingSpawns: (after, limit) => Effect.sync(() => withFailures("Spawn", page(spawns.after(after), limit))),

    ackSpawn: (seq) => Effect.sync(() => void tables.removeSpawn(seq)),

    isSpawnParent: (parentId) => Effect.sync(() => Iterable.some(spawns.from(), (row) => row.parentId === parentId)),

    dropSpawns: (parentId) =>
      Effect.sync(() => {
        for (const row of Array.from(spawns.from())) if (row.parentId === parentId) tables.removeSpawn(row.seq)
      }),

    dueTimers: (now, after, limit) =>
      Effect.sync(() => {
        const timers = page(
          Iterable.takeWhile(due.after(after), (timer) => timer.fireAt <= now),
          limit
        )
        const failures = timers.flatMap((timer) => tables.failureOf({ _tag: "Timer", ...timer }) ?? [])
        return { timers, failures, broken: [] }
      }),

    nextTimer: Effect.sync(() => Option.fromNullable(page(due.from(), 1)[0])),

    isArmed: ({ executionId, fireAt, path }) => Effect.sync(() => due.get({ executionId, path, fireAt }) !== undefined),

    deleteTimer: ({ executionId, fireAt, path }) =>
      Effect.sync(() => tables.removeTimer({ executionId, path, fireAt })),

    appendTrace: (executionId, entry) => Effect.sync(() => tables.addTrace(executionId, entry, traceMax)),

    readTrace: (executionId) => Effect.sync(() => traces.get(executionId) ?? []),

    ...memoryDeadLetters.make(tables),

    purge: (id, expectedVersion) => Effect.sync(() => purge(id, expectedVersion)),

    idsWithPrefix: (prefix) =>
      Effect.sync(() =>
        // in this order the ids with a prefix are neighbours
        Array.from(
          Iterable.takeWhile(executions.from(prefix), (row) => row.id.startsWith(prefix)),
          (row) => row.id
        )
      ),

    markProcessed: (now) => Effect.sync(() => ledger.mark(now)),

    pruneProcessed: (before, after, limit) =>
      Effect.sync(() => {
        const kept = new Set<unknown>([
          ...Iterable.map(outbox.from(), (row) => row.targetId),
          ...tables.delayed.targets(),
          ...Iterable.map(deadLetters.from(), (row) => row.executionId)
        ])
        return ledger.prune(before, after, limit, kept)
      }),

    publishDefinition: (definition) => Effect.sync(() => tables.addDefinition(definition)),

    loadDefinition: (definitionId, version) =>
      Effect.sync(() => Option.fromNullable(loadDefinition(definitionId, version)))
  }
}
