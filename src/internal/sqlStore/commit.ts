import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { CommitOutcome, Encoded, EncodedCommit } from "../../EncodedStore.js"
import type { FencingToken } from "../../Lease.js"
import type { Call, StatementResult } from "../../SqlDriver.js"
import { StoreUnavailable } from "../../StoreError.js"
import { emitsParam, makePlan, type Plan, seqsOf } from "../sql/commitPlan.js"
import * as ambiguousWrite from "../sqlDatabase/ambiguousWrite.js"
import type { Database, Failure, Row } from "../sqlDatabase/database.js"
import * as fenced from "../sqlDatabase/fenced.js"
import * as pages from "../sqlDatabase/pages.js"
import * as transactions from "../sqlDatabase/transactions.js"
import { leaseLost } from "../util/fence.js"

/** What became of a commit. Where its lease is lost it was not applied, and never will be. */
type Outcome = CommitOutcome | { readonly _tag: "LeaseLost"; readonly fence: FencingToken }

const conflict = (found: Option.Option<unknown>): CommitOutcome => ({ _tag: "Conflict", found })

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

/** The greatest seq that a commit of this store was given. */
interface Newest {
  seq: number
}

/** A commit on its way. */
interface Sending {
  readonly database: Database
  readonly call: Call
  readonly commit: EncodedCommit
  readonly plan: Plan
  /**
   * The greatest seq that was known before: this commit's are above it. A target may have many rows, and a lost answer is no time to read
   * all.
   */
  readonly above: number
}

// A network that sends the request twice may answer with the second one, which wrote no emits.
const arrivedTwice = (call: Call) =>
  new StoreUnavailable({
    ...call,
    reason: "connection",
    outcome: "unknown",
    detail: "the commit arrived twice, and the answer is that to the second one"
  })

// A driver that answers to fewer than it was given.
const unanswered = (call: Call) =>
  new StoreUnavailable({
    ...call,
    reason: "connection",
    outcome: "unknown",
    detail: "the driver gave no answer to the transaction"
  })

type Results = ReadonlyArray<StatementResult>

/** What the results of a commit's statements say. Nothing where the swap was lost. */
const outcomeOf = (
  { call, commit, plan }: Sending,
  newest: Newest,
  results: Results
): Exit.Exit<Option.Option<CommitOutcome>, Failure> => {
  if (results[plan.swap]?.changes !== 1) return Exit.succeed(Option.none())
  const seqs = seqsOf(results[plan.emits])
  if (seqs.length !== commit.emits.length) return Exit.fail(arrivedTwice(call))
  newest.seq = Math.max(newest.seq, seqs.at(-1) ?? 0)
  return Exit.succeed(Option.some({ _tag: "Applied", seqs }))
}

/** Sends the commit. Gives nothing where the swap was lost. */
const send = (sending: Sending, newest: Newest): Effect.Effect<Option.Option<Outcome>, Failure> =>
  Effect.flatMap(sending.database.driver.transaction(sending.call, sending.plan.statements), (results) =>
    outcomeOf(sending, newest, results)
  )

/** That the commit is applied; the seqs of its emits are those that are still to be found. */
const applied = ({ above, call, commit, database }: Sending): Effect.Effect<CommitOutcome, Failure> => {
  if (commit.emits.length === 0) return Effect.succeed({ _tag: "Applied", seqs: [] })
  const rows = pages.rows(database, call, database.sql.commit.findEmits, emitsParam(commit.emits), above)
  return Effect.map(rows, (rows) => ({
    _tag: "Applied",
    seqs: Option.getOrElse(seqsFrom(commit.emits.length, rows), () => [])
  }))
}

/** What the stored row tells of a commit that was sent and perhaps applied, perhaps still will be. */
const read = (commit: EncodedCommit, row: Option.Option<Row>): ambiguousWrite.Seen<"Applied" | "Conflict"> => {
  // An execution that was there and is gone may have been purged before the commit or after it.
  if (Option.isNone(row)) return commit.version === 0 ? ambiguousWrite.open : ambiguousWrite.hidden
  const [stored, token] = row.value
  const version = Number(stored)
  // Other programs keep the token when they rewrite the row.
  if (token === commit.token && version > commit.version) return ambiguousWrite.known("Applied")
  if (version === commit.version && version > 0) return ambiguousWrite.open
  if (version === commit.version || version === commit.version + 1) return ambiguousWrite.known("Conflict")
  // Ours may lie under it.
  return ambiguousWrite.hidden
}

/** That the commit can be applied no more, where its lease is lost. */
const fencedOff = ({ call, commit: { fence }, database }: Sending): Effect.Effect<Option.Option<Outcome>, Failure> =>
  fence === undefined
    ? Effect.succeedNone
    : Effect.map(fenced.isHeld(database, call, fence), (held) =>
        held ? Option.none() : Option.some({ _tag: "LeaseLost", fence })
      )

/**
 * What the ledger tells of a commit that later ones may hide, and that can be applied no more. Had it been applied, the event that it
 * consumes would be there. An event that is there may be another's doing, who was given it too: that stays hidden.
 */
