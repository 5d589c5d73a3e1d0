import * as Either from "effect/Either"
import type { Ack, Commit, Emit, Spawn, TimerOp } from "../Commit.js"
import type { Execution } from "../Execution.js"
import type { EncodedCommit, EncodedEmit } from "../ExecutionStore.js"
import type { StoreRejected } from "../StoreError.js"
import * as codec from "./codec.js"
import { traceStep } from "./commitCodec.js"
import { event } from "./eventCodec.js"
import * as executionCodec from "./executionCodec.js"
import * as input from "./input.js"

type Result<A> = Either.Either<A, StoreRejected>

const free: codec.Codec<Spawn["context"]> = { decode: codec.object, encode: (value) => value }

export const encodeEmits = (
  call: input.Call,
  checks: input.Checks,
  emits: ReadonlyArray<Emit>
): Result<ReadonlyArray<EncodedEmit>> =>
  Either.all(
    emits.map((emit, i) =>
      Either.gen(function* () {
        const path = `emits[${i}]`
        yield* input.refuse(call, `${path}.event.id`, checks.id(emit.event.id))
        if (emit.targetId !== null) yield* input.refuse(call, `${path}.targetId`, checks.id(emit.targetId))
        const text = yield* input.encoded(call, codec.toText(event, emit.event, `${path}.event`))
        return { targetId: emit.targetId, event: text }
      })
    )
  )

const encodeTimers = (
  call: input.Call,
  checks: input.Checks,
  ops: ReadonlyArray<TimerOp>
): Result<Pick<EncodedCommit, "armed" | "cancelled">> =>
  Either.gen(function* () {
    const last = new Map<string, TimerOp>()
    for (const [i, op] of ops.entries()) {
      yield* input.refuse(call, `timers[${i}].path`, checks.text(op.path))
      if (op._tag === "Schedule") yield* input.refuse(call, `timers[${i}].fireAt`, input.fireAt(op.fireAt))
      last.set(op.path, op)
    }
    const armed: Array<EncodedCommit["armed"][number]> = []
    const cancelled: Array<string> = []
    for (const op of last.values()) {
      // a negative zero would not survive JSON, and it is the same time
      if (op._tag === "Schedule") armed.push({ path: op.path, fireAt: op.fireAt === 0 ? 0 : op.fireAt })
      else cancelled.push(op.path)
    }
    return { armed, cancelled }
  })

const encodeSpawns = (
  call: input.Call,
  checks: input.Checks,
  spawns: ReadonlyArray<Spawn>
): Result<EncodedCommit["spawns"]> =>
  Either.all(
    spawns.map((spawn, i) =>
      Either.gen(function* () {
        const path = `spawns[${i}]`
        yield* input.refuse(call, `${path}.childId`, checks.id(spawn.childId))
        yield* input.refuse(call, `${path}.rootPath`, checks.text(spawn.rootPath))
        const context = yield* input.encoded(call, codec.toText(free, spawn.context, `${path}.context`))
        return { childId: spawn.childId, rootPath: spawn.rootPath, context }
      })
    )
  )

const checkAck = (call: input.Call, checks: input.Checks, ack: Ack): Result<void> =>
  ack._tag === "Timer"
    ? input.timer(call, checks, ack, "ack")
    : input.refuse(call, "ack.seq", input.wholeNumber(ack.seq, 0, Number.MAX_SAFE_INTEGER))

/** `before` is the execution as the caller has it, `after` the same one stamped and a version on. */
export const encodeCommit = (
  call: input.Call,
  checks: input.Checks,
  before: Execution,
  after: Execution,
  commit: Commit,
  token: string
): Result<EncodedCommit> =>
  Either.gen(function* () {
    yield* input.refuse(call, "id", checks.id(before.id))
    yield* input.refuse(call, "definitionId", checks.id(before.definitionId))
    yield* input.refuse(call, "version", input.wholeNumber(before.version, 0, Number.MAX_SAFE_INTEGER - 1))
    if (commit.ack !== undefined) yield* checkAck(call, checks, commit.ack)
    if (commit.processed !== undefined) yield* input.refuse(call, "processed", checks.id(commit.processed))
    const withToken: codec.Codec<Execution> = {
      decode: executionCodec.execution.decode,
      encode: (execution, path) => ({
        ...executionCodec.execution.encode(execution, path),
        [executionCodec.tokenKey]: token
      })
    }
    return {
      executionId: before.id,
      definitionId: before.definitionId,
      version: before.version,
      token,
      data: yield* input.encoded(call, codec.toText(withToken, after)),
      emits: yield* encodeEmits(call, checks, commit.emits ?? []),
      processed: commit.processed,
      ...(yield* encodeTimers(call, checks, commit.timers ?? [])),
      spawns: yield* encodeSpawns(call, checks, commit.spawns ?? []),
      trace:
        commit.trace === undefined
          ? undefined
          : yield* input.encoded(call, codec.toText(traceStep, commit.trace, "trace")),
      ack: commit.ack
    }
  })
