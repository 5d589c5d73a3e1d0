import type { Execution } from "../../Execution.js"
import type { Options } from "../../ExecutionStore.js"
import type { FencingToken } from "../../Lease.js"

/** How many executions are remembered, and how many bytes they take, roughly. */
interface Limits {
  readonly capacity: number
  readonly maxBytes: number
}

/**
 * An execution as a commit of this process left it, or as a page of the outbox brought it.
 *
 * - `row`: what its text parses to, each time anew: a handler may change the one that it got.
 * - `bytes`: how much memory that takes, roughly.
 * - `version`: that of the row.
 * - `token`: that of the commit that wrote it.
 * - `fence`: what that commit was fenced by, where it was this process's. Whoever gets a lease again after others had it begins with what is stored.
 */
export interface Remembered {
  readonly row: () => unknown
  readonly bytes: number
  readonly version: number
  readonly token: string
  readonly fence: FencingToken | undefined
}

/** How many bytes a text takes: two a character are enough for a bound. */
export const bytesOfText = ({ length }: string): number => length * 2

const isSame = (a: FencingToken | undefined, b: FencingToken | undefined): boolean =>
  a === undefined || b === undefined || (a.fence === b.fence && a.name === b.name && a.pool === b.pool)

// A list of them goes with each page that is read while there are new events.
const mostKnown = 400

/** Remembers what was written last of each execution, those longest ago forgotten first. Whatever it says is only a guess. */
export class ExecutionCache {
  // A Map keeps the order in which its keys were set.
  private readonly rows = new Map<string, Remembered>()
  private bytes = 0

  constructor(private readonly most: Limits) {}

  set(id: string, row: Remembered): void {
    this.forget(id)
    this.bytes += row.bytes
    this.rows.set(id, row)
    for (const oldest of this.rows.keys()) {
      if (this.rows.size <= this.most.capacity && this.bytes <= this.most.maxBytes) break
      this.forget(oldest)
    }
  }

  /** Remembers what was read, where nothing later is remembered: a commit may have been faster than the answer. */
  learn(id: string, row: Omit<Remembered, "fence">): void {
    const known = this.rows.get(id)
    if (known === undefined || known.version <= row.version) this.set(id, { ...row, fence: undefined })
  }

  /** The executions that are remembered, as far as others are to be told: those of last. */
  get known(): ReadonlyArray<string> {
    return Array.from(this.rows.keys()).slice(-mostKnown)
  }

  get isEmpty(): boolean {
    return this.rows.size === 0
  }

  has(id: string): boolean {
    return this.rows.has(id)
  }

  /** How many characters a page may bring that has so many rows, so that what was written is not forgotten for it. */
  roomFor(rows: number): number {
    return rows > this.most.capacity / 8 ? 0 : Math.floor(this.most.maxBytes / 16)
  }

  /** What is remembered of an execution, for who works on it under this fence. */
  get(id: string, fence: FencingToken | undefined): Remembered | undefined {
    const row = this.rows.get(id)
    return row !== undefined && isSame(row.fence, fence) ? row : undefined
  }

  forget(id: string): void {
    const row = this.rows.get(id)
    if (row === undefined) return
    this.bytes -= row.bytes
    this.rows.delete(id)
  }
}

const live: ReadonlyArray<Execution["status"]> = ["PENDING", "RUNNING"]

/** Whether an execution goes on with the next event that comes: of others each event looks at what is stored. */
export const goesOn = ({ status }: Execution): boolean => live.includes(status)

/** The cache that an option asks for. */
export const make = (option: Options["executionCache"] = {}): ExecutionCache | undefined =>
  option === false
    ? undefined
    : new ExecutionCache({ capacity: option.capacity ?? 10_000, maxBytes: option.maxBytes ?? 2 ** 25 })