const uncover = (
  { call, commit, database }: Sending,
  row: Row
): Effect.Effect<ambiguousWrite.Seen<Outcome>, Failure> => {
  const [version] = row
  if (commit.processed === undefined || Number(version) <= commit.version) return Effect.succeed(ambiguousWrite.hidden)
  const event = pages.first(database, call, database.sql.ledger.has, commit.executionId, commit.processed)
  return Effect.map(event, (event) =>
    Option.isSome(event) ? ambiguousWrite.hidden : ambiguousWrite.known(conflict(Option.some(version)))
  )
}

/** Reads what the stored row tells of the commit, and where later commits hide it, what the ledger does. */
const lookOnce = (sending: Sending): Effect.Effect<ambiguousWrite.Seen<Outcome>, Failure> => {
  const { call, commit, database } = sending
  const row = pages.first(database, call, database.sql.commit.outcome, commit.executionId)
  return Effect.flatMap(row, (row): Effect.Effect<ambiguousWrite.Seen<Outcome>, Failure> => {
    const seen = read(commit, row)
    if (seen._tag === "Hidden" && Option.isSome(row)) return uncover(sending, row.value)
    if (seen._tag !== "Known") return Effect.succeed(seen)
    return seen.outcome === "Applied"
      ? Effect.map(applied(sending), ambiguousWrite.known)
      : Effect.succeed(ambiguousWrite.known(conflict(Option.map(row, ([version]) => version))))
  })
}

/** Reads what became of the commit. */
const look = (sending: Sending): Effect.Effect<ambiguousWrite.Seen<Outcome>, Failure> =>
  Effect.gen(function* () {
    const seen = yield* lookOnce(sending)
    if (seen._tag !== "Open") return seen
    const lost = yield* fencedOff(sending)
    if (Option.isNone(lost)) return seen
    // It may have arrived after the row was read and before the lease was lost.
    const after = yield* lookOnce(sending)
    return after._tag === "Open" ? ambiguousWrite.known(lost.value) : after
  })

/** The conflict of a commit whose swap was lost, with the version that is stored; or its lease is lost. What was remembered is read now anyway. */
const lost = (sending: Sending): Effect.Effect<Outcome, Failure> => {
  const { call, commit, database } = sending
  if (commit.remembered !== undefined) return Effect.succeed({ _tag: "Stale" })
  return Effect.flatMap(pages.first(database, call, database.sql.commit.version, commit.executionId), (row) => {
    const found = Option.map(row, ([version]) => version)
    const isExpected = commit.version === 0 ? Option.isNone(found) : Option.contains(found, commit.version)
    return isExpected
      ? Effect.map(
          fencedOff(sending),
          Option.getOrElse(() => conflict(found))
        )
      : Effect.succeed(conflict(found))
  })
}

/** Finds out what became of a commit, whose first sending gave this. */
const settle = (
  sending: Sending,
  newest: Newest,
  first: Effect.Effect<Option.Option<Outcome>, Failure>
): Effect.Effect<CommitOutcome, Failure> => {
  const write = { send: send(sending, newest), look: Effect.suspend(() => look(sending)) }
  return ambiguousWrite.run(write, sending.database.budget, first).pipe(
    Effect.flatMap(({ outcome }) => (Option.isSome(outcome) ? Effect.succeed(outcome.value) : lost(sending))),
    Effect.flatMap((outcome) =>
      outcome._tag === "LeaseLost" ? Effect.fail(leaseLost(sending.call, outcome.fence)) : Effect.succeed(outcome)
    )
  )
}

/** Finds out what became of commits that were sent together; hardly ever is one not simply applied. */
const settleEach = (
  sent: ReadonlyArray<Sending>,
  newest: Newest,
  exits: ReadonlyArray<Exit.Exit<Results, Failure>>
): Effect.Effect<ReadonlyArray<Exit.Exit<CommitOutcome, Failure>>> => {
  const firsts = sent.map((sending, i) =>
    Exit.flatMap(exits[i] ?? Exit.fail(unanswered(sending.call)), (results) => outcomeOf(sending, newest, results))
  )
  const applied = firsts.flatMap((first) =>
    Exit.isSuccess(first) && Option.isSome(first.value) ? [Exit.succeed(first.value.value)] : []
  )
  if (applied.length === sent.length) return Effect.succeed(applied)
  return Effect.forEach(sent, (sending, i) => Effect.exit(settle(sending, newest, firsts[i] ?? Effect.succeedNone)), {
    concurrency: "unbounded"
  })
}

/** Runs commits and tells what became of them, also where the answer to one is lost. */
export const make = (database: Database, traceMax: number): Required<Pick<Encoded, "commit" | "commitEach">> => {
  const newest: Newest = { seq: 0 }
  const prepare = (commit: EncodedCommit): Sending => ({
    database,
    call: { operation: "commit", executionId: commit.executionId },
    commit,
    plan: makePlan(database.sql, traceMax, commit),
    above: newest.seq
  })

  return {
    commit: (commit) =>
      Effect.suspend(() => {
        const sending = prepare(commit)
        return settle(sending, newest, send(sending, newest))
      }),

    commitEach: (commits) =>
      Effect.suspend(() => {
        const sent = commits.map(prepare)
        const given = sent.map(({ call, plan }) => ({ call, statements: plan.statements }))
        return Effect.flatMap(transactions.run(database.driver, given), (exits) => settleEach(sent, newest, exits))
      })
  }
}
