import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Work as StoredWork } from "../../Commit.js"
import type { Failure } from "../../DeadLetter.js"
import type { ExceptQuery, Pending, PendingQuery } from "../../ExecutionStore.js"
import type { Elsewhere, Options } from "../../QueueWorker.js"
import type { StoreError } from "../../StoreError.js"
import type { Work } from "./lane.js"
import { recorded } from "./onDeliveryFailure.js"
import type * as pollInterval from "./pollInterval.js"
import { readAround } from "./readAround.js"
import type { Page } from "./reader.js"
import { pageSize } from "./worker.js"

/** How a relay looks for rows. */
export const polling = (options: Pick<Options, "pollInterval">): pollInterval.Options => {
  const longest = Math.max(1, Duration.toMillis(options.pollInterval ?? "1 second"))
  return {
    shortest: Math.max(1, longest / 8),
    longest,
    // New rows come behind all others. Beginning again finds what an operator repaired or put back.
    rescan: Math.max(longest, 60_000)
  }
}

/** Rows of other processes come behind all others, and are looked for as soon as there may be any. */
export const heed = { every: 0, position: Number.POSITIVE_INFINITY }

const nothing = Number.NEGATIVE_INFINITY

const nobody: ReadonlyArray<string> = []

/** The definitions whose work is passed over now. */
export const passed = (elsewhere: Elsewhere | undefined): Effect.Effect<ReadonlyArray<string>> =>
  elsewhere === undefined ? Effect.succeed(nobody) : Effect.map(elsewhere.passed(), ({ definitions }) => definitions)

const seqOf = ({ work }: { readonly work?: StoredWork | undefined }): number | undefined =>
  work === undefined || work._tag === "Timer" ? undefined : work.seq

/** Rows of a numbered table as work, with the lane of each row and its name in the log. */
export const toWork =
  <A extends { readonly seq: number }>(
    laneOf: (entry: A) => string | null,
    label: (entry: A) => string,
    waitsFor?: (entry: A) => string
  ) =>
  (entry: A, failure?: Failure): Work<A> => ({
    lane: laneOf(entry),
    id: entry.seq,
    position: entry.seq,
    label: () => label(entry),
    item: entry,
    recorded: recorded(failure),
    waitsFor: waitsFor?.(entry)
  })

/** The pages of a numbered table. */
export const pages = <A extends { readonly seq: number }>(
  options: Pick<Options, "pageSize" | "elsewhere">,
  table: string,
  store: (query: PendingQuery & ExceptQuery) => Effect.Effect<Pending<A>, StoreError>,
  toWork: (entry: A, failure?: Failure) => Work<A>
) => {
  const limit = pageSize(options)
  const readable = readAround(table, store)
  const read = (after: number | undefined): Effect.Effect<Page<A>, StoreError> =>
    Effect.flatMap(passed(options.elsewhere), (except) => Effect.map(readable({ after, limit, except }), toPage))

  const toPage = (pending: Pending<A>): Page<A> => {
    const end = Math.max(
      pending.entries.at(-1)?.seq ?? nothing,
      Option.getOrElse(pending.reached, () => nothing),
      ...pending.corrupt.map((corrupt) => seqOf(corrupt) ?? nothing)
    )
    const failures = new Map(pending.failures.map((failure) => [seqOf(failure), failure]))
    return {
      works: pending.entries.map((entry) => toWork(entry, failures.get(entry.seq))),
      corrupt: pending.corrupt,
      end: end === nothing ? undefined : end,
      next: Option.map(pending.next, read)
    }
  }

  return (position: number): Effect.Effect<Page<A>, StoreError> => read(position > 0 ? position - 1 : undefined)
}

/** A row was added: look at once, from where the worker is. */
export const added = { at: Number.NEGATIVE_INFINITY, position: Number.POSITIVE_INFINITY }
