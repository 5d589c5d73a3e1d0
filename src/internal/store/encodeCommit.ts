import * as Either from "effect/Either"
import type { ActivityOp, Commit, Emit, Spawn, TimerOp, WorkItem } from "../../Commit.js"
import type {
  EncodedActivityOp,
  EncodedCommit,
  EncodedDelayed,
  EncodedEmit,
  EncodedRemembered
} from "../../EncodedStore.js"
import { type Event, WellKnownKind } from "../../Event.js"
import type { Execution } from "../../Execution.js"
import type { StoreRejected } from "../../StoreError.js"
import * as Time from "../../Time.js"
import { emitted } from "../codec/event.js"
import * as executionCodec from "../codec/execution.js"
import * as json from "../codec/json.js"
import * as reader from "../codec/reader.js"
import { type Copy, mostLevels, stringify } from "../codec/stringify.js"
import { traceStep } from "../codec/traceStep.js"
import * as validate from "../codec/validate.js"
import * as limits from "../util/limits.js"

type Result<A> = Either.Either<A, StoreRejected>

const free: reader.Codec<Spawn["context"]> = { decode: reader.object, encode: reader.object }

/** When events are emitted, in seconds since the epoch, and in which span. */
export interface Emission {
  readonly now: number
  readonly traceparent: string | null
}

// What follows runs at each commit: it throws what is wrong instead of passing it on step by step.

/** What is encoded for one write, and how much it is so far. */
interface Write {
  readonly checks: validate.Checks
  /** Characters, of which each takes a byte at least: too much of them is found out before there is more. */
  characters: number
}

const demandFew = ({ checks }: Write, path: string, items: ReadonlyArray<unknown>): void =>
  validate.demand(path, limits.tooMany(checks.limits.items, items.length))

const encode = <A>(
  write: Write,
  codec: reader.Codec<A>,
  value: A,
  path: string,
  limit: limits.Limit,
  copied?: boolean
): reader.Written => {
  const written = reader.write(codec, value, path, limit, copied)
  const { commit } = write.checks.limits
  write.characters += written.text.length
  if (write.characters > commit.most) throw new reader.Invalid("", limits.tooLarge(commit))
  return written
}

const textsOf = ({
  asked,
  attributes,
  data,
  delayed,
  emits,
  spawns,
  trace = ""
}: Partial<EncodedCommit>): ReadonlyArray<string> => [
  ...(data === undefined ? [] : [data]),
  ...[...(emits ?? []), ...(delayed ?? [])].map(({ event }) => event),
  ...(spawns ?? []).map(({ context }) => context),
  ...(asked?.activities ?? []).map(({ payload }) => payload),
  ...(attributes ?? []).flat(),
  trace
]

/** Refuses what takes too many bytes altogether. */
const demandSize = ({ characters, checks }: Write, written: Partial<EncodedCommit>): void => {
  const { commit } = checks.limits
  // no character takes more than three
  if (characters * 3 <= commit.most) return
  if (limits.exceeds(textsOf(written).join(""), commit.most)) throw new reader.Invalid("", limits.tooLarge(commit))
}

/** What a child tells its parent stays with the parent, other events go with their delivery. */
const limitOf = ({ event, result }: limits.Limits, { kind }: Event): limits.Limit =>
  kind === WellKnownKind.Finished && result.most < event.most ? result : event

/** Of what a text is to be made of a copy, which comes with it: of the execution, of the events that are to be delivered at once. */
export interface Copied {
  readonly execution: boolean
  readonly events: boolean
}

/** Events in stored form, and of those that are to be delivered at once the copies that their texts were made of, where there are any. */
export interface Emitted extends Pick<EncodedCommit, "emits" | "delayed"> {
  readonly copies: ReadonlyArray<Copy | undefined>
}

// Most commits have few of these, and each list that is made for nothing costs them.
const none: readonly [] = []
const noEmits: Emitted = { emits: none, delayed: none, copies: none }
const noTimers: Pick<EncodedCommit, "armed" | "cancelled"> = { armed: none, cancelled: none }

