import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { Ack, Timer } from "../../Commit.js"
import { type DeadLetter, Reason } from "../../DeadLetter.js"
import type { Encoded, EncodedDeadLetter, ExecutionStore, Notice } from "../../ExecutionStore.js"
import type { StoreCorrupt, StoreRejected } from "../../StoreError.js"
import { emitted } from "../codec/event.js"
import * as json from "../codec/json.js"
import * as reader from "../codec/reader.js"
import * as rows from "../codec/row.js"
import { defaultPage, maxPage } from "./pending.js"
import * as validate from "./validate.js"

const seconds: Effect.Effect<number> = Effect.map(Clock.currentTimeMillis, (millis) => millis / 1000)

const maxError = 10_000

/** The beginning of an error's text, as every backend keeps it: what is recorded of a failure must not fail for its text. */
const errorText = (error: string): string => error.slice(0, maxError).toWellFormed()

const reasons = reader.literal(...Reason.literals)
const kinds = reader.literal("Outbox", "Spawn", "Timer")

/** The stored row as JSON: what is in the row, under the names of its columns; throws. */
const textOf = (kind: DeadLetter["_tag"], row: EncodedDeadLetter): string => {
  const columns = {
    Outbox: { seq: row.seq, target_id: row.executionId, event: row.body },
    Spawn: {
      seq: row.seq,
      parent_id: row.executionId,
      child_id: row.childId,
      root_path: row.path,
      context: row.body
    },
    Timer: { execution_id: row.executionId, path: row.path, fire_at: row.fireAt }
  }
  return Either.getOrThrowWith(json.stringify(columns[kind]), (invalid) => invalid)
}

/** What the row held, where it decodes. */
const rowOf = <A>(row: EncodedDeadLetter, decode: () => A): Option.Option<A> =>
  row.broken ? Option.none() : Option.getRight(Either.try(decode))

const timer = (row: EncodedDeadLetter): Timer => ({
  executionId: reader.string(row.executionId, "execution_id"),
  path: reader.string(row.path, "path"),
  fireAt: reader.finite(row.fireAt, "fire_at")
})

/** Reads a dead letter; throws. */
const deadLetter = (row: EncodedDeadLetter): DeadLetter => {
  const _tag = kinds(row.kind, "kind")
  const parts = {
    id: row.id,
    executionId: reader.nullable(reader.string)(row.executionId, "execution_id"),
    text: textOf(_tag, row),
    reason: reasons(row.reason, "reason"),
    attempts: reader.integer(row.attempts, "attempts"),
    error: reader.string(row.error, "error"),
    diedAt: reader.finite(row.diedAt, "died_at")
  }
  switch (_tag) {
    case "Outbox": {
      const seq = reader.integer(row.seq, "seq")
      const entry = rowOf(row, () => rows.outboxEntry({ seq, targetId: row.executionId, event: row.body }))
      return { _tag, ...parts, work: { _tag, seq }, row: entry }
    }
    case "Spawn": {
      const seq = reader.integer(row.seq, "seq")
      const { body: context, childId, executionId: parentId, path: rootPath } = row
      const entry = rowOf(row, () => rows.spawnEntry({ seq, parentId, childId, rootPath, context }))
      return { _tag, ...parts, work: { _tag, seq }, row: entry }
    }
    case "Timer": {
      const path = reader.string(row.path, "path")
      const fireAt = typeof row.fireAt === "number" && Number.isFinite(row.fireAt) ? row.fireAt : 0
      const work = { _tag, executionId: reader.string(row.executionId, "execution_id"), path, fireAt }
      return { _tag, ...parts, work, row: rowOf(row, () => timer(row)) }
    }
  }
}

const decode = (row: EncodedDeadLetter): Either.Either<DeadLetter, StoreCorrupt> =>
  rows.decode({ operation: "listDeadLetters", table: "holdfast_dead_letters", key: String(row.id) }, () =>
    deadLetter(row)
  )

/** Another program may have written any id, also one that {@link validate.Checks} would refuse: that must not keep its work from being given up. */
const checkWork = (call: validate.Call, work: Ack): Either.Either<void, StoreRejected> =>
  Either.gen(function* () {
    if (work._tag !== "Timer") {
      return yield* validate.refuse(call, "work.seq", validate.wholeNumber(work.seq, 0, Number.MAX_SAFE_INTEGER))
    }
    yield* validate.refuse(call, "work.executionId", validate.wellFormed(work.executionId))
    yield* validate.refuse(call, "work.path", validate.wellFormed(work.path))
    yield* validate.refuse(call, "work.fireAt", validate.finite(work.fireAt))
  })

