import * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { ActivityEntry } from "../../Commit.js"
import type { ActivityRun, EncodedActivity, EncodedClaim } from "../../EncodedStore.js"
import type { Status } from "../../Execution.js"
import type { ActivityClaim, ClaimedActivity, ExecutionStore } from "../../ExecutionStore.js"
import * as Ids from "../../Ids.js"
import type { StoreCorrupt, StoreRejected } from "../../StoreError.js"
import * as Time from "../../Time.js"
import { statuses } from "../codec/execution.js"
import { show } from "../codec/reader.js"
import * as rows from "../codec/row.js"
import { compareUtf8 } from "../codec/utf8Order.js"
import * as validate from "../codec/validate.js"
import * as traceContext from "../telemetry/traceContext.js"
import { type Backend, checkIds, checkWhole, defaultPage, maxPage, numberOf, quiet, seconds } from "./backend.js"
import { errorText } from "./deadLetters.js"
import { encodeEmits } from "./encodeCommit.js"

const decodeAs = <A>(operation: string, row: EncodedActivity, decode: () => A): Either.Either<A, StoreCorrupt> => {
  const seq = numberOf(row.seq)
  const work = seq === undefined ? undefined : ({ _tag: "Activity", seq } as const)
  return rows.decode({ operation, table: "holdfast_activities", key: String(row.seq), work }, decode)
}

const decode =
  (operation: string) =>
  (row: EncodedActivity): Either.Either<ActivityEntry, StoreCorrupt> =>
    decodeAs(operation, row, () => rows.activityEntry(row))

const statusOf = (u: unknown): Option.Option<Status> => Option.fromNullable(statuses.find((status) => status === u))

const checkRun = (call: validate.Call, { claim, seq }: ActivityRun): Effect.Effect<void, StoreRejected> =>
  Effect.zipRight(checkWhole(call, "run.seq", seq, 0), validate.refuse(call, "run.claim", validate.leaseName(claim)))

const aboveZero = (value: number): string | undefined =>
  Number.isFinite(value) && value > 0 ? undefined : `expected seconds above 0, found ${show(value)}`

/** Sums of times so far from the epoch are not exact, but by far exacter than this, in seconds. */
const inexact = 1e-4

/** What began after `since` counts at a time, and does not count any more a `window` after it began. */
const rateOf = ({ limit, window }: NonNullable<ActivityClaim["rate"]>, now: number) => ({
  limit,
  window: window + 2 * inexact,
  since: now - window - inexact
})

const limitsOf = ({ after = "", concurrency, rate }: ActivityClaim, now: number): EncodedClaim["limits"] =>
  concurrency === undefined && rate === undefined
    ? undefined
    : { concurrency: concurrency ?? Number.MAX_SAFE_INTEGER, rate: rate && rateOf(rate, now), after }

const checkClaim = (backend: Backend, call: validate.Call, query: ActivityClaim): Effect.Effect<void, StoreRejected> =>
  Effect.gen(function* () {
    const { after, concurrency, limit, name, owner, rate } = query
    yield* checkIds(backend, call, { name })
    yield* validate.refuse(call, "owner", validate.leaseName(owner))
    yield* checkWhole(call, "limit", limit, 1, maxPage)
    if (concurrency !== undefined) yield* checkWhole(call, "concurrency", concurrency, 1)
    if (rate !== undefined) {
      yield* checkWhole(call, "rate.limit", rate.limit, 1)
      yield* validate.refuse(call, "rate.window", aboveZero(rate.window))
    }
    if (after !== undefined) yield* validate.refuse(call, "after", backend.checks.text(after))
  })

const claim =
  (backend: Backend): ExecutionStore["activities"]["claim"] =>
  (query) =>
    Effect.gen(function* () {
      const operation = "claimActivities"
      yield* checkClaim(backend, { operation }, query)
      const { limit, name, owner } = query
      const token = yield* Ids.next
      const now = yield* seconds
      const limits = limitsOf(query, now)
      const found = yield* backend.encoded.claimActivities({ name, owner, limit, now, claim: token, limits })
      const page = rows.partition(found.rows, (row) =>
        decodeAs(
          operation,
          row,
          (): ClaimedActivity => ({ ...rows.activityEntry(row), claim: token, status: statusOf(row.status) })
        )
      )
      return { ...page, nextAt: Option.fromNullable(found.nextAt), last: Option.fromNullable(found.last) }
    })