const emitsOf = (
  write: Write,
  emits: ReadonlyArray<Emit>,
  { now, traceparent }: Emission,
  idProblem: validate.Checks["eventId"],
  copied: boolean
): Emitted => {
  if (emits.length === 0) return noEmits
  const { checks } = write
  demandFew(write, "emits", emits)
  const atOnce: Array<EncodedEmit> = []
  const delayed: Array<EncodedDelayed> = []
  const copies: Array<Copy | undefined> = []
  for (const [i, { dueAt: due, event, targetId }] of emits.entries()) {
    const path = `emits[${i}]`
    validate.demand(`${path}.event.id`, idProblem(event.id))
    if (targetId !== null) validate.demand(`${path}.targetId`, checks.id(targetId))
    const dueAt = due === undefined ? undefined : Time.toSeconds(due)
    if (dueAt !== undefined) validate.demand(`${path}.dueAt`, validate.fireAt(dueAt))
    const row = { event, emittedAt: Math.max(now, dueAt ?? now), traceparent }
    const isAtOnce = dueAt === undefined
    const { copy, text } = encode(
      write,
      emitted,
      row,
      `${path}.event`,
      limitOf(checks.limits, event),
      copied && isAtOnce
    )
    if (isAtOnce) {
      atOnce.push({ targetId, event: text })
      copies.push(copy)
    } else delayed.push({ targetId, event: text, dueAt: asStored(dueAt) })
  }
  return { emits: atOnce, delayed, copies }
}

// A negative zero would not survive JSON, and it is the same time.
const asStored = (time: number): number => (time === 0 ? 0 : time)

const timersOf = (write: Write, ops: ReadonlyArray<TimerOp>): Pick<EncodedCommit, "armed" | "cancelled"> => {
  if (ops.length === 0) return noTimers
  const { checks } = write
  demandFew(write, "timers", ops)
  const last = new Map<string, TimerOp>()
  for (const [i, op] of ops.entries()) {
    validate.demand(`timers[${i}].path`, checks.text(op.path))
    if (op._tag === "Schedule") validate.demand(`timers[${i}].fireAt`, validate.fireAt(op.fireAt))
    last.set(op.path, op)
  }
  const armed: Array<EncodedCommit["armed"][number]> = []
  const cancelled: Array<string> = []
  for (const op of last.values()) {
    if (op._tag === "Schedule") armed.push({ path: op.path, fireAt: asStored(op.fireAt) })
    else cancelled.push(op.path)
  }
  return { armed, cancelled }
}

const spawnsOf = (write: Write, spawns: ReadonlyArray<Spawn>): EncodedCommit["spawns"] => {
  if (spawns.length === 0) return none
  const { checks } = write
  demandFew(write, "spawns", spawns)
  return spawns.map((spawn, i) => {
    const path = `spawns[${i}]`
    validate.demand(`${path}.childId`, checks.id(spawn.childId))
    validate.demand(`${path}.rootPath`, checks.text(spawn.rootPath))
    const { text } = encode(write, free, spawn.context, `${path}.context`, checks.limits.context)
    return { childId: spawn.childId, rootPath: spawn.rootPath, context: text }
  })
}

const demandResult = (value: unknown, limit: limits.Limit): void => {
  const written = stringify(value, "result", { limit, levels: mostLevels })
  if (Either.isLeft(written)) throw new reader.Invalid(written.left.path, written.left.problem)
}

/** An execution that is at its end, or is being cancelled, waits for no activity. */
const endStatuses: ReadonlyArray<Execution["status"]> = ["DONE", "CANCELLED", "CANCELLING"]

/** Which activities are taken back and which are asked for: in order, and of a key the last that counts. */
const activitiesOf = (
  write: Write,
  ops: ReadonlyArray<ActivityOp>,
  { now, traceparent }: Emission,
  { status }: Execution
): Pick<EncodedCommit, "asked" | "stopped"> => {
  if (ops.length === 0) return { stopped: none, asked: { activities: none, askedAt: asStored(now), traceparent } }
  const { checks } = write
  demandFew(write, "activities", ops)
  const isEnd = endStatuses.includes(status)
  const stopped = new Set<string>()
  const asked = new Map<string, EncodedActivityOp>()
  for (const [i, op] of ops.entries()) {
    const path = `activities[${i}]`
    validate.demand(`${path}.key`, checks.id(op.key))
    if (op._tag === "Cancel") {
      stopped.add(op.key)
      asked.delete(op.key)
      continue
    }
    const { key, limitKey = "", name } = op
    validate.demand(`${path}.name`, checks.id(name))
    validate.demand(`${path}.limitKey`, checks.text(limitKey))
    const { text: payload } = encode(write, free, op.payload, `${path}.payload`, checks.limits.event)
    if (!isEnd && !asked.has(key)) asked.set(key, { key, name, limitKey, payload })
  }
  return {
    stopped: Array.from(stopped),
    asked: { activities: Array.from(asked.values()), askedAt: asStored(now), traceparent }
  }
}

