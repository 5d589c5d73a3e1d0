import type { EncodedBrought } from "../../EncodedStore.js"
import type { ExecutionCache } from "./executionCache.js"

interface Row {
  readonly seq: unknown
  readonly targetId: unknown
}

// What is remembered may be brought once more by a page that names none of it: of large executions that would be much.
const partOfRoom = 8

/**
 * What a request for a page of events says of the executions that are remembered. Their ids go with it while pages bring new events. Who has found
 * nothing new names only what his last page was about, which is nothing while there is nothing to do: he looks again and again.
 */
export class Asking {
  private latest = 0
  private found = false
  private targets: ReadonlyArray<string> = []

  constructor(private readonly cache: ExecutionCache) {}

  forPage(limit: number): EncodedBrought {
    const { cache } = this
    const characters = cache.roomFor(limit)
    if (this.found || cache.isEmpty) return { known: cache.known, characters }
    const known = this.targets.filter((id) => cache.has(id))
    return { known, characters: Math.ceil(characters / partOfRoom) }
  }

  /** The page that came, which may be one that was read before. */
  got(rows: ReadonlyArray<Row>): void {
    const seqs = rows.flatMap(({ seq }) => (typeof seq === "number" ? [seq] : []))
    const last = Math.max(this.latest, ...seqs)
    this.found = last > this.latest
    this.latest = last
    this.targets = Array.from(new Set(rows.flatMap(({ targetId }) => (typeof targetId === "string" ? [targetId] : []))))
  }
}
