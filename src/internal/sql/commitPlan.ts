import type { EncodedCommit, EncodedDelayed, EncodedEmit, EncodedRemembered } from "../../EncodedStore.js"
import type { FencingToken } from "../../Lease.js"
import type { Param, Statement, StatementResult } from "../../SqlDriver.js"
import type { Fenceable } from "./expressions.js"
import type { Sql } from "./statements.js"

/**
 * A commit as the statements of one transaction: side-writes first, each guarded by the expected version, the compare-and-swap behind them.
 *
 * Inside one transaction a guard holds exactly when the swap will. No side-write carries the execution's text, two writers with the same
 * bytes cannot satisfy each other's guard, and a plan that a network applies twice finds the version moved on and writes nothing more.
 */
export interface Plan {
  readonly statements: ReadonlyArray<Statement>
  /** Where among the statements the emits are, or -1. */
  readonly emits: number
  /** Where the compare-and-swap is. */
  readonly swap: number
}

/** `fireAt` as `[m, k]` with `fireAt = m / 2^k`, both exact; `input.fireAt` keeps `k` below 63 and `m` below 2^53. */
export const splitDouble = (value: number): readonly [mantissa: number, exponent: number] => {
  let mantissa = value
  let exponent = 0
  while (!Number.isInteger(mantissa)) {
    mantissa *= 2
    exponent++
  }
  return [mantissa, exponent]
}

export const emitsParam = (emits: ReadonlyArray<EncodedEmit>): string =>
  JSON.stringify(emits.map((emit) => [emit.targetId, emit.event]))

/** {@link emitsParam} as parameters of their own, for the texts of few emits. */
export const fewParams = (emits: ReadonlyArray<EncodedEmit>): ReadonlyArray<Param> =>
  emits.flatMap((emit) => [emit.targetId, emit.event])

export const delayedParam = (delayed: ReadonlyArray<EncodedDelayed>): string =>
  JSON.stringify(delayed.map((emit) => [emit.targetId, emit.event, ...splitDouble(emit.dueAt)]))

export const fenceParams = ({ fence, holder, name, pool }: FencingToken): ReadonlyArray<Param> => [
  pool,
  name,
  holder,
  fence
]

/** A statement, fenced where there is a token. */
export const statement = (
  sql: Fenceable,
  fence: FencingToken | undefined,
  ...params: ReadonlyArray<Param>
): Statement =>
  fence === undefined ? { sql: sql.free, params } : { sql: sql.fenced, params: [...params, ...fenceParams(fence)] }

/**
 * What frames the side-writes of a commit: what comes before and behind them, their texts, the parameters of their guard, and the
 * compare-and-swap, which comes right behind them.
 */
interface Frame {
  readonly before: ReadonlyArray<Statement>
  readonly texts: Sql["commit"]["next"]
  readonly guard: ReadonlyArray<Param>
  readonly swap: Statement
  readonly after: ReadonlyArray<Statement>
}

/** The compare-and-swap of an execution that was read. */
const swap = (sql: Sql["commit"], commit: EncodedCommit): Statement => {
  const { data, definitionId, executionId: id, fence, token, version } = commit
  const lease = fence === undefined ? [] : fenceParams(fence)
  if (version === 0) {
    return fence === undefined
      ? { sql: sql.insert, params: [id, definitionId, data, token] }
      : { sql: sql.fenced.insert, params: [id, definitionId, data, ...lease, id, token] }
  }
  return {
    sql: fence === undefined ? sql.swap : sql.fenced.swap,
    params: [definitionId, data, version + 1, id, version, ...lease, version + 1, token]
  }
}

/** The removal of the finished work. It comes first: arming the timer that fired is a new timer. */
const acks = (
  texts: Sql["commit"]["next"],
  { ack }: EncodedCommit,
  guard: ReadonlyArray<Param>
): ReadonlyArray<Statement> => {
  switch (ack?._tag) {
    case "Outbox":
      return [{ sql: texts.ackOutbox, params: [ack.seq, ...guard] }]
    case "Spawn":
      return [{ sql: texts.ackSpawn, params: [ack.seq, ...guard] }]
    case "Timer":
      return [{ sql: texts.ackTimer, params: [ack.executionId, ack.path, ack.fireAt, ...guard] }]
    case undefined:
      return []
  }
}

/** The frame of a commit to an execution that was read: each guard expects its version. */
const read = (sql: Sql["commit"], commit: EncodedCommit): Frame => {
  const { executionId: id, fence, version } = commit
  const { first, next } = fence === undefined ? sql : sql.fenced
  const texts = version === 0 ? first : next
  const guard = [id, ...(version === 0 ? [] : [version]), ...(fence === undefined ? [] : fenceParams(fence))]
  return { before: acks(texts, commit, guard), texts, guard, swap: swap(sql, commit), after: [] }
}

