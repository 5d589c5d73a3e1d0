import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Ack, Timer } from "../../Commit.js"
import type { Failure } from "../../DeadLetter.js"
import type { BrokenTimer, Encoded, ExecutionStore, Failed, Pending, PendingQuery } from "../../ExecutionStore.js"
import { StoreCorrupt, type StoreError } from "../../StoreError.js"
import * as rows_ from "../codec/row.js"
import * as validate from "./validate.js"

export const defaultPage = 100
export const maxPage = 1000

/** What was recorded of the rows that failed before. */
const failuresOf = <Row extends Failed>(rows: ReadonlyArray<Row>, work: (row: Row) => Ack): ReadonlyArray<Failure> =>
  rows.flatMap((row) => (row.failed === undefined ? [] : [{ ...row.failed, work: work(row) }]))

const timerWork = ({ executionId, fireAt, path }: Timer): Ack => ({ _tag: "Timer", executionId, path, fireAt })

const isOf = (timer: Timer, work: Ack): boolean =>
  work._tag === "Timer" && work.executionId === timer.executionId && work.path === timer.path

const brokenTimer = (timer: BrokenTimer): StoreCorrupt =>
  new StoreCorrupt({
    operation: "dueTimers",
    table: "timers",
    key: `${timer.executionId} ${timer.path}`,
    problem: timer.problem,
    work: timerWork(timer)
  })

/** The pages of work to do. One row more is read than asked for: it tells whether there is a next page. */
export const make = (
  encoded: Encoded,
  checks: validate.Checks
): Pick<ExecutionStore, "pendingOutbox" | "pendingSpawns" | "dueTimers"> => {
  const pending = <Row extends { readonly seq: number } & Failed, A>(
    operation: string,
    [table, kind]: readonly ["outbox", "Outbox"] | readonly ["spawns", "Spawn"],
    query: PendingQuery,
    read: (after: number | undefined, limit: number) => Effect.Effect<ReadonlyArray<Row>, StoreError>,
    decode: (row: Row) => A
  ): Effect.Effect<Pending<A>, StoreError> =>
    Effect.gen(function* () {
      const limit = query.limit ?? defaultPage
      yield* validate.refuse({ operation }, "limit", validate.wholeNumber(limit, 1, maxPage))
      if (query.after !== undefined) {
        yield* validate.refuse({ operation }, "after", validate.wholeNumber(query.after, 0, Number.MAX_SAFE_INTEGER))
      }
      const rows = yield* read(query.after, limit + 1)
      const page = rows.slice(0, limit)
      const work = ({ seq }: Row): Ack => ({ _tag: kind, seq })
      return {
        ...rows_.partition(page, (row) =>
          rows_.decode({ operation, table, key: String(row.seq), work: work(row) }, () => decode(row))
        ),
        failures: failuresOf(page, work),
        next: rows.length > limit ? Option.fromNullable(page.at(-1)?.seq) : Option.none()
      }
    })

  return {
    pendingOutbox: (query = {}) =>
      pending("pendingOutbox", ["outbox", "Outbox"], query, encoded.pendingOutbox, rows_.outboxEntry),

    pendingSpawns: (query = {}) =>
      pending("pendingSpawns", ["spawns", "Spawn"], query, encoded.pendingSpawns, rows_.spawnEntry),

    dueTimers: (now, query = {}) =>
      Effect.gen(function* () {
        const call = { operation: "dueTimers" }
        const limit = query.limit ?? defaultPage
        yield* validate.refuse(call, "limit", validate.wholeNumber(limit, 1, maxPage))
        yield* validate.refuse(call, "now", validate.finite(now))
        if (query.after !== undefined) yield* validate.timer(call, checks, query.after, "after")
        const { broken, failures, timers } = yield* encoded.dueTimers(now, query.after, limit + 1)
        const entries = timers.slice(0, limit)
        const beyond = timers[limit]
        return {
          entries,
          corrupt: broken.slice(0, limit).map(brokenTimer),
          failures: beyond === undefined ? failures : failures.filter(({ work }) => !isOf(beyond, work)),
          next: beyond === undefined ? Option.none() : Option.fromNullable(entries.at(-1))
        }
      })
  }
}
