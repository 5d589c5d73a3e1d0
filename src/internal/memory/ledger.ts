import * as Effect from "effect/Effect"
import * as Iterable from "effect/Iterable"
import * as Order from "effect/Order"
import type { Encoded } from "../../EncodedStore.js"
import { Ordered } from "./sortedArray.js"
import type { Tables } from "./tables.js"

interface Entry {
  /** Counts the entries: one that is older has a lower number. */
  readonly seq: number
  readonly executionId: string
  readonly eventId: string
}

/** The dedupe ledger of a store in the process: which events each execution has consumed, and in which order they came. */
export class Ledger {
  private readonly executions = new Map<string, Map<string, Entry>>()
  private readonly entries = new Ordered<number, Entry>((entry) => entry.seq, Order.number)
  private readonly marks = new Map<number, number>()
  private lastSeq = 0

  has(executionId: string, eventId: string): boolean {
    return this.executions.get(executionId)?.has(eventId) ?? false
  }

  add(executionId: string, eventId: string): void {
    if (this.has(executionId, eventId)) return
    const events = this.executions.get(executionId) ?? new Map<string, Entry>()
    const entry = { seq: ++this.lastSeq, executionId, eventId }
    this.executions.set(executionId, events.set(eventId, entry))
    this.entries.set(entry)
  }

  /** Removes all of one execution. */
  purge(executionId: string): void {
    for (const entry of Array.from(this.executions.get(executionId)?.values() ?? [])) this.remove(entry)
  }

  /** Marks the youngest entry with a time, unless it has one. */
  mark(now: number): void {
    const youngest = this.entries.last()
    if (youngest !== undefined && !this.marks.has(youngest.seq)) this.marks.set(youngest.seq, now)
  }

  /**
   * Looks at up to `limit` entries behind `after` that are older than one marked at `before` or earlier, and removes those of executions
   * that are not among `kept`.
   */
  prune(
    before: number,
    after: number | undefined,
    limit: number,
    kept: ReadonlySet<unknown>
  ): { readonly removed: number; readonly next: number | undefined } {
    let end = 0
    for (const [seq, at] of this.marks) if (at <= before) end = Math.max(end, seq)
    const old = Iterable.takeWhile(this.entries.after(after), (entry) => entry.seq < end)
    const page = Array.from(Iterable.take(old, limit))
    const removed = page.filter((entry) => !kept.has(entry.executionId))
    for (const entry of removed) this.remove(entry)
    return { removed: removed.length, next: page.length < limit ? undefined : page.at(-1)?.seq }
  }

  private remove({ eventId, executionId, seq }: Entry): void {
    this.entries.delete(seq)
    this.marks.delete(seq)
    const events = this.executions.get(executionId)
    events?.delete(eventId)
    if (events?.size === 0) this.executions.delete(executionId)
  }
}

/** The executions for which something still waits: their entries are kept. */
const waitedFor = ({ deadLetters, delayed, outbox }: Tables): ReadonlySet<unknown> =>
  new Set([
    ...Iterable.map(outbox.from(), (row) => row.targetId),
    ...delayed.targets(),
    ...Iterable.map(deadLetters.after(undefined), (row) => row.executionId)
  ])

/** The events that executions have consumed. */
export const make = (tables: Tables): Pick<Encoded, "isProcessed" | "markProcessed" | "pruneProcessed"> => ({
  isProcessed: (id, eventId) => Effect.sync(() => tables.ledger.has(id, eventId)),

  markProcessed: (now) => Effect.sync(() => tables.ledger.mark(now)),

  pruneProcessed: (before, after, limit) =>
    Effect.sync(() => tables.ledger.prune(before, after, limit, waitedFor(tables)))
})