/** The row of an execution. Its parts are looked at by themselves only where the row, all of it, is larger than such a part may be. */
const rowOf = (write: Write, execution: Execution, token: string, copied: boolean): reader.Written => {
  const { commit, context, result } = write.checks.limits
  const row = reader.toText(executionCodec.executionWithToken(token), execution, "", commit, copied)
  const isOver = ({ most }: limits.Limit): boolean =>
    Either.isLeft(row) ? row.left.path === "" : limits.exceeds(row.right.text, most)
  if (isOver(context)) reader.write(free, execution.context, "context", context)
  if (execution.result !== null && isOver(result)) demandResult(execution.result, result)
  if (Either.isLeft(row)) throw row.left
  write.characters += row.right.text.length
  return row.right
}

const demandAck = (checks: validate.Checks, ack: WorkItem): void =>
  ack._tag === "Timer"
    ? validate.demandTimer(checks, ack, "ack")
    : validate.demand("ack.seq", validate.wholeNumber(ack.seq, 0, Number.MAX_SAFE_INTEGER))

export const encodeEmits = (
  call: validate.Call,
  checks: validate.Checks,
  emits: ReadonlyArray<Emit>,
  emission: Emission,
  idProblem: validate.Checks["eventId"],
  copied = false
): Result<Emitted> =>
  validate.catching(call, () => {
    const write: Write = { checks, characters: 0 }
    const encoded = emitsOf(write, emits, emission, idProblem, copied)
    demandSize(write, encoded)
    return encoded
  })

/** What must still be so of an execution that was not read: what a read would tell is asked about an event in the outbox. */
const rememberedOf = ({ ack, processed }: Commit, token: string): EncodedRemembered => {
  validate.demand("processed", processed === undefined ? "is missing, which goes with remembered" : undefined)
  validate.demand("ack", ack?._tag === "Outbox" ? undefined : "is of no row of the outbox, which goes with remembered")
  const seq = ack?._tag === "Outbox" ? ack.seq : 0
  return { end: executionCodec.endOf(token), seq, eventId: processed ?? "" }
}

/** A commit in stored form, its execution as a load would give it, and the copies that its row and its events were made of, where there are any. */
export interface Encoding extends Pick<Emitted, "copies"> {
  readonly written: EncodedCommit
  readonly after: Execution
  readonly copy: Copy | undefined
}

/** `before` is the execution as the caller has it, `after` the same one stamped and a version on. */
export const encodeCommit = (
  call: validate.Call,
  checks: validate.Checks,
  before: Execution,
  after: Execution,
  commit: Commit,
  token: string,
  emission: Emission,
  copied: Copied = { execution: false, events: false }
): Result<Encoding> =>
  validate.catching(call, () => {
    validate.demand("id", checks.id(before.id))
    validate.demand("definitionId", checks.id(before.definitionId))
    validate.demand("version", validate.wholeNumber(before.version, 0, Number.MAX_SAFE_INTEGER - 1))
    if (commit.ack !== undefined) demandAck(checks, commit.ack)
    if (commit.processed !== undefined) validate.demand("processed", checks.eventId(commit.processed))
    const write: Write = { checks, characters: 0 }
    const { copies, delayed, emits } = emitsOf(write, commit.emits ?? none, emission, checks.eventId, copied.events)
    const { armed, cancelled } = timersOf(write, commit.timers ?? none)
    const { copy, readsBack, text: data } = rowOf(write, after, token, copied.execution)
    const { trace } = commit
    const written: EncodedCommit = {
      executionId: before.id,
      definitionId: before.definitionId,
      version: before.version,
      token,
      data,
      emits,
      delayed,
      processed: commit.processed,
      armed,
      cancelled,
      spawns: spawnsOf(write, commit.spawns ?? none),
      ...activitiesOf(write, commit.activities ?? none, emission, after),
      attributes: commit.attributes && validate.attributes(checks, commit.attributes),
      trace: trace === undefined ? undefined : encode(write, traceStep, trace, "trace", checks.limits.commit).text,
      ack: commit.ack,
      remembered: commit.remembered === undefined ? undefined : rememberedOf(commit, commit.remembered)
    }
    demandSize(write, written)
    return { written, after: readsBack ? after : executionCodec.execution.decode(json.parse(data), ""), copy, copies }
  })
