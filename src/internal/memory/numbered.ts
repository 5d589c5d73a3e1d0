import * as Order from "effect/Order"
import { Ordered } from "./sortedArray.js"

/** Rows that are numbered as they come. A number is given once, also where its row is gone. */
export class Numbered<Row extends { readonly seq: number }> extends Ordered<number, Row> {
  private lastSeq = 0

  constructor() {
    super((row) => row.seq, Order.number)
  }

  /** Adds the row that is made with the next number. */
  add(make: (seq: number) => Row): number {
    this.lastSeq++
    this.set(make(this.lastSeq))
    return this.lastSeq
  }

  /** Removes a row, and gives what it was. */
  take(seq: number): Row | undefined {
    const row = this.get(seq)
    this.delete(seq)
    return row
  }
}
