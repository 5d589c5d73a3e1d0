import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Order from "effect/Order"
import type {
  ActivityRun,
  EncodedActivities,
  EncodedActivity,
  EncodedActivityReads,
  EncodedClaim,
  EncodedClaimed
} from "../../EncodedStore.js"
import type { Param, Statement } from "../../SqlDriver.js"
import { compareUtf8 } from "../codec/utf8Order.js"
import type { Database, Failure, Row } from "../sqlDatabase/database.js"
import * as idempotentWrite from "../sqlDatabase/idempotentWrite.js"
import * as pages from "../sqlDatabase/pages.js"
import * as repeatableWrite from "../sqlDatabase/repeatableWrite.js"

const activity = (row: Row): EncodedActivity => {
  const [seq, executionId, key, name, limitKey, payload, version, traceparent, ...rest] = row
  const [askedAt, readyAt, attempts, error, owner] = rest
  return {
    ...{ seq, executionId, key, name, limitKey, payload, version, traceparent },
    ...{ askedAt, readyAt, attempts, error, owner }
  }
}

/** Where the status of its execution is, behind the columns of an activity. */
const statusColumn = 13

const of = (database: Database, executionId: string, after: string | undefined, limit: number) => {
  const { of } = database.sql.activities
  const statement = (row: Row | undefined, limit: number): Statement => ({
    sql: of,
    params: [executionId, row === undefined ? (after ?? "") : String(row[2]), limit]
  })
  return Effect.map(pages.read(database, { operation: "activitiesOf", executionId }, limit, { statement }), (rows) =>
    rows.map(activity)
  )
}

const waiting = (database: Database, owner: string) =>
  Effect.map(
    pages.rows(database, { operation: "waitingActivities" }, database.sql.activities.waiting, owner, owner),
    (rows) => ({
      names: rows.flatMap(([name, readyAt]) =>
        typeof name === "string" ? [{ name, readyAt: typeof readyAt === "number" ? readyAt : 0 }] : []
      ),
      foreign: rows.some(([name, foreign]) => name === null && foreign === 1)
    })
  )

type Limits = NonNullable<EncodedClaim["limits"]>

/** A claim of activities that have limits. */
interface Limited extends EncodedClaim {
  readonly limits: Limits
}

/** How many of a key run and how many count for its rate, with those that were found, and when the first of these began. */
interface OfKey {
  running: number
  starts: number
  readonly first: number
}

/** What a look for activities found that may be taken, with their keys, and when others may be that their rate holds back. */
interface Look {
  readonly found: Array<{ readonly key: string; readonly seq: number }>
  readonly ofKeys: Map<string, OfKey>
  nextAt: number | undefined
}

/** How many keys are looked at at once. */
const keysAtOnce = 1000

const consider = (look: Look, { limits, now }: Limited, row: Row): void => {
  const [limitKey, seq, , running, last, first, firstAt] = row
  // A key of which none is ready.
  if (typeof seq !== "number") return
  const key = String(limitKey)
  const ofKey = look.ofKeys.get(key) ?? {
    running: Number(running),
    starts: typeof first === "number" ? Number(last) - first + 1 : 0,
    first: typeof firstAt === "number" ? firstAt : now
  }
  const { concurrency, rate } = limits
  if (ofKey.running >= concurrency) return
  if (rate !== undefined && ofKey.starts >= rate.limit) {
    const freeAt = ofKey.first + rate.window
    look.nextAt = Math.min(look.nextAt ?? freeAt, freeAt)
    return
  }
  look.ofKeys.set(key, { ...ofKey, running: ofKey.running + 1, starts: ofKey.starts + 1 })
  look.found.push({ key, seq })
}

/** Keys in their order, and of each those first that are ready the longest. */
const inTurn: Order.Order<Row> = Order.combineAll([
  Order.make(([one]: Row, [other]: Row) => sign(compareUtf8(String(one), String(other)))),
  Order.mapInput(Order.number, ([, , readyAt]: Row) => Number(readyAt)),
  Order.mapInput(Order.number, ([, seq]: Row) => Number(seq))
])

