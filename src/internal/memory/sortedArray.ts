import * as Order from "effect/Order"

/**
 * Items kept in the order of their keys, each key once: a sorted array, searched by halving. Reading a page costs the page; inserting and
 * removing move what lies behind, which is cheap for the sizes that fit into a process.
 */
export class Ordered<K, A> {
  private readonly items: Array<A> = []

  constructor(
    private readonly keyOf: (item: A) => K,
    private readonly compare: (a: K, b: K) => number
  ) {}

  /** How many items come before the key, or before and at it. */
  private position(key: K, including: boolean): number {
    let low = 0
    let high = this.items.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const order = this.compareAt(middle, key)
      if (order < 0 || (including && order === 0)) low = middle + 1
      else high = middle
    }
    return low
  }

  private compareAt(index: number, key: K): number {
    const item = this.items[index]
    return item === undefined ? 1 : this.compare(this.keyOf(item), key)
  }

  get size(): number {
    return this.items.length
  }

  first(): A | undefined {
    return this.items[0]
  }

  last(): A | undefined {
    return this.items.at(-1)
  }

  get(key: K): A | undefined {
    const index = this.position(key, false)
    return this.compareAt(index, key) === 0 ? this.items[index] : undefined
  }

  set(item: A): void {
    const key = this.keyOf(item)
    const index = this.position(key, false)
    this.items.splice(index, this.compareAt(index, key) === 0 ? 1 : 0, item)
  }

  delete(key: K): boolean {
    const index = this.position(key, false)
    if (this.compareAt(index, key) !== 0) return false
    this.items.splice(index, 1)
    return true
  }

  /** Those at the key and behind it; all of them without a key. The items must not change while they are read. */
  *from(key?: K): IterableIterator<A> {
    yield* this.since(key === undefined ? 0 : this.position(key, false))
  }

  /** Those behind the key; all of them without a key. The items must not change while they are read. */
  *after(key?: K): IterableIterator<A> {
    yield* this.since(key === undefined ? 0 : this.position(key, true))
  }

  private *since(index: number): IterableIterator<A> {
    for (let i = index; i < this.items.length; i++) {
      const item = this.items[i]
      if (item !== undefined) yield item
    }
  }
}

/** Rows by what they belong to, so that those of one are found without a look at all others. */
export class Groups<Row extends { readonly seq: number }> {
  private readonly groups = new Map<unknown, Map<number, Row>>()

  constructor(private readonly groupOf: (row: Row) => unknown) {}

  add(row: Row): void {
    const group = this.groupOf(row)
    const rows = this.groups.get(group)
    if (rows === undefined) this.groups.set(group, new Map([[row.seq, row]]))
    else rows.set(row.seq, row)
  }

  remove(row: Row): void {
    const group = this.groupOf(row)
    const rows = this.groups.get(group)
    rows?.delete(row.seq)
    if (rows?.size === 0) this.groups.delete(group)
  }

  has(group: unknown): boolean {
    return this.groups.has(group)
  }

  /** Those of a group, by their numbers. */
  of(group: unknown): ReadonlyArray<Row> {
    return Array.from(this.groups.get(group)?.values() ?? []).sort((a, b) => a.seq - b.seq)
  }
}

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

  /** The greatest number behind this one, where there is any. */
  reached(after = 0): number | undefined {
    const seq = this.last()?.seq
    return seq !== undefined && seq > after ? seq : undefined
  }

  /** Removes a row, and gives what it was. */
  take(seq: number): Row | undefined {
    const row = this.get(seq)
    this.delete(seq)
    return row
  }
}

/** Numbered rows with indexes. */
export class Indexed<Row extends { readonly seq: number }> extends Numbered<Row> {
  private readonly indexes: Array<Groups<Row>> = []

  /** An index of rows that are added from now on. */
  protected by(groupOf: (row: Row) => unknown): Groups<Row> {
    const index = new Groups(groupOf)
    this.indexes.push(index)
    return index
  }

  override set(row: Row): void {
    this.forget(row.seq)
    super.set(row)
    for (const index of this.indexes) index.add(row)
  }

  override delete(seq: number): boolean {
    this.forget(seq)
    return super.delete(seq)
  }

  private forget(seq: number): void {
    const row = this.get(seq)
    if (row !== undefined) for (const index of this.indexes) index.remove(row)
  }
}
