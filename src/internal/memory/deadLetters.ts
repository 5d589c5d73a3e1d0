import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Iterable from "effect/Iterable"
import * as Option from "effect/Option"
import * as Order from "effect/Order"
import type { Work, WorkItem } from "../../Commit.js"
import type { Burial, Failure } from "../../DeadLetter.js"
import type { Encoded, EncodedDeadLetter, EncodedEmit, EncodedStats } from "../../EncodedStore.js"
import type { JsonObject } from "../../Json.js"
import { activityParts } from "../codec/deadLetter.js"
import { stringify } from "../codec/stringify.js"
import { fenced } from "./leases.js"
import { addEmit, takeEntry } from "./outbox.js"
import { Ordered } from "./sortedArray.js"
import { addSpawn, takeSpawn } from "./spawns.js"
import type { Tables } from "./tables.js"
import { armTimer, removeTimer } from "./timers.js"

/** Names work: one name for each row, so a timer's time does not count. */
const nameOf = (work: WorkItem): string =>
  JSON.stringify(work._tag === "Timer" ? [work._tag, work.executionId, work.path] : [work._tag, work.seq])

/** What is recorded of work that failed before. */
export class Failures {
  private readonly byName = new Map<string, Failure>()

  get(work: WorkItem): Failure | undefined {
    return this.byName.get(nameOf(work))
  }

  set(failure: Failure): void {
    this.byName.set(nameOf(failure.work), failure)
  }

  forget(work: WorkItem): void {
    this.byName.delete(nameOf(work))
  }

  count(kind: WorkItem["_tag"]): number {
    return Iterable.size(Iterable.filter(this.byName.values(), ({ work }) => work._tag === kind))
  }
}

interface DeadLetterRow extends EncodedDeadLetter {
  readonly id: number
}

/** Work that was given up, numbered as it came. Each commit that arms or cancels asks for those of its execution. */
export class DeadLetters {
  private readonly rows = new Ordered<number, DeadLetterRow>((row) => row.id, Order.number)
  private readonly executions = new Map<unknown, Map<number, DeadLetterRow>>()
  private lastId = 0

  get size(): number {
    return this.rows.size
  }

  get(id: number): DeadLetterRow | undefined {
    return this.rows.get(id)
  }

  first(): DeadLetterRow | undefined {
    return this.rows.first()
  }

  after(id: number | undefined): IterableIterator<DeadLetterRow> {
    return this.rows.after(id)
  }

  add(row: Omit<DeadLetterRow, "id">): void {
    const added = { id: ++this.lastId, ...row }
    const letters = this.executions.get(added.executionId) ?? new Map<number, DeadLetterRow>()
    this.executions.set(added.executionId, letters.set(added.id, added))
    this.rows.set(added)
  }

  delete(id: number): boolean {
    const row = this.rows.get(id)
    if (row === undefined) return false
    const letters = this.executions.get(row.executionId)
    letters?.delete(id)
    if (letters?.size === 0) this.executions.delete(row.executionId)
    return this.rows.delete(id)
  }

  private of(executionId: string): ReadonlyArray<DeadLetterRow> {
    return Array.from(this.executions.get(executionId)?.values() ?? [])
  }

  /** Removes those of an execution's timers at these paths, and of its activities with these keys. */
  replace(executionId: string, paths: ReadonlyArray<string>, keys: ReadonlyArray<string>): void {
    for (const row of this.of(executionId)) {
      const isTimer = row.kind === "Timer" && paths.some((path) => path === row.path)
      const isActivity = row.kind === "Activity" && keys.some((key) => key === row.childId)
      if (isTimer || isActivity) this.delete(row.id)
    }
  }

  removeOf(executionId: string): void {
    for (const { id } of this.of(executionId)) this.delete(id)
  }
}

const isThere = (tables: Tables, work: WorkItem): boolean => {
  switch (work._tag) {
    case "Outbox":
      return tables.outbox.get(work.seq) !== undefined
    case "Spawn":
      return tables.spawns.get(work.seq) !== undefined
    case "Timer":
      return tables.timers.due.get(work) !== undefined
  }
}

const recordFailure = (tables: Tables, failure: Failure): void => {
  const known = tables.failures.get(failure.work)
  if (!isThere(tables, failure.work) || (known !== undefined && known.attempts > failure.attempts)) return
  tables.failures.set(failure)
}

type Stored = Pick<EncodedDeadLetter, "kind" | "seq" | "executionId" | "childId" | "path" | "fireAt" | "body">

const nothing = { seq: null, childId: null, path: null, fireAt: null, body: null }

/** What a dead letter has no column for: the payload is a text in it, to the byte. */
const bodyOf = (rest: JsonObject): string => Either.getOrThrowWith(stringify(rest), (invalid) => invalid).text

/** Removes the row of a piece of work, and gives it as a dead letter keeps it. */
const remove = (tables: Tables, work: Work): Stored | undefined => {
  switch (work._tag) {
    case "Outbox": {
      const row = takeEntry(tables, work.seq)
      return row && { ...nothing, kind: work._tag, seq: row.seq, executionId: row.targetId, body: row.event }
    }
    case "Spawn": {
      const row = takeSpawn(tables, work.seq)
      if (row === undefined) return undefined
      const { childId, context: body, parentId: executionId, rootPath: path, seq } = row
      return { ...nothing, kind: work._tag, seq, executionId, childId, path, body }
    }
    case "Timer": {
      const { executionId, fireAt, path } = work
      return removeTimer(tables, work) ? { ...nothing, kind: work._tag, executionId, path, fireAt } : undefined
    }
    case "Activity": {
      const row = tables.activities.remove(work.seq)
      if (row === undefined) return undefined
      const { executionId, key: childId, limitKey: limit_key, name: path, payload, seq, version } = row
      return {
        ...nothing,
        kind: work._tag,
        seq,
        executionId,
        childId,
        path,
        body: bodyOf({ version, limit_key, payload })
      }
    }
  }
}

