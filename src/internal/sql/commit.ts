import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { CommitOutcome, EncodedCommit } from "../../EncodedStore.js"
import type { SqlDriver } from "../../SqlDriver.js"
import { type StoreRejected, StoreUnavailable } from "../../StoreError.js"
import * as ambiguousWrite from "./ambiguousWrite.js"
import { emitsParam, makePlan, seqsOf } from "./commitPlan.js"
import type { Sql } from "./statements.js"

type Failure = StoreUnavailable | StoreRejected
type Row = ReadonlyArray<unknown>

const conflict = (found: Option.Option<number>): CommitOutcome => ({ _tag: "Conflict", found })

/**
 * The seqs of so many emits, told by those that are still in the outbox: they are numbered consecutively. `rows` are an emit's place among
 * them and the seq of a row that holds the same. None where there are none left, or where the same events are in it twice.
 */
export const seqsFrom = (count: number, rows: ReadonlyArray<Row>): Option.Option<ReadonlyArray<number>> => {
  // Each row says where the first of them would be; twice the same event is in two places.
  const votes = new Map<number, number>()
  for (const [place, seq] of rows) {
    const first = Number(seq) - Number(place)
    votes.set(first, (votes.get(first) ?? 0) + 1)
  }
  const [best, second] = Array.from(votes).sort(([, a], [, b]) => b - a)
  if (best === undefined || second?.[1] === best[1]) return Option.none()
  return Option.some(Array.from({ length: count }, (_, i) => best[0] + i))
}

/** Runs commits and tells what became of them, also where the answer to one is lost. */
export const make = (driver: SqlDriver, sql: Sql, traceMax: number, budget: Duration.Duration) => {
  // What is sent from now on gets greater ones: a target may have many rows, and a lost answer is no time to read them all.
  let newest = 0

  /** That a commit is applied; the seqs of its emits are those that are still to be found, behind those known when it was sent. */
  const applied = (commit: EncodedCommit, known: number): Effect.Effect<CommitOutcome, Failure> => {
    if (commit.emits.length === 0) return Effect.succeed({ _tag: "Applied", seqs: [] })
    const call = { operation: "commit", executionId: commit.executionId }
    const rows = driver.query(call, { sql: sql.findEmits, params: [emitsParam(commit.emits), known] })
    return Effect.map(rows, (rows) => ({
      _tag: "Applied",
      seqs: Option.getOrElse(seqsFrom(commit.emits.length, rows), () => [])
    }))
  }

  /** What the stored row tells of a commit that was sent and perhaps applied, perhaps still will be. */
  const read = (commit: EncodedCommit, row: Row | undefined): ambiguousWrite.Seen<"Applied" | number> => {
    // An execution that was there and is gone may have been purged before the commit or after it.
    if (row === undefined) return commit.version === 0 ? ambiguousWrite.open : ambiguousWrite.hidden
    const [stored, token] = row
    const version = Number(stored)
    // Other programs keep the token when they rewrite the row.
    if (token === commit.token && version > commit.version) return ambiguousWrite.known("Applied")
    if (version === commit.version && version > 0) return ambiguousWrite.open
    if (version === commit.version || version === commit.version + 1) return ambiguousWrite.known(version)
    // Ours may lie under it. One that consumed an event would have left it in the ledger: it is not there, and this is a conflict, or it
    // is there, and reloading the execution shows it.
    return version > commit.version && commit.processed !== undefined
      ? ambiguousWrite.known(version)
      : ambiguousWrite.hidden
  }

  return (commit: EncodedCommit): Effect.Effect<CommitOutcome, Failure> =>
    Effect.suspend(() => {
      const call = { operation: "commit", executionId: commit.executionId }
      const plan = makePlan(sql, traceMax, commit)
      const known = newest
      const first = (sql: string) =>
        Effect.map(driver.query(call, { sql, params: [commit.executionId] }), (rows): Row | undefined => rows[0])
      // A network that sends the request twice may answer with the second one, which wrote no emits.
      const twice = () =>
        new StoreUnavailable({
          ...call,
          reason: "connection",
          outcome: "unknown",
          detail: "the commit arrived twice, and the answer is that to the second one"
        })
      const send = Effect.flatMap(
        driver.transaction(call, plan.statements),
        (results): Effect.Effect<Option.Option<CommitOutcome>, Failure> => {
          if (results.at(-1)?.changes !== 1) return Effect.succeedNone
          const seqs = seqsOf(results[plan.emits])
          if (seqs.length !== commit.emits.length) return twice()
          newest = Math.max(newest, seqs.at(-1) ?? 0)
          return Effect.succeedSome({ _tag: "Applied", seqs })
        }
      )
      const look = Effect.suspend(() =>
        Effect.flatMap(first(sql.outcome), (row): Effect.Effect<ambiguousWrite.Seen<CommitOutcome>, Failure> => {
          const seen = read(commit, row)
          if (seen._tag !== "Known") return Effect.succeed(seen)
          return seen.outcome === "Applied"
            ? Effect.map(applied(commit, known), ambiguousWrite.known)
            : Effect.succeed(ambiguousWrite.known(conflict(Option.some(seen.outcome))))
        })
      )
      return Effect.flatMap(ambiguousWrite.run({ send, look }, budget), ({ outcome }) =>
        Option.isSome(outcome)
          ? Effect.succeed(outcome.value)
          : Effect.map(first(sql.version), (row) =>
              conflict(Option.map(Option.fromNullable(row), ([version]) => Number(version)))
            )
      )
    })
}