/** Writes how activities end. */
const makeEnds = (backend: Backend): Pick<ExecutionStore["activities"], "complete" | "cancel"> => {
  const { checks, encoded, notify } = backend
  const end = (
    run: Parameters<typeof encoded.endActivity>[0],
    executionId: string,
    event: Parameters<ExecutionStore["activities"]["complete"]>[2]
  ) =>
    Effect.gen(function* () {
      const emission = { now: yield* seconds, traceparent: yield* traceContext.current }
      const call = { operation: "endActivity", executionId }
      const { emits } = yield* encodeEmits(call, checks, [{ targetId: executionId, event }], emission, checks.eventId)
      const ended = yield* encoded.endActivity(run, emits[0]?.event ?? "")
      if (ended) notify({ ...quiet, emits: 1, activities: run.claim === undefined ? 1 : 0 })
      return ended
    })
  return {
    complete: (run, executionId, event) =>
      Effect.zipRight(checkRun({ operation: "endActivity", executionId }, run), end(run, executionId, event)),

    cancel: (executionId, key, event) =>
      Effect.gen(function* () {
        const operation = "endActivity"
        yield* checkIds(backend, { operation, executionId }, { executionId, key })
        const found = yield* encoded.findActivity(executionId, key)
        if (Option.isNone(found)) return false
        const entry = yield* decode(operation)(found.value)
        return yield* end({ seq: entry.seq, claim: undefined }, executionId, event(entry))
      })
  }
}

/** What waits, and who runs it. */
const makeReads = (
  backend: Backend
): Pick<ExecutionStore["activities"], "list" | "of" | "waiting" | "owned" | "owners"> => ({
  list: ({ after = 0, limit = defaultPage } = {}) =>
    Effect.gen(function* () {
      const operation = "listActivities"
      yield* checkWhole({ operation }, "limit", limit, 1, maxPage)
      yield* checkWhole({ operation }, "after", after, 0)
      const found = yield* backend.encoded.listActivities(after, limit + 1)
      const page = found.slice(0, limit)
      const next = found.length > limit ? Option.fromNullable(numberOf(page.at(-1)?.seq)) : Option.none()
      return { ...rows.partition(page, decode(operation)), next }
    }),

  of: (executionId) =>
    Effect.gen(function* () {
      const operation = "activitiesOf"
      yield* checkIds(backend, { operation, executionId }, { executionId })
      const found = yield* backend.encoded.activitiesOf(executionId, undefined, Number.POSITIVE_INFINITY)
      return rows.partition(found, decode(operation)).entries
    }),

  waiting: (owner) =>
    Effect.zipRight(
      validate.refuse({ operation: "waitingActivities" }, "owner", validate.leaseName(owner)),
      backend.encoded.waitingActivities(owner)
    ),

  owned: (owner) =>
    Effect.zipRight(
      validate.refuse({ operation: "ownedActivities" }, "owner", validate.leaseName(owner)),
      backend.encoded.ownedActivities(owner)
    ),

  owners: Effect.map(backend.encoded.activityOwners(maxPage), (found) =>
    found.toSorted((one, other) => compareUtf8(one.owner, other.owner))
  )
})

/** Activities: what waits, who runs it, and how it ends. */
export const make = (backend: Backend): ExecutionStore["activities"] => {
  const { encoded, notify } = backend
  const changed = (activities: number): void => {
    if (activities > 0) notify({ ...quiet, activities })
  }

  return {
    ...makeReads(backend),
    claim: claim(backend),
    ...makeEnds(backend),

    fail: (run, { attempts, error, retryAt }) =>
      Effect.gen(function* () {
        const call = { operation: "failActivity" }
        yield* checkRun(call, run)
        yield* checkWhole(call, "attempts", attempts, 0)
        const readyAt = Time.toSeconds(retryAt)
        yield* validate.refuse(call, "retryAt", validate.finite(readyAt))
        const failed = yield* encoded.failActivity(run, { attempts, error: errorText(error), readyAt })
        if (failed) changed(1)
        return failed
      }),

    release: (run, time, { whileHalted = false } = {}) =>
      Effect.gen(function* () {
        const call = { operation: "releaseActivity" }
        yield* checkRun(call, run)
        const readyAt = Time.toSeconds(time)
        yield* validate.refuse(call, "readyAt", validate.finite(readyAt))
        const released = yield* encoded.releaseActivity(run, readyAt, whileHalted)
        if (released) changed(1)
        return released
      }),

    drop: (run) => Effect.zipRight(checkRun({ operation: "dropActivity" }, run), encoded.dropActivity(run)),

    releaseAll: (owner) =>
      Effect.zipRight(
        validate.refuse({ operation: "releaseActivities" }, "owner", validate.leaseName(owner)),
        Effect.tap(encoded.releaseActivities(owner), () => Effect.sync(() => changed(1)))
      ),

    releaseOrphans: Effect.tap(encoded.releaseOrphans, (freed) => Effect.sync(() => changed(freed)))
  }
}