const bury = (
  tables: Tables,
  work: Work,
  why: Burial & { readonly diedAt: number },
  emits: ReadonlyArray<EncodedEmit>
): boolean => {
  const row = remove(tables, work)
  if (row === undefined) return false
  tables.deadLetters.add({ ...row, broken: false, ...why })
  for (const emit of emits) addEmit(tables, emit)
  return true
}

const restoreActivity = ({ activities }: Tables, row: DeadLetterRow): boolean => {
  const { limitKey, payload, version } = activityParts(row.body)
  const diedAt = Number(row.diedAt)
  return activities.add({
    executionId: String(row.executionId),
    key: String(row.childId),
    name: String(row.path),
    limitKey,
    payload,
    version,
    traceparent: null,
    askedAt: diedAt,
    readyAt: diedAt,
    attempts: 0,
    error: null
  })
}

/** Puts the row back; false where the timer's path is armed for another time, or there is another activity of the key. */
const restore = (tables: Tables, row: DeadLetterRow): boolean => {
  if (row.kind === "Outbox") {
    addEmit(tables, { targetId: row.executionId, event: row.body })
    return true
  }
  if (row.kind === "Spawn") {
    addSpawn(tables, { parentId: row.executionId, childId: row.childId, rootPath: row.path, context: row.body })
    return true
  }
  if (row.kind === "Activity") return restoreActivity(tables, row)
  const timer = { executionId: String(row.executionId), path: String(row.path), fireAt: Number(row.fireAt) }
  const armed = tables.timers.at(timer.executionId, timer.path)
  if (armed === undefined) armTimer(tables, timer)
  return armed === undefined || armed.fireAt === timer.fireAt
}

const redrive = (tables: Tables, id: number) => {
  const row = tables.deadLetters.get(id)
  if (row === undefined || !restore(tables, row)) return Option.none()
  tables.deadLetters.delete(id)
  return Option.some({ kind: row.kind, fireAt: row.fireAt })
}

const list = ({ deadLetters, executions }: Tables, query: Parameters<Encoded["listDeadLetters"]>[0]) => {
  const { after, definitionId, diedBefore, executionId, executionIdPrefix = "", kind, limit, reason } = query
  const definitionOf = (id: unknown) => (typeof id === "string" ? executions.get(id)?.definitionId : undefined)
  const matches = (row: EncodedDeadLetter): boolean =>
    (kind === undefined || row.kind === kind) &&
    (executionId === undefined || row.executionId === executionId) &&
    (executionIdPrefix === "" ||
      (typeof row.executionId === "string" && row.executionId.startsWith(executionIdPrefix))) &&
    (reason === undefined || reason.some((one) => one === row.reason)) &&
    (diedBefore === undefined || Number(row.diedAt) <= diedBefore) &&
    (definitionId === undefined || definitionOf(row.executionId) === definitionId)
  return Array.from(Iterable.take(Iterable.filter(deadLetters.after(after), matches), limit))
}

const stats = (
  { activities, deadLetters, delayed, failures, outbox, spawns, timers }: Tables,
  now: number
): EncodedStats => ({
  outbox: { count: outbox.size, failing: failures.count("Outbox"), event: outbox.first()?.event ?? null },
  spawns: { count: spawns.size, failing: failures.count("Spawn") },
  timers: {
    count: timers.due.size,
    failing: failures.count("Timer"),
    due: Iterable.size(Iterable.takeWhile(timers.due.from(), (timer) => timer.fireAt <= now)),
    earliest: timers.due.first()?.fireAt ?? null
  },
  delayed: { count: delayed.size, corrupt: 0, dueAt: delayed.next() ?? null },
  activities: {
    count: activities.size,
    failing: Iterable.size(Iterable.filter(activities.after(0), ({ attempts }) => attempts > 0)),
    running: Iterable.size(activities.owned()),
    askedAt: activities.first()?.askedAt ?? null
  },
  deadLetters: { count: deadLetters.size, diedAt: deadLetters.first()?.diedAt ?? null }
})

/** Work that failed and work that was given up. */
export const make = (
  tables: Tables
): Pick<Encoded, "recordFailure" | "bury" | "listDeadLetters" | "redrive" | "discard" | "stats"> => ({
  recordFailure: (failure, fence) =>
    fenced(tables, { operation: "recordFailure" }, fence, () => recordFailure(tables, failure)),

  bury: (work, why, fence, emits) => fenced(tables, { operation: "bury" }, fence, () => bury(tables, work, why, emits)),

  listDeadLetters: (query) => Effect.sync(() => list(tables, query)),

  redrive: (id) => Effect.sync(() => redrive(tables, id)),

  discard: (id) => Effect.sync(() => tables.deadLetters.delete(id)),

  stats: (now) => Effect.sync(() => stats(tables, now))
})