const sign = (n: number): -1 | 0 | 1 => (n < 0 ? -1 : n > 0 ? 1 : 0)

/** Looks at the keys behind one, to the last one or to the one `until`, as long as fewer are found than are wanted. */
const lookFrom = (
  database: Database,
  look: Look,
  claim: Limited,
  from: string,
  until?: string
): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    const { limit, limits, name, now } = claim
    const { candidates, firstCandidates } = database.sql.activities
    const each = Math.min(limit, limits.concurrency, (limits.rate?.limit ?? limit) + 1)
    const since = limits.rate?.since ?? now
    let after = from
    for (;;) {
      const sql = after === "" ? firstCandidates : candidates
      const params = [name, after, name, keysAtOnce, name, name, name, since, name, since, name, now, each]
      const rows = yield* pages.rows(database, { operation: "claimActivities" }, sql, ...params)
      for (const row of rows.toSorted(inTurn)) {
        if (look.found.length >= limit) return
        if (until !== undefined && compareUtf8(String(row[0]), until) > 0) return
        consider(look, claim, row)
      }
      const keys = new Set(rows.map(([key]) => String(key)))
      if (keys.size < keysAtOnce) return
      after = Array.from(keys).at(-1) ?? after
    }
  })

/** Looks for activities that may be taken, in the turn of their keys: behind the one that came last, and then from the first one on. */
const lookAround = (database: Database, claim: Limited): Effect.Effect<Look, Failure> =>
  Effect.gen(function* () {
    const { after } = claim.limits
    const look: Look = { found: [], ofKeys: new Map(), nextAt: undefined }
    yield* lookFrom(database, look, claim, after)
    if (after !== "" && look.found.length < claim.limit) yield* lookFrom(database, look, claim, "", after)
    return look
  })

/** Takes those that were found, each where its limits still allow it: other processes look at the same moment. */
const takeFound = (database: Database, claim: Limited, found: Look["found"]) => {
  const sql = database.sql.activities
  const { limits, name, now, owner } = claim
  const { concurrency, rate } = limits
  const take = (key: string) =>
    found.flatMap((one): ReadonlyArray<Statement> => {
      const ofKey: ReadonlyArray<Param> = [name, one.key]
      const most = rate?.limit ?? Number.MAX_SAFE_INTEGER
      const starts = [most, ...ofKey, ...ofKey, rate?.since ?? now]
      const params = [owner, claim.claim, one.seq, now, concurrency, ...ofKey, ...starts, owner, key]
      const taken = { sql: sql.claimOne, params }
      if (rate === undefined) return [taken]
      return [taken, { sql: sql.start, params: [rate.window, ...ofKey, now, ...ofKey, now, ...ofKey] }]
    })
  return idempotentWrite.run(database, { operation: "claimActivities" }, (key) => ({
    before: take(key),
    main: { sql: sql.forgetStarts, params: [now, forgottenAtOnce, key] }
  }))
}

const forgottenAtOnce = 200

const takeReady = (database: Database, { claim, limit, name, now, owner }: EncodedClaim) =>
  idempotentWrite.run(database, { operation: "claimActivities" }, (key) => ({
    main: { sql: database.sql.activities.claim, params: [owner, claim, name, now, limit, owner, key] }
  }))

const claimed = (database: Database, { claim, limit, owner }: EncodedClaim) =>
  Effect.map(
    pages.read(
      database,
      { operation: "claimActivities" },
      limit,
      pages.numbered(database.sql.activities.claimed, 0, owner, claim)
    ),
    (rows) => rows.map((row) => ({ ...activity(row), status: row[statusColumn] ?? null }))
  )

