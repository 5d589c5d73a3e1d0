import * as Either from "effect/Either"
import * as Order from "effect/Order"
import type { Timer, WorkItem } from "../../Commit.js"
import type { Failure } from "../../DeadLetter.js"
import type { EncodedDeadLetter } from "../../EncodedStore.js"
import type { PublishedDefinition } from "../../PublishedDefinition.js"
import { summaryPaths } from "../codec/execution.js"
import * as json from "../codec/json.js"
import { stringify } from "../codec/stringify.js"
import { compareUtf8 } from "../codec/utf8Order.js"
import { Delayed } from "./delayed.js"
import { Ledger } from "./ledger.js"
import { Ordered } from "./sortedArray.js"

/** The columns are `unknown` where another program could have written anything, as in a database. */
export interface ExecutionRow {
  readonly id: string
  readonly definitionId: unknown
  readonly data: unknown
  readonly version: unknown
}

export interface OutboxRow {
  readonly seq: number
  readonly targetId: unknown
  readonly event: unknown
}

export interface SpawnRow {
  readonly seq: number
  readonly parentId: unknown
  readonly childId: unknown
  readonly rootPath: unknown
  readonly context: unknown
}

export interface TraceRow {
  readonly index: number
  readonly entry: unknown
}

/** Timers are due in this order. */
const timerOrder: Order.Order<Timer> = Order.combineAll([
  Order.mapInput(Order.number, (timer: Timer) => timer.fireAt),
  Order.make((a: Timer, b: Timer) => sign(compareUtf8(a.executionId, b.executionId))),
  Order.make((a: Timer, b: Timer) => sign(compareUtf8(a.path, b.path)))
])

const sign = (n: number): -1 | 0 | 1 => (n < 0 ? -1 : n > 0 ? 1 : 0)

/** Names work: one name for each row, so a timer's time does not count. */
const nameOf = (work: WorkItem): string =>
  JSON.stringify(work._tag === "Timer" ? [work._tag, work.executionId, work.path] : [work._tag, work.seq])

const bySeq = <Row extends { readonly seq: number }>() => new Ordered<number, Row>((row) => row.seq, Order.number)

/**
 * The tables of a store in the process. They are mutable: whoever changes them does so in one synchronous block, which nothing else of the
 * process can see half done.
 */
export class Tables {
  readonly executions = new Ordered<string, ExecutionRow>((row) => row.id, compareUtf8)
  readonly outbox = bySeq<OutboxRow>()
  readonly delayed = new Delayed()
  readonly spawns = bySeq<SpawnRow>()
  readonly ledger = new Ledger()
  readonly due = new Ordered<Timer, Timer>((timer) => timer, timerOrder)
  readonly traces = new Map<string, ReadonlyArray<TraceRow>>()
  readonly definitions = new Map<string, Ordered<number, PublishedDefinition>>()
  readonly deadLetters = new Ordered<number, EncodedDeadLetter>((row) => row.id, Order.number)

  private readonly failures = new Map<string, Failure>()
  private readonly timers = new Map<string, Map<string, Timer>>()
  private lastOutboxSeq = 0
  private lastSpawnSeq = 0
  private lastDeadLetterId = 0

  addOutbox(row: Omit<OutboxRow, "seq">): number {
    this.outbox.set({ seq: ++this.lastOutboxSeq, ...row })
    return this.lastOutboxSeq
  }

  addSpawn(row: Omit<SpawnRow, "seq">): void {
    this.spawns.set({ seq: ++this.lastSpawnSeq, ...row })
  }

  removeOutbox(seq: number): OutboxRow | undefined {
    const row = this.outbox.get(seq)
    this.outbox.delete(seq)
    this.forget({ _tag: "Outbox", seq })
    return row
  }

  removeSpawn(seq: number): SpawnRow | undefined {
    const row = this.spawns.get(seq)
    this.spawns.delete(seq)
    this.forget({ _tag: "Spawn", seq })
    return row
  }

