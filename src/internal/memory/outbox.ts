import * as Effect from "effect/Effect"
import * as Iterable from "effect/Iterable"
import * as Option from "effect/Option"
import * as Order from "effect/Order"
import type { Encoded, EncodedDelayed } from "../../EncodedStore.js"
import { fenced } from "./leases.js"
import { Groups, Indexed, Ordered } from "./sortedArray.js"
import type { Tables } from "./tables.js"

/** The columns are `unknown` where another program could have written anything, as in a database. */
export interface OutboxRow {
  readonly seq: number
  readonly targetId: unknown
  readonly event: unknown
}

/** Events to deliver, by their numbers and by their targets. */
export class Outbox extends Indexed<OutboxRow> {
  readonly byTarget = this.by((row) => row.targetId)
}

interface DelayedRow extends EncodedDelayed {
  readonly seq: number
}

/** Events that wait until they are due, in the order in which they will be. */
export class Delayed {
  private readonly rows = new Ordered<Pick<DelayedRow, "dueAt" | "seq">, DelayedRow>(
    (row) => row,
    Order.struct({ dueAt: Order.number, seq: Order.number })
  )
  private readonly byTarget = new Groups<DelayedRow>((row) => row.targetId)
  private lastSeq = 0

  add(emit: EncodedDelayed): void {
    const row = { ...emit, seq: ++this.lastSeq }
    this.rows.set(row)
    this.byTarget.add(row)
  }

  private remove(row: DelayedRow): void {
    this.rows.delete(row)
    this.byTarget.remove(row)
  }

  get size(): number {
    return this.rows.size
  }

  next(): number | undefined {
    return this.rows.first()?.dueAt
  }

  /** Takes out those that are due, at most so many. */
  takeDue(now: number, limit: number): ReadonlyArray<EncodedDelayed> {
    const due = Iterable.takeWhile(this.rows.from(), (row) => row.dueAt <= now)
    const taken = Array.from(Iterable.take(due, limit))
    for (const row of taken) this.remove(row)
    return taken
  }

  /** Those for a target, as they were added. */
  of(targetId: string): ReadonlyArray<DelayedRow> {
    return this.byTarget.of(targetId)
  }

  targets(): Iterable<unknown> {
    return Iterable.map(this.rows.from(), (row) => row.targetId)
  }

  removeOf(targetId: string): void {
    for (const row of this.of(targetId)) this.remove(row)
  }
}

export const addEmit = (tables: Tables, emit: Omit<OutboxRow, "seq">): number =>
  tables.outbox.add((seq) => ({ seq, targetId: emit.targetId, event: emit.event }))

/** Removes an entry, and what is known of its failures. */
export const takeEntry = (tables: Tables, seq: number): OutboxRow | undefined => {
  tables.failures.forget({ _tag: "Outbox", seq })
  return tables.outbox.take(seq)
}

/** Events to deliver. */
export const make = (tables: Tables): Pick<Encoded, "enqueue" | "pendingOutbox" | "ackOutbox"> => ({
  enqueue: ({ delayed, emits }) =>
    Effect.sync(() => {
      for (const emit of delayed) tables.delayed.add(emit)
      return emits.map((emit) => addEmit(tables, emit))
    }),

  pendingOutbox: (after, limit, except) =>
    Effect.sync(() => {
      const isExcepted = tables.excepted(except)
      const rows = Iterable.filter(tables.outbox.after(after), ({ targetId }) => !isExcepted(targetId))
      return {
        rows: Array.from(Iterable.take(rows, limit), (row) => ({
          ...row,
          failed: tables.failures.get({ _tag: "Outbox", seq: row.seq })
        })),
        reached: tables.outbox.reached(after)
      }
    }),

  ackOutbox: (seq, fence) => fenced(tables, { operation: "ackOutbox" }, fence, () => void takeEntry(tables, seq))
})

/** Events that wait until they are due. */
export const makeDelayed = (tables: Tables): Pick<Encoded, "releaseDelayed" | "nextDelayed"> => ({
  releaseDelayed: (now, limit) =>
    Effect.sync(() => {
      const due = tables.delayed.takeDue(now, limit)
      for (const emit of due) addEmit(tables, emit)
      return due.length
    }),

  nextDelayed: Effect.sync(() => Option.fromNullable(tables.delayed.next()))
})
