import * as Effect from "effect/Effect"
import * as Iterable from "effect/Iterable"
import * as Option from "effect/Option"
import * as Order from "effect/Order"
import type { Encoded, EncodedDelayed } from "../../EncodedStore.js"
import { Ordered } from "./sortedArray.js"
import type { Tables } from "./tables.js"

interface Row extends EncodedDelayed {
  readonly seq: number
}

/** Events that wait until they are due, in the order in which they will be. */
export class Delayed {
  private readonly rows = new Ordered<Pick<Row, "dueAt" | "seq">, Row>(
    (row) => row,
    Order.struct({ dueAt: Order.number, seq: Order.number })
  )
  private lastSeq = 0

  add(emit: EncodedDelayed): void {
    this.rows.set({ ...emit, seq: ++this.lastSeq })
  }

  next(): number | undefined {
    return Array.from(Iterable.take(this.rows.from(), 1))[0]?.dueAt
  }

  /** Takes out those that are due, at most so many. */
  takeDue(now: number, limit: number): ReadonlyArray<EncodedDelayed> {
    const due = Iterable.takeWhile(this.rows.from(), (row) => row.dueAt <= now)
    const taken = Array.from(Iterable.take(due, limit))
    for (const row of taken) this.rows.delete(row)
    return taken
  }

  targets(): Iterable<unknown> {
    return Iterable.map(this.rows.from(), (row) => row.targetId)
  }

  removeOf(targetId: string): void {
    for (const row of Array.from(this.rows.from())) {
      if (row.targetId === targetId) this.rows.delete(row)
    }
  }
}

export const make = (tables: Tables): Pick<Encoded, "enqueue" | "releaseDelayed" | "nextDelayed"> => ({
  enqueue: ({ delayed, emits }) =>
    Effect.sync(() => {
      for (const emit of delayed) tables.delayed.add(emit)
      return emits.map((emit) => tables.addOutbox(emit))
    }),

  releaseDelayed: (now, limit) =>
    Effect.sync(() => {
      const due = tables.delayed.takeDue(now, limit)
      for (const { event, targetId } of due) tables.addOutbox({ targetId, event })
      return due.length
    }),

  nextDelayed: Effect.sync(() => Option.fromNullable(tables.delayed.next()))
})