  addDeadLetter(row: Omit<EncodedDeadLetter, "id">): void {
    this.deadLetters.set({ id: ++this.lastDeadLetterId, ...row })
  }

  /** What is recorded of work that failed before. */
  failureOf(work: WorkItem): Failure | undefined {
    return this.failures.get(nameOf(work))
  }

  setFailure(failure: Failure): void {
    this.failures.set(nameOf(failure.work), failure)
  }

  countFailures(kind: WorkItem["_tag"]): number {
    return Array.from(this.failures.values()).filter(({ work }) => work._tag === kind).length
  }

  private forget(work: WorkItem): void {
    this.failures.delete(nameOf(work))
  }

  armTimer(timer: Timer): void {
    this.cancelTimer(timer.executionId, timer.path)
    const timers = this.timers.get(timer.executionId)
    if (timers === undefined) this.timers.set(timer.executionId, new Map([[timer.path, timer]]))
    else timers.set(timer.path, timer)
    this.due.set(timer)
  }

  cancelTimer(executionId: string, path: string): void {
    const timer = this.armedAt(executionId, path)
    if (timer !== undefined) this.removeTimer(timer)
  }

  armedAt(executionId: string, path: string): Timer | undefined {
    return this.timers.get(executionId)?.get(path)
  }

  /** Removes the timer where it is armed for exactly this time. */
  removeTimer(timer: Timer): boolean {
    if (!this.due.delete(timer)) return false
    this.forget({ _tag: "Timer", ...timer })
    const timers = this.timers.get(timer.executionId)
    timers?.delete(timer.path)
    if (timers?.size === 0) this.timers.delete(timer.executionId)
    return true
  }

  timersOf(executionId: string): ReadonlyArray<Timer> {
    return Array.from(this.timers.get(executionId)?.values() ?? [])
  }

  /** Stores a version of a definition unless it is there. */
  addDefinition(definition: PublishedDefinition): void {
    const { definitionId, digest, publishedAt, source, version } = definition
    const versions =
      this.definitions.get(definitionId) ??
      new Ordered<number, PublishedDefinition>((definition) => definition.version, Order.number)
    this.definitions.set(definitionId, versions)
    if (versions.get(version) === undefined) versions.set({ definitionId, version, digest, source, publishedAt })
  }

  /** Appends to a trace and, with `traceMax` above 0, keeps only that many of its newest steps. */
  addTrace(executionId: string, entry: unknown, traceMax: number): void {
    const rows = this.traces.get(executionId) ?? []
    const index = (rows.at(-1)?.index ?? -1) + 1
    const kept = traceMax > 0 ? rows.filter((row) => row.index > index - traceMax) : rows
    this.traces.set(executionId, [...kept, { index, entry }])
  }
}

/** What a listing shows and filters by; a row that is not JSON has no parts. */
export interface Listed {
  readonly status: unknown
  readonly parentId: unknown
  readonly parts: string | null
}

const listed = new WeakMap<ExecutionRow, Listed>()

const read = (data: unknown): Listed => {
  const none = { status: null, parentId: null, parts: null }
  if (typeof data !== "string") return none
  try {
    const row = json.parse(data)
    if (typeof row !== "object" || row === null || Array.isArray(row)) return none
    const values = new Map<string, unknown>(Object.entries(row))
    const parts = stringify(summaryPaths.map((key) => values.get(key) ?? null))
    return {
      status: values.get("status") ?? "PENDING",
      parentId: values.get("parent_id") ?? null,
      parts: Either.isRight(parts) ? parts.right.text : null
    }
  } catch {
    return none
  }
}

/** Rows never change, so each is read once, when a listing first meets it. */
export const listedOf = (row: ExecutionRow): Listed => {
  const known = listed.get(row)
  if (known !== undefined) return known
  const fresh = read(row.data)
  listed.set(row, fresh)
  return fresh
}