const claimActivities = (database: Database, claim: EncodedClaim): Effect.Effect<EncodedClaimed, Failure> =>
  Effect.gen(function* () {
    const { limits } = claim
    if (limits === undefined) {
      yield* takeReady(database, claim)
      return { rows: yield* claimed(database, claim), nextAt: undefined, last: undefined }
    }
    const { found, nextAt } = yield* lookAround(database, { ...claim, limits })
    if (found.length === 0) return { rows: [], nextAt, last: undefined }
    yield* takeFound(database, { ...claim, limits }, found)
    const rows = yield* claimed(database, claim)
    return { rows, nextAt, last: rows.length === 0 ? undefined : found.at(-1)?.key }
  })

const end = (
  database: Database,
  { claim, seq }: Parameters<EncodedActivities["endActivity"]>[0],
  event: string
): Effect.Effect<boolean, Failure> => {
  const sql = claim === undefined ? database.sql.activities.endAny : database.sql.activities.end
  return Effect.map(
    idempotentWrite.run(database, { operation: "endActivity" }, (key) => ({
      before: [{ sql: sql.emit, params: [event, seq, claim ?? null, key] }],
      main: { sql: sql.remove, params: [seq, claim ?? null, key] }
    })),
    ({ changes }) => changes === 1
  )
}

/** Writes what became of a run, where its claim stands. */
const ofRun = (
  database: Database,
  operation: string,
  sql: string,
  { claim, seq }: ActivityRun,
  ...params: ReadonlyArray<Param>
): Effect.Effect<boolean, Failure> =>
  Effect.map(
    idempotentWrite.run(database, { operation }, (key) => ({ main: { sql, params: [...params, seq, claim, key] } })),
    ({ changes }) => changes === 1
  )

/** What reads activities. */
const makeReads = (database: Database): EncodedActivityReads => {
  const sql = database.sql.activities
  return {
    listActivities: (after, limit) =>
      Effect.map(
        pages.read(database, { operation: "listActivities" }, limit, pages.numbered(sql.list, after)),
        (rows) => rows.map(activity)
      ),
    activitiesOf: (executionId, after, limit) => of(database, executionId, after, limit),
    findActivity: (executionId, key) =>
      Effect.map(
        pages.first(database, { operation: "findActivity", executionId }, sql.find, executionId, key),
        Option.map(activity)
      ),
    waitingActivities: (owner) => waiting(database, owner),
    ownedActivities: (owner) =>
      Effect.map(pages.rows(database, { operation: "ownedActivities" }, sql.owned, owner), (rows) =>
        rows.flatMap(([seq, claim]) => (typeof seq === "number" && typeof claim === "string" ? [{ seq, claim }] : []))
      ),
    activityOwners: (limit) =>
      Effect.map(pages.rows(database, { operation: "activityOwners" }, sql.owners, limit), (rows) =>
        rows.map(([owner, count]) => ({ owner: String(owner), count: Number(count) }))
      )
  }
}

/** Activities: what waits, who runs it, and how it ends. */
export const make = (database: Database): EncodedActivities => {
  const sql = database.sql.activities
  return {
    ...makeReads(database),
    claimActivities: (claim) => claimActivities(database, claim),
    endActivity: (run, event) => end(database, run, event),
    failActivity: (run, { attempts, error, readyAt }) =>
      ofRun(database, "failActivity", sql.fail, run, attempts, error, readyAt),
    releaseActivity: (run, readyAt, whileHalted) =>
      ofRun(database, "releaseActivity", whileHalted ? sql.releaseHalted : sql.release, run, readyAt),
    dropActivity: (run) => ofRun(database, "dropActivity", sql.drop, run),
    // These do the same when they are applied again: what comes late frees what is claimed anew, and that claim falls.
    releaseActivities: (owner) =>
      repeatableWrite.write(database, { operation: "releaseActivities" }, sql.releaseAll, owner),
    releaseOrphans: Effect.suspend(() =>
      repeatableWrite.run(database, { operation: "releaseOrphans" }, [{ sql: sql.releaseOrphans, params: [] }])
    )
  }
}
