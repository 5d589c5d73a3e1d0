import * as Effect from "effect/Effect"
import * as Iterable from "effect/Iterable"
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
import { compareUtf8 } from "../codec/utf8Order.js"
import { activityPool } from "../util/activityPool.js"
import { heldClaim } from "../util/heldClaim.js"
import { statusOf } from "./executions.js"
import { addEmit } from "./outbox.js"
import { Numbered, Ordered } from "./sortedArray.js"
import type { Tables } from "./tables.js"

/** The payload is `unknown` where another program could have written anything, as in a database. */
export interface ActivityRow extends EncodedActivity {
  readonly seq: number
  readonly executionId: string
  readonly key: string
  readonly name: string
  readonly limitKey: string
  readonly readyAt: number
  readonly attempts: number
  readonly owner: string | null
  readonly claim: string | null
}

/** When an activity with a rate began, and until when that counts. */
interface Start {
  readonly at: number
  readonly until: number
}

type Place = Pick<ActivityRow, "readyAt" | "seq">

const inOrder = Order.struct({ readyAt: Order.number, seq: Order.number })

/** Activities that wait under one name and one key, those first that are ready the longest. */
class Queue extends Ordered<Place, ActivityRow> {
  constructor() {
    super((row) => row, inOrder)
  }
}

/** Activities that have not ended: one of a key for each execution. */
export class Activities {
  private readonly rows = new Numbered<ActivityRow>()
  private readonly executions = new Map<string, Map<string, number>>()
  private readonly queues = new Map<string, Map<string, Queue>>()
  private readonly running = new Map<number, ActivityRow>()
  private readonly starts = new Map<string, Array<Start>>()

  get size(): number {
    return this.rows.size
  }

  get(seq: number): ActivityRow | undefined {
    return this.rows.get(seq)
  }

  first(): ActivityRow | undefined {
    return this.rows.first()
  }

  after(seq: number): Iterable<ActivityRow> {
    return this.rows.after(seq)
  }

  /** Those that somebody runs. */
  owned(): Iterable<ActivityRow> {
    return this.running.values()
  }

  of(executionId: string): ReadonlyArray<ActivityRow> {
    const seqs = Array.from(this.executions.get(executionId)?.values() ?? [])
    return seqs.flatMap((seq) => this.rows.get(seq) ?? []).sort((one, other) => compareUtf8(one.key, other.key))
  }

  find(executionId: string, key: string): ActivityRow | undefined {
    const seq = this.executions.get(executionId)?.get(key)
    return seq === undefined ? undefined : this.rows.get(seq)
  }

  /** Adds an activity, unless there is one of the key; says whether it did. */
  add(row: Omit<ActivityRow, "seq" | "owner" | "claim">): boolean {
    const keys = this.executions.get(row.executionId) ?? new Map<string, number>()
    if (keys.has(row.key)) return false
    const seq = this.rows.add((seq) => ({ ...row, seq, owner: null, claim: null }))
    this.executions.set(row.executionId, keys.set(row.key, seq))
    this.index(seq)
    return true
  }

  remove(seq: number): ActivityRow | undefined {
    const row = this.rows.get(seq)
    if (row === undefined) return undefined
    this.unindex(row)
    this.rows.delete(seq)
    const keys = this.executions.get(row.executionId)
    keys?.delete(row.key)
    if (keys?.size === 0) this.executions.delete(row.executionId)
    return row
  }

  removeOf(executionId: string): void {
    for (const row of this.of(executionId)) this.remove(row.seq)
  }

  /** What was held because of its execution is ready. */
  resumeOf(executionId: string): void {
    for (const row of this.of(executionId)) {
      if (row.owner === null && row.claim === heldClaim) this.change(row, { readyAt: askedOf(row), claim: null })
    }
  }

  change(row: ActivityRow, parts: Partial<Omit<ActivityRow, "seq" | "executionId" | "key">>): void {
    this.unindex(row)
    this.rows.set({ ...row, ...parts })
    this.index(row.seq)
  }

  names(): ReadonlyArray<string> {
    return Array.from(this.queues.keys()).sort(compareUtf8)
  }

  /** The keys under which activities of a name wait. */
  keys(name: string): ReadonlyArray<string> {
    return Array.from(this.queues.get(name)?.keys() ?? []).sort(compareUtf8)
  }

  /** Those under a name and one of these keys that are ready, at most so many. */
  ready(name: string, keys: ReadonlyArray<string>, now: number, limit: number): ReadonlyArray<ActivityRow> {
    const rows = keys.flatMap((key) => {
      const waiting = this.queues.get(name)?.get(key)?.from() ?? []
      return Array.from(
        Iterable.take(
          Iterable.takeWhile(waiting, ({ readyAt }) => readyAt <= now),
          limit
        )
      )
    })
    return rows.sort(inOrder).slice(0, limit)
  }

