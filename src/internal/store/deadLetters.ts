import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { Work } from "../../Commit.js"
import { Reason } from "../../DeadLetter.js"
import type { DeadLetterFilter, ExecutionStore } from "../../ExecutionStore.js"
import type { StoreRejected } from "../../StoreError.js"
import * as Time from "../../Time.js"
import * as deadLetter from "../codec/deadLetter.js"
import { show } from "../codec/reader.js"
import * as rows from "../codec/row.js"
import * as validate from "../codec/validate.js"
import * as traceContext from "../telemetry/traceContext.js"
import { type Backend, checkWhole, defaultPage, fenceFor, maxPage, numberOf, quiet, seconds } from "./backend.js"
import { encodeEmits } from "./encodeCommit.js"

const maxError = 10_000

/** The beginning of an error's text, as every backend keeps it: what is recorded of a failure must not fail for its text. */
export const errorText = (error: string): string => error.slice(0, maxError).toWellFormed()

/**
 * Another program may have written any id, also one that {@link validate.Checks} would refuse: that must not keep its work from being
 * given up.
 */
const checkWork = (call: validate.Call, work: Work): Either.Either<void, StoreRejected> =>
  Either.gen(function* () {
    if (work._tag !== "Timer") {
      return yield* validate.refuse(call, "work.seq", validate.wholeNumber(work.seq, 0, Number.MAX_SAFE_INTEGER))
    }
    yield* validate.refuse(call, "work.executionId", validate.wellFormed(work.executionId))
    yield* validate.refuse(call, "work.path", validate.wellFormed(work.path))
    yield* validate.refuse(call, "work.fireAt", validate.finite(work.fireAt))
  })

const kinds = ["Outbox", "Spawn", "Timer", "Activity"]

/** What a filter selects, checked. */
const encodeFilter = (call: validate.Call, checks: Backend["checks"], filter: DeadLetterFilter) =>
  Effect.gen(function* () {
    const { definitionId, executionId, executionIdPrefix, kind, reason } = filter
    if (executionId !== undefined) yield* validate.refuse(call, "executionId", checks.id(executionId))
    if (definitionId !== undefined) yield* validate.refuse(call, "definitionId", checks.id(definitionId))
    if (executionIdPrefix !== undefined) {
      yield* validate.refuse(call, "executionIdPrefix", checks.text(executionIdPrefix))
    }
    if (kind !== undefined && !kinds.includes(kind)) {
      return yield* validate.rejected(call, "kind", `there is no kind ${show(kind)}`)
    }
    const unknown = reason?.find((one) => !Reason.literals.includes(one))
    if (unknown !== undefined) return yield* validate.rejected(call, "reason", `there is no reason ${show(unknown)}`)
    const diedBefore = filter.diedBefore === undefined ? undefined : Time.toSeconds(filter.diedBefore)
    if (diedBefore !== undefined) yield* validate.refuse(call, "diedBefore", validate.finite(diedBefore))
    const prefix = executionIdPrefix === "" ? undefined : executionIdPrefix
    return { kind, executionId, executionIdPrefix: prefix, definitionId, reason, diedBefore }
  })

/** Work that failed and work that was given up. */
export const make = ({ checks, encoded, notify }: Backend): ExecutionStore["deadLetters"] => ({
  recordFailure: ({ attempts, error, retryAt, work }) =>
    Effect.gen(function* () {
      const call = { operation: "recordFailure" }
      yield* checkWork(call, work)
      yield* checkWhole(call, "attempts", attempts, 0)
      yield* validate.refuse(call, "retryAt", validate.finite(retryAt))
      const failedAt = yield* seconds
      const failure = { work, attempts, error: errorText(error), failedAt, retryAt }
      return yield* encoded.recordFailure(failure, yield* fenceFor(call))
    }),

  bury: (work, { attempts, error, reason }, { emit, notice } = {}) =>
    Effect.gen(function* () {
      const call = { operation: "bury" }
      yield* checkWork(call, work)
      yield* checkWhole(call, "attempts", attempts, 0)
      if (!Reason.literals.includes(reason)) {
        return yield* validate.rejected(call, "reason", `there is no reason ${show(reason)}`)
      }
      const diedAt = yield* seconds
      const emission = { now: diedAt, traceparent: yield* traceContext.current }
      const told = [emit, notice].flatMap((one) => (one === undefined ? [] : [one]))
      const { emits } = yield* encodeEmits(call, checks, told, emission, checks.eventId)
      const why = { reason, attempts, error: errorText(error), diedAt }
      const buried = yield* encoded.bury(work, why, yield* fenceFor(call), emits)
      if (buried) notify({ ...quiet, emits: emits.length })
      return buried
    }),

  list: ({ after, limit = defaultPage, ...filter } = {}) =>
    Effect.gen(function* () {
      const call = { operation: "listDeadLetters" }
      yield* checkWhole(call, "limit", limit, 1, maxPage)
      if (after !== undefined) yield* checkWhole(call, "after", after, 0)
      const selected = yield* encodeFilter(call, checks, filter)
      const isNone = selected.reason?.length === 0
      const found = isNone ? [] : yield* encoded.listDeadLetters({ ...selected, after, limit: limit + 1 })
      const page = found.slice(0, limit)
      const next = found.length > limit ? Option.fromNullable(numberOf(page.at(-1)?.id)) : Option.none()
      return { ...rows.partition(page, deadLetter.decode), next }
    }),

  redrive: (id) =>
    Effect.gen(function* () {
      yield* checkWhole({ operation: "redrive" }, "id", id, 0)
      const redriven = yield* encoded.redrive(id)
      if (Option.isNone(redriven)) return false
      const { fireAt, kind } = redriven.value
      notify({
        ...quiet,
        emits: kind === "Outbox" ? 1 : 0,
        spawns: kind === "Spawn" ? 1 : 0,
        activities: kind === "Activity" ? 1 : 0,
        nextTimer: typeof fireAt === "number" && Number.isFinite(fireAt) ? Option.some(fireAt) : Option.none()
      })
      return true
    }),

  discard: (id) =>
    Effect.zipRight(
      checkWhole({ operation: "discard" }, "id", id, 0),
      Effect.tap(encoded.discard(id), (discarded) => Effect.sync(() => discarded && notify(quiet)))
    )
})