/** Work that failed and work that was given up. */
export const make = (
  encoded: Encoded,
  checks: validate.Checks,
  notify: (notice: Notice) => void
): Pick<
  ExecutionStore,
  "isSpawning" | "recordFailure" | "bury" | "listDeadLetters" | "redrive" | "discard" | "stats"
> => {
  const whole = (call: validate.Call, path: string, value: number, least: number, most = Number.MAX_SAFE_INTEGER) =>
    validate.refuse(call, path, validate.wholeNumber(value, least, most))

  return {
    isSpawning: (childId) =>
      Effect.zipRight(
        validate.refuse({ operation: "isSpawning" }, "childId", checks.id(childId)),
        encoded.isSpawning(childId)
      ),

    recordFailure: ({ attempts, error, retryAt, work }) =>
      Effect.gen(function* () {
        const call = { operation: "recordFailure" }
        yield* checkWork(call, work)
        yield* whole(call, "attempts", attempts, 0)
        yield* validate.refuse(call, "retryAt", validate.finite(retryAt))
        const failedAt = yield* seconds
        return yield* encoded.recordFailure({ work, attempts, error: errorText(error), failedAt, retryAt })
      }),

    bury: (work, { attempts, error, reason }) =>
      Effect.gen(function* () {
        const call = { operation: "bury" }
        yield* checkWork(call, work)
        yield* whole(call, "attempts", attempts, 0)
        if (!Reason.literals.includes(reason)) {
          return yield* validate.rejected(call, "reason", `there is no reason ${String(reason)}`)
        }
        const diedAt = yield* seconds
        return yield* encoded.bury(work, { reason, attempts, error: errorText(error), diedAt })
      }),

    listDeadLetters: ({ after, executionId, kind, limit = defaultPage } = {}) =>
      Effect.gen(function* () {
        const call = { operation: "listDeadLetters" }
        yield* whole(call, "limit", limit, 1, maxPage)
        if (after !== undefined) yield* whole(call, "after", after, 0)
        if (executionId !== undefined) yield* validate.refuse(call, "executionId", checks.id(executionId))
        if (kind !== undefined && !["Outbox", "Spawn", "Timer"].includes(kind)) {
          return yield* validate.rejected(call, "kind", `there is no kind ${String(kind)}`)
        }
        const found = yield* encoded.listDeadLetters({ after, executionId, kind, limit: limit + 1 })
        const page = found.slice(0, limit)
        const next = found.length > limit ? Option.fromNullable(page.at(-1)?.id) : Option.none()
        return { ...rows.partition(page, decode), next }
      }),

    redrive: (id) =>
      Effect.gen(function* () {
        yield* whole({ operation: "redrive" }, "id", id, 0)
        const redriven = yield* encoded.redrive(id)
        if (Option.isNone(redriven)) return false
        const { fireAt, kind } = redriven.value
        notify({
          committed: Option.none(),
          emits: kind === "Outbox" ? 1 : 0,
          spawns: kind === "Spawn" ? 1 : 0,
          nextTimer: typeof fireAt === "number" && Number.isFinite(fireAt) ? Option.some(fireAt) : Option.none(),
          nextDelayed: Option.none()
        })
        return true
      }),

    discard: (id) => Effect.zipRight(whole({ operation: "discard" }, "id", id, 0), encoded.discard(id)),

    stats: Effect.gen(function* () {
      const { deadLetters, outbox, spawns, timers } = yield* encoded.stats(yield* seconds)
      const time = (u: unknown) => (typeof u === "number" ? Option.some(u) : Option.none())
      const { event, ...events } = outbox
      const { earliest, ...armed } = timers
      return {
        outbox: { ...events, oldest: oldestEmit(event) },
        spawns: { ...spawns, oldest: Option.none() },
        timers: { ...armed, oldest: time(earliest) },
        deadLetters: { count: deadLetters.count, oldest: time(deadLetters.diedAt) }
      }
    })
  }
}

/** Since when the first event of the outbox is to be delivered, where its row says so. */
const oldestEmit = (event: unknown): Option.Option<number> =>
  typeof event === "string"
    ? Option.flatMapNullable(
        Option.getRight(Either.try(() => emitted.decode(json.parse(event), "event"))),
        ({ emittedAt }) => emittedAt
      )
    : Option.none()
