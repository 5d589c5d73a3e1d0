import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Pending, PendingQuery } from "../ExecutionStore.js"
import type { StoreError } from "../StoreError.js"
import type { Work } from "./lanes.js"
import type * as worker from "./worker.js"

/** What the relays have in common: their rows are numbered, and never renumbered. */
export interface Settings {
  readonly concurrency?: number
  readonly pageSize?: number
  readonly pollInterval?: Duration.DurationInput
  readonly shutdownTimeout?: Duration.DurationInput
}

const defaultPageSize = 100

/** The settings of a relay for its worker. */
export const settings = (options: Settings) => {
  const interval = Duration.decode(options.pollInterval ?? "1 second")
  return {
    concurrency: options.concurrency ?? 16,
    depth: options.pageSize ?? defaultPageSize,
    interval,
    // New rows come behind all others. Beginning again finds what an operator repaired or put back.
    rescanInterval: Duration.max(interval, "1 minute"),
    shutdownTimeout: options.shutdownTimeout ?? "10 seconds"
  }
}

/** The pages of a numbered table; `describe` gives the lane of a row and its name in the log. */
export const pages = <A extends { readonly seq: number }>(
  options: Settings,
  read: (query: PendingQuery) => Effect.Effect<Pending<A>, StoreError>,
  describe: (entry: A) => Pick<Work<A>, "lane" | "label">
) => {
  const limit = options.pageSize ?? defaultPageSize

  const toPage = (pending: Pending<A>): worker.Page<A> => {
    const seqs = [...pending.entries.map((entry) => entry.seq), ...pending.corrupt.map((row) => Number(row.key))]
    return {
      works: pending.entries.map((entry) => ({
        ...describe(entry),
        id: String(entry.seq),
        position: entry.seq,
        item: entry
      })),
      corrupt: pending.corrupt,
      end: seqs.length === 0 ? undefined : Math.max(...seqs),
      next: Option.map(pending.next, (after) => Effect.map(read({ after, limit }), toPage))
    }
  }

  return (position: number): Effect.Effect<worker.Page<A>, StoreError> =>
    Effect.map(read(position > 0 ? { after: position - 1, limit } : { limit }), toPage)
}

/** A row was added: look at once, from where the worker is. */
export const added = { at: Number.NEGATIVE_INFINITY, position: Number.POSITIVE_INFINITY }