  /** Of what waits under a name the first. */
  next(name: string): number {
    const queues = Array.from(this.queues.get(name)?.values() ?? [])
    return Math.min(...queues.map((queue) => queue.first()?.readyAt ?? Number.POSITIVE_INFINITY))
  }

  runningOf(name: string, key: string): number {
    return Iterable.size(Iterable.filter(this.owned(), (row) => row.name === name && row.limitKey === key))
  }

  /** What has begun under a key after a time, the oldest first. */
  startsOf(name: string, key: string, since: number): ReadonlyArray<Start> {
    return (this.starts.get(JSON.stringify([name, key])) ?? []).filter(({ at }) => at > since)
  }

  /** One has begun under a key, which counts for a window. No start comes before another, whatever the clocks say. */
  start(name: string, key: string, now: number, window: number): void {
    const id = JSON.stringify([name, key])
    const starts = this.starts.get(id) ?? []
    const at = Math.max(now, starts.at(-1)?.at ?? now)
    this.starts.set(id, starts)
    starts.push({ at, until: at + window })
  }

  /** Forgets starts that do not count any more. */
  forgetStarts(now: number): void {
    for (const [id, starts] of this.starts) {
      const left = starts.filter(({ until }) => until > now)
      if (left.length === 0) this.starts.delete(id)
      else if (left.length < starts.length) this.starts.set(id, left)
    }
  }

  private index(seq: number): void {
    const row = this.rows.get(seq)
    if (row === undefined) return
    if (row.owner !== null) {
      this.running.set(seq, row)
      return
    }
    const queues = this.queues.get(row.name) ?? new Map<string, Queue>()
    this.queues.set(row.name, queues)
    const queue = queues.get(row.limitKey) ?? new Queue()
    queues.set(row.limitKey, queue)
    queue.set(row)
  }

  private unindex(row: ActivityRow): void {
    this.running.delete(row.seq)
    const queues = this.queues.get(row.name)
    const queue = queues?.get(row.limitKey)
    queue?.delete(row)
    if (queue?.size === 0) queues?.delete(row.limitKey)
    if (queues?.size === 0) this.queues.delete(row.name)
  }
}

const claimOne = (
  { activities }: Tables,
  { claim, limits, name, now, owner }: EncodedClaim,
  row: ActivityRow
): void => {
  activities.change(row, { owner, claim })
  if (limits?.rate !== undefined) activities.start(name, row.limitKey, now, limits.rate.window)
}

/** Takes those that are ready under each key, as many as its limits allow, in the turn of the keys. */
const claimInTurn = (
  tables: Tables,
  claim: EncodedClaim,
  limits: NonNullable<EncodedClaim["limits"]>
): Pick<EncodedClaimed, "nextAt" | "last"> => {
  const { activities } = tables
  const { limit, name, now } = claim
  const { after, concurrency, rate } = limits
  const keys = activities.keys(name)
  const behind = after === "" ? 0 : keys.filter((key) => compareUtf8(key, after) <= 0).length
  let left = limit
  let nextAt: number | undefined
  let last: string | undefined
  for (const key of [...keys.slice(behind), ...keys.slice(0, behind)]) {
    for (const row of activities.ready(name, [key], now, left)) {
      if (activities.runningOf(name, key) >= concurrency) break
      const starts = rate === undefined ? [] : activities.startsOf(name, key, rate.since)
      if (rate !== undefined && starts.length >= rate.limit) {
        nextAt = Math.min(nextAt ?? Number.POSITIVE_INFINITY, (starts[0]?.at ?? now) + rate.window)
        break
      }
      claimOne(tables, claim, row)
      last = key
      left--
    }
  }
  activities.forgetStarts(now)
  return { nextAt, last }
}

const claimActivities = (tables: Tables, claim: EncodedClaim): EncodedClaimed => {
  const { activities, executions, pools } = tables
  const { limit, limits, name, now, owner } = claim
  if (!pools.get(activityPool).members.has(owner)) return { rows: [], nextAt: undefined, last: undefined }
  let held: Pick<EncodedClaimed, "nextAt" | "last"> = { nextAt: undefined, last: undefined }
  if (limits !== undefined) held = claimInTurn(tables, claim, limits)
  else for (const row of activities.ready(name, activities.keys(name), now, limit)) claimOne(tables, claim, row)
  const claimed = Iterable.filter(activities.owned(), (row) => row.owner === owner && row.claim === claim.claim)
  const rows = Array.from(claimed, (row) => ({ ...row, status: statusOf(executions.get(row.executionId)) }))
  return { ...held, rows: rows.sort((one, other) => one.seq - other.seq) }
}

