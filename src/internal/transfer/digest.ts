import type { Hash } from "node:crypto"
import * as Effect from "effect/Effect"
import type { ReadRows, TransferTable } from "../../EncodedStore.js"
import type { StoreError } from "../../StoreError.js"
import * as lines from "./line.js"

/** Makes hashes. It is loaded when it is needed: not everything that runs JavaScript brings it. */
export type Hashing = () => Hash

export const hashing: Effect.Effect<Hashing> = Effect.map(
  Effect.promise(() => import("node:crypto")),
  ({ createHash }) =>
    () =>
      createHash("sha256")
)

/** How many rows there are, and the hash of their lines. */
export interface Digest {
  readonly rows: number
  readonly sha256: string
}

/** Lines that are counted and hashed one after the other. */
export class Digester {
  private readonly hash: Hash
  private count = 0

  constructor(hashing: Hashing) {
    this.hash = hashing()
  }

  add(line: string): void {
    this.count++
    this.hash.update(line)
    this.hash.update("\n")
  }

  /** Of all lines so far. */
  get digest(): Digest {
    return { rows: this.count, sha256: this.hash.copy().digest("hex") }
  }
}

/** How much is read at once: so many rows, and so many bytes but for the last row. */
export const limitOf = (rows: number) => ({ rows, bytes: 1_000_000 })

/** The digest of the rows of a table as they are stored. */
export const ofTable = (
  hashing: Hashing,
  read: ReadRows,
  table: TransferTable,
  pageSize: number
): Effect.Effect<Digest, StoreError> =>
  Effect.gen(function* () {
    const digester = new Digester(hashing)
    let page = yield* read(table, undefined, limitOf(pageSize))
    for (;;) {
      for (const row of page.rows) digester.add(lines.row(row))
      if (page.next === undefined) return digester.digest
      page = yield* read(table, page.next, limitOf(pageSize))
    }
  })