/** The frame of a commit to one that was remembered: the first statement asks whether it is still so, each guard what came of that. */
const remembered = (
  { remembered: sql }: Sql["commit"],
  { data, definitionId, executionId: id, fence, token, version }: EncodedCommit,
  { end, eventId, seq }: EncodedRemembered
): Frame => {
  const guard = [seq, token]
  return {
    before: [statement(sql.claim, fence, token, seq, id, version, -Buffer.byteLength(end), end, eventId)],
    texts: sql.writes,
    guard,
    swap: {
      sql: sql.swap,
      params: [definitionId, data, version + 1, id, version, ...guard, version + 1, token]
    },
    after: [{ sql: sql.ack, params: guard }]
  }
}

const addActivities = (
  { asked: { activities, askedAt, traceparent }, executionId, version }: EncodedCommit,
  add: (...params: ReadonlyArray<Param>) => void
): void => {
  const rows = activities.map(({ key, limitKey, name, payload }) => [key, name, limitKey, payload])
  add(executionId, version + 1, traceparent, ...splitDouble(askedAt), ...splitDouble(askedAt), JSON.stringify(rows))
}

/** A new execution has no dead letters: those of one before it went with it. */
const discardLetters = (
  { armed, asked, cancelled, executionId, stopped, version }: EncodedCommit,
  add: (...params: ReadonlyArray<Param>) => void
): void => {
  if (version === 0 || cancelled.length + armed.length + stopped.length + asked.activities.length === 0) return
  const paths = [...cancelled, ...armed.map(({ path }) => path)]
  const keys = [...stopped, ...asked.activities.map(({ key }) => key)]
  add(executionId, JSON.stringify(paths), JSON.stringify(keys))
}

export const makePlan = (sql: Sql, traceMax: number, commit: EncodedCommit): Plan => {
  const { executionId: id, version } = commit
  const { after, before, guard, swap, texts } =
    commit.remembered === undefined ? read(sql.commit, commit) : remembered(sql.commit, commit, commit.remembered)
  const statements = Array.from(before)
  const add = (sql: string, ...params: ReadonlyArray<Param>): void => {
    statements.push({ sql, params: [...params, ...guard] })
  }
  const emits = commit.emits.length > 0 ? statements.length : -1
  const few = texts.fewEmits[commit.emits.length - 1]
  if (few !== undefined) add(few, ...fewParams(commit.emits))
  else if (commit.emits.length > 0) add(texts.emits, emitsParam(commit.emits))
  if (commit.delayed.length > 0) add(texts.delayed, delayedParam(commit.delayed))
  if (commit.processed !== undefined) add(texts.processed, id, commit.processed)
  if (commit.cancelled.length > 0) add(texts.cancelTimers, id, JSON.stringify(commit.cancelled))
  const [armed] = commit.armed
  if (armed !== undefined && commit.armed.length === 1) {
    add(texts.armTimer, id, armed.path, ...splitDouble(armed.fireAt))
  } else if (commit.armed.length > 0) {
    add(texts.armTimers, id, JSON.stringify(commit.armed.map((timer) => [timer.path, ...splitDouble(timer.fireAt)])))
  }
  discardLetters(commit, (...params) => add(texts.discardLetters, ...params))
  if (commit.spawns.length > 0) {
    add(texts.spawns, id, JSON.stringify(commit.spawns.map((spawn) => [spawn.childId, spawn.rootPath, spawn.context])))
  }
  if (commit.stopped.length > 0) add(texts.stopActivities, id, JSON.stringify(commit.stopped))
  if (commit.asked.activities.length > 0) addActivities(commit, (...params) => add(texts.askActivities, ...params))
  if (commit.attributes !== undefined) {
    const attributes = JSON.stringify(commit.attributes)
    if (commit.attributes.length > 0) add(texts.writeAttributes, id, attributes)
    if (version > 0) add(texts.removeAttributes, id, attributes)
  }
  if (commit.trace !== undefined) {
    add(texts.trace, id, id, commit.trace)
    if (traceMax > 0) add(texts.trimTrace, id, id, traceMax)
  }
  const place = statements.push(swap, ...after) - 1 - after.length
  return { statements, emits, swap: place }
}

/**
 * The seqs of the emits: the insert's last rowid counted back by its rows. One statement inside one transaction numbers consecutively.
 */
export const seqsOf = (result: StatementResult | undefined): ReadonlyArray<number> =>
  result === undefined
    ? []
    : Array.from({ length: result.changes }, (_, i) => result.lastRowid - result.changes + 1 + i)