/** The row of a run, while its claim stands. */
const ofRun = ({ activities }: Tables, { claim, seq }: ActivityRun): ActivityRow | undefined => {
  const row = activities.get(seq)
  return row?.claim === claim ? row : undefined
}

const end = (
  tables: Tables,
  { claim, seq }: Parameters<EncodedActivities["endActivity"]>[0],
  event: string
): boolean => {
  const row = claim === undefined ? tables.activities.get(seq) : ofRun(tables, { claim, seq })
  if (row === undefined || statusOf(tables.executions.get(row.executionId)) === "FAILED") return false
  tables.activities.remove(seq)
  addEmit(tables, { targetId: row.executionId, event })
  return true
}

const free = { owner: null, claim: null }

const change = (tables: Tables, run: ActivityRun, parts: Partial<ActivityRow>): boolean => {
  const row = ofRun(tables, run)
  if (row !== undefined) tables.activities.change(row, { ...free, ...parts })
  return row !== undefined
}

/** Gives one back for a while, or as long as its execution is halted: where that went on since, there is nothing to wait for any more. */
const release = (tables: Tables, run: ActivityRun, readyAt: number, whileHalted: boolean): boolean => {
  const row = ofRun(tables, run)
  if (row === undefined) return false
  const status = statusOf(tables.executions.get(row.executionId))
  const waits = !whileHalted || status === "SUSPENDED" || status === "FAILED"
  return change(tables, run, waits ? { readyAt, claim: heldClaim } : { readyAt: askedOf(row) })
}

/** A row's time as it was asked for, where another program left one that is a time. */
const askedOf = ({ askedAt, readyAt }: ActivityRow): number => (typeof askedAt === "number" ? askedAt : readyAt)

const releaseWhere = ({ activities }: Tables, isFree: (owner: string) => boolean): number => {
  const rows = Array.from(activities.owned()).filter(({ owner }) => owner !== null && isFree(owner))
  for (const row of rows) activities.change(row, free)
  return rows.length
}

/** What reads activities. */
const makeReads = ({ activities }: Tables): EncodedActivityReads => ({
  listActivities: (after, limit) => Effect.sync(() => Array.from(Iterable.take(activities.after(after), limit))),

  activitiesOf: (executionId, after = "", limit) =>
    Effect.sync(() =>
      activities
        .of(executionId)
        .filter(({ key }) => compareUtf8(key, after) > 0)
        .slice(0, limit)
    ),

  findActivity: (executionId, key) => Effect.sync(() => Option.fromNullable(activities.find(executionId, key))),

  waitingActivities: (owner) =>
    Effect.sync(() => ({
      names: activities.names().map((name) => ({ name, readyAt: activities.next(name) })),
      foreign: Iterable.some(activities.owned(), (row) => row.owner !== owner)
    })),

  ownedActivities: (owner) =>
    Effect.sync(() =>
      Array.from(activities.owned()).flatMap((row) =>
        row.owner === owner && row.claim !== null ? [{ seq: row.seq, claim: row.claim }] : []
      )
    ),

  activityOwners: (limit) =>
    Effect.sync(() => {
      const counts = new Map<string, number>()
      for (const { owner } of activities.owned()) if (owner !== null) counts.set(owner, (counts.get(owner) ?? 0) + 1)
      return Array.from(counts, ([owner, count]) => ({ owner, count })).slice(0, limit)
    })
})

/** Activities: what waits, who runs it, and how it ends. */
export const make = (tables: Tables): EncodedActivities => ({
  ...makeReads(tables),

  claimActivities: (claim) => Effect.sync(() => claimActivities(tables, claim)),

  endActivity: (run, event) => Effect.sync(() => end(tables, run, event)),

  failActivity: (run, { attempts, error, readyAt }) =>
    Effect.sync(() => change(tables, run, { attempts, error, readyAt })),

  releaseActivity: (run, readyAt, whileHalted) => Effect.sync(() => release(tables, run, readyAt, whileHalted)),

  dropActivity: (run) =>
    Effect.sync(() => {
      const row = ofRun(tables, run)
      return row !== undefined && tables.activities.remove(row.seq) !== undefined
    }),

  releaseActivities: (owner) => Effect.sync(() => void releaseWhere(tables, (other) => other === owner)),

  releaseOrphans: Effect.sync(() => {
    const { members } = tables.pools.get(activityPool)
    return releaseWhere(tables, (owner) => !members.has(owner))
  })
})
