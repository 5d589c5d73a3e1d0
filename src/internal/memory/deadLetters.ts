import * as Effect from "effect/Effect"
import * as Iterable from "effect/Iterable"
import * as Option from "effect/Option"
import type { WorkItem } from "../../Commit.js"
import type { Burial, Failure } from "../../DeadLetter.js"
import type { Encoded, EncodedDeadLetter } from "../../EncodedStore.js"
import type { Ordered } from "./sortedArray.js"
import type { Tables } from "./tables.js"

type Stored = Pick<EncodedDeadLetter, "kind" | "seq" | "executionId" | "childId" | "path" | "fireAt" | "body">

const nothing = { seq: null, childId: null, path: null, fireAt: null, body: null }

const first = <K, A>(rows: Ordered<K, A>): A | undefined => Option.getOrUndefined(Iterable.head(rows.from()))

/** Work that failed and work that was given up, on plain tables; each operation is one synchronous block. */
export const make = (
  tables: Tables
): Pick<Encoded, "isSpawning" | "recordFailure" | "bury" | "listDeadLetters" | "redrive" | "discard" | "stats"> => {
  const { deadLetters, due, outbox, spawns } = tables

  const isThere = (work: WorkItem): boolean => {
    switch (work._tag) {
      case "Outbox":
        return outbox.get(work.seq) !== undefined
      case "Spawn":
        return spawns.get(work.seq) !== undefined
      case "Timer":
        return due.get(work) !== undefined
    }
  }

  const recordFailure = (failure: Failure): void => {
    const known = tables.failureOf(failure.work)
    if (!isThere(failure.work) || (known !== undefined && known.attempts > failure.attempts)) return
    tables.setFailure(failure)
  }

  const remove = (work: WorkItem): Stored | undefined => {
    switch (work._tag) {
      case "Outbox": {
        const row = tables.removeOutbox(work.seq)
        return row && { ...nothing, kind: work._tag, seq: row.seq, executionId: row.targetId, body: row.event }
      }
      case "Spawn": {
        const row = tables.removeSpawn(work.seq)
        return (
          row && {
            ...nothing,
            kind: work._tag,
            seq: row.seq,
            executionId: row.parentId,
            childId: row.childId,
            path: row.rootPath,
            body: row.context
          }
        )
      }
      case "Timer": {
        const { executionId, fireAt, path } = work
        const removed = tables.removeTimer({ executionId, path, fireAt })
        return removed ? { ...nothing, kind: work._tag, executionId, path, fireAt } : undefined
      }
    }
  }

  const bury = (work: WorkItem, why: Burial & { readonly diedAt: number }): boolean => {
    const row = remove(work)
    if (row !== undefined) tables.addDeadLetter({ ...row, broken: false, ...why })
    return row !== undefined
  }

  /** Puts the row back; false where the timer's path is armed for another time. */
  const restore = (row: EncodedDeadLetter): boolean => {
    if (row.kind === "Outbox") {
      tables.addOutbox({ targetId: row.executionId, event: row.body })
      return true
    }
    if (row.kind === "Spawn") {
      tables.addSpawn({ parentId: row.executionId, childId: row.childId, rootPath: row.path, context: row.body })
      return true
    }
    const timer = { executionId: String(row.executionId), path: String(row.path), fireAt: Number(row.fireAt) }
    const armed = tables.armedAt(timer.executionId, timer.path)
    if (armed === undefined) tables.armTimer(timer)
    return armed === undefined || armed.fireAt === timer.fireAt
  }

  const redrive = (id: number) => {
    const row = deadLetters.get(id)
    if (row === undefined || !restore(row)) return Option.none()
    deadLetters.delete(id)
    return Option.some({ kind: row.kind, fireAt: row.fireAt })
  }

  return {
    isSpawning: (childId) => Effect.sync(() => Iterable.some(spawns.from(), (row) => row.childId === childId)),

    recordFailure: (failure) => Effect.sync(() => recordFailure(failure)),

    bury: (work, why) => Effect.sync(() => bury(work, why)),

    listDeadLetters: ({ after, executionId, kind, limit }) =>
      Effect.sync(() => {
        const matches = (row: EncodedDeadLetter): boolean =>
          (kind === undefined || row.kind === kind) && (executionId === undefined || row.executionId === executionId)
        return Array.from(Iterable.take(Iterable.filter(deadLetters.after(after), matches), limit))
      }),

    redrive: (id) => Effect.sync(() => redrive(id)),

    discard: (id) => Effect.sync(() => deadLetters.delete(id)),

    stats: (now) =>
      Effect.sync(() => {
        const firsts = { outbox: first(outbox), timer: first(due), deadLetter: first(deadLetters) }
        return {
          outbox: { count: outbox.size, failing: tables.countFailures("Outbox"), event: firsts.outbox?.event ?? null },
          spawns: { count: spawns.size, failing: tables.countFailures("Spawn") },
          timers: {
            count: due.size,
            failing: tables.countFailures("Timer"),
            due: Iterable.size(Iterable.takeWhile(due.from(), (timer) => timer.fireAt <= now)),
            earliest: firsts.timer?.fireAt ?? null
          },
          deadLetters: { count: deadLetters.size, diedAt: firsts.deadLetter?.diedAt ?? null }
        }
      })
  }
}
