import type * as Either from "effect/Either"
import type { Commit, Emit, Spawn, TimerOp, WorkItem } from "../../Commit.js"
import type { EncodedCommit, EncodedDelayed, EncodedEmit } from "../../EncodedStore.js"
import type { Execution } from "../../Execution.js"
import type { StoreRejected } from "../../StoreError.js"
import { emitted } from "../codec/event.js"
import * as executionCodec from "../codec/execution.js"
import * as json from "../codec/json.js"
import * as reader from "../codec/reader.js"
import { traceStep } from "../codec/traceStep.js"
import * as validate from "../codec/validate.js"

type Result<A> = Either.Either<A, StoreRejected>

const free: reader.Codec<Spawn["context"]> = { decode: reader.object, encode: reader.object }

/** When events are emitted, in seconds since the epoch, and in which span. */
export interface Emission {
  readonly now: number
  readonly traceparent: string | null
}

// What follows runs at each commit: it throws what is wrong instead of passing it on step by step.

const emitsOf = (
  checks: validate.Checks,
  emits: ReadonlyArray<Emit>,
  { now, traceparent }: Emission
): Pick<EncodedCommit, "emits" | "delayed"> => {
  const atOnce: Array<EncodedEmit> = []
  const delayed: Array<EncodedDelayed> = []
  for (const [i, { dueAt, event, targetId }] of emits.entries()) {
    const path = `emits[${i}]`
    validate.demand(`${path}.event.id`, checks.eventId(event.id))
    if (targetId !== null) validate.demand(`${path}.targetId`, checks.id(targetId))
    if (dueAt !== undefined) validate.demand(`${path}.dueAt`, validate.fireAt(dueAt))
    const row = { event, emittedAt: Math.max(now, dueAt ?? now), traceparent }
    const { text } = reader.write(emitted, row, `${path}.event`)
    if (dueAt === undefined) atOnce.push({ targetId, event: text })
    else delayed.push({ targetId, event: text, dueAt: asStored(dueAt) })
  }
  return { emits: atOnce, delayed }
}

// A negative zero would not survive JSON, and it is the same time.
const asStored = (time: number): number => (time === 0 ? 0 : time)

const timersOf = (checks: validate.Checks, ops: ReadonlyArray<TimerOp>): Pick<EncodedCommit, "armed" | "cancelled"> => {
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

const spawnsOf = (checks: validate.Checks, spawns: ReadonlyArray<Spawn>): EncodedCommit["spawns"] =>
  spawns.map((spawn, i) => {
    const path = `spawns[${i}]`
    validate.demand(`${path}.childId`, checks.id(spawn.childId))
    validate.demand(`${path}.rootPath`, checks.text(spawn.rootPath))
    const { text } = reader.write(free, spawn.context, `${path}.context`)
    return { childId: spawn.childId, rootPath: spawn.rootPath, context: text }
  })

const demandAck = (checks: validate.Checks, ack: WorkItem): void =>
  ack._tag === "Timer"
    ? validate.demandTimer(checks, ack, "ack")
    : validate.demand("ack.seq", validate.wholeNumber(ack.seq, 0, Number.MAX_SAFE_INTEGER))

export const encodeEmits = (
  call: validate.Call,
  checks: validate.Checks,
  emits: ReadonlyArray<Emit>,
  emission: Emission
): Result<Pick<EncodedCommit, "emits" | "delayed">> => validate.catching(call, () => emitsOf(checks, emits, emission))

/** A commit in stored form, and its execution as a load would give it. */
export interface Encoding {
  readonly written: EncodedCommit
  readonly after: Execution
}

/** `before` is the execution as the caller has it, `after` the same one stamped and a version on. */
export const encodeCommit = (
  call: validate.Call,
  checks: validate.Checks,
  before: Execution,
  after: Execution,
  commit: Commit,
  token: string,
  emission: Emission
): Result<Encoding> =>
  validate.catching(call, () => {
    validate.demand("id", checks.id(before.id))
    validate.demand("definitionId", checks.id(before.definitionId))
    validate.demand("version", validate.wholeNumber(before.version, 0, Number.MAX_SAFE_INTEGER - 1))
    if (commit.ack !== undefined) demandAck(checks, commit.ack)
    if (commit.processed !== undefined) validate.demand("processed", checks.eventId(commit.processed))
    const { delayed, emits } = emitsOf(checks, commit.emits ?? [], emission)
    const { armed, cancelled } = timersOf(checks, commit.timers ?? [])
    const { readsBack, text: data } = reader.write(executionCodec.executionWithToken(token), after, "")
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
      spawns: spawnsOf(checks, commit.spawns ?? []),
      trace: commit.trace === undefined ? undefined : reader.write(traceStep, commit.trace, "trace").text,
      ack: commit.ack
    }
    return { written, after: readsBack ? after : executionCodec.execution.decode(json.parse(data), "") }
  })
