import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { WorkItem } from "../../Commit.js"
import type { Failure } from "../../DeadLetter.js"
import type { Encoded, Failed, Numbered } from "../../EncodedStore.js"
import type { ExceptQuery, ExecutionStore, Notice, Pending, PendingQuery } from "../../ExecutionStore.js"
import type { FencingToken } from "../../Lease.js"
import type { StoreError, StoreRejected } from "../../StoreError.js"
import * as rows from "../codec/row.js"
import * as validate from "../codec/validate.js"
import * as traceContext from "../telemetry/traceContext.js"
import { current, type Fence, tokenOf } from "../util/fence.js"
import type { ExecutionCache } from "../executionCache/executionCache.js"

/** What each part of a store is made of: the backend, the checks of input, what it remembers, and whom to tell of a write. */
export interface Backend {
  readonly encoded: Encoded
  readonly checks: validate.Checks
  readonly cache: ExecutionCache | undefined
  /** Whether anybody listens to all writes. */
  readonly isHeard: () => boolean
  readonly notify: (notice: Notice) => void
}

export const defaultPage = 100
export const maxPage = 1000

/** The present time in seconds since the epoch. */
export const seconds: Effect.Effect<number> = Effect.map(Clock.currentTimeMillis, (millis) => millis / 1000)

/** A notice of a write that left nothing to do. */
export const quiet: Notice = {
  committed: Option.none(),
  emits: 0,
  spawns: 0,
  activities: 0,
  nextTimer: Option.none(),
  nextDelayed: Option.none()
}

/** Refuses what is no whole number within the bounds. */
export const checkWhole = (
  call: validate.Call,
  path: string,
  value: number,
  least: number,
  most = Number.MAX_SAFE_INTEGER
): Either.Either<void, StoreRejected> => validate.refuse(call, path, validate.wholeNumber(value, least, most))

/** Refuses ids that could not be one. */
export const checkIds = (
  { checks }: Backend,
  call: validate.Call,
  ids: { readonly [path: string]: string }
): Effect.Effect<void, StoreRejected> => {
  for (const [path, id] of Object.entries(ids)) {
    const problem = checks.id(id)
    if (problem !== undefined) return Effect.fail(validate.rejected(call, path, problem))
  }
  return Effect.void
}

/** Refuses a token that could not be one. */
const checkToken = (call: validate.Call, token: FencingToken): Either.Either<void, StoreRejected> => {
  for (const part of ["pool", "name", "holder"] as const) {
    const problem = validate.leaseName(token[part])
    if (problem !== undefined) return Either.left(validate.rejected(call, `fence.${part}`, problem))
  }
  return validate.refuse(call, "fence.fence", validate.wholeNumber(token.fence, 0, Number.MAX_SAFE_INTEGER))
}

/** What a write that settles work is fenced by, checked: the token that it was given, or that of the fiber's work. */
export const fenceOf = (
  call: validate.Call,
  fence: Fence | undefined,
  given?: FencingToken
): Either.Either<FencingToken | undefined, StoreRejected> => {
  const token = given === undefined ? tokenOf(fence, call) : Either.right(given)
  if (Either.isLeft(token) || token.right === undefined) return token
  const checked = checkToken(call, token.right)
  return Either.isLeft(checked) ? Either.left(checked.left) : token
}

/** {@link fenceOf} for the fiber's work. */
export const fenceFor = (call: validate.Call): Effect.Effect<FencingToken | undefined, StoreRejected> =>
  Effect.flatMap(FiberRef.get(current), (fence) => fenceOf(call, fence))

/** What a write has of the moment at which it is made, and of the fiber that makes it. */
export interface Moment {
  /** The present time in seconds since the epoch. */
  readonly now: number
  readonly traceparent: string | null
  readonly fence: Fence | undefined
}

/** Read from the fiber itself: effects that ask for each of these take as long as a write. */
export const momentOf = (fiber: Fiber.RuntimeFiber<unknown, unknown>): Moment => ({
  now: Context.get(fiber.currentDefaultServices, Clock.Clock).unsafeCurrentTimeMillis() / 1000,
  traceparent: traceContext.traceparentOf(fiber),
  fence: fiber.getFiberRef(current)
})

/** What was recorded of the rows that failed before. */
const failuresOf = <Row extends Failed>(
  rows: ReadonlyArray<Row>,
  work: (row: Row) => WorkItem | undefined
): ReadonlyArray<Failure> =>
  rows.flatMap((row) => {
    const failed = work(row)
    return row.failed === undefined || failed === undefined ? [] : [{ ...row.failed, work: failed }]
  })

/** A numbered table: how its rows are read, and what they decode to. */
export interface NumberedTable<Row, A> {
  readonly operation: string
  readonly table: string
  readonly kind: "Outbox" | "Spawn"
  readonly read: (
    after: number | undefined,
    limit: number,
    except: ReadonlyArray<string>
  ) => Effect.Effect<Numbered<Row>, StoreError>
  readonly decode: (row: Row) => A
}

/**
 * So many rows, and whether there are more: one row more is read than asked for. Whoever asks for a single one may do so because the next
 * one cannot be read; that is not in its way.
 */
const readAhead = <Row>(
  read: NumberedTable<Row, unknown>["read"],
  after: number | undefined,
  limit: number,
  except: ReadonlyArray<string>
) => {
  const ahead = Effect.map(read(after, limit + 1, except), ({ reached, rows }) => ({
    page: rows.slice(0, limit),
    more: rows.length > limit,
    reached
  }))
  if (limit > 1) return ahead
  return Effect.catchIf(
    ahead,
    (error) => error._tag !== "StoreUnavailable",
    () => Effect.map(read(after, 1, except), ({ reached, rows }) => ({ page: rows, more: rows.length > 0, reached }))
  )
}

const mostExcept = 1000

/** Refuses definitions to pass over that could not be any, or are too many. */
export const checkExcept = (
  { checks }: Pick<Backend, "checks">,
  call: validate.Call,
  except: ReadonlyArray<string>
): Effect.Effect<void, StoreRejected> => {
  const tooMany = except.length > mostExcept ? `expected at most ${mostExcept}, found ${except.length}` : undefined
  if (tooMany !== undefined) return Effect.fail(validate.rejected(call, "except", tooMany))
  for (const [i, id] of except.entries()) {
    const problem = checks.id(id)
    if (problem !== undefined) return Effect.fail(validate.rejected(call, `except[${i}]`, problem))
  }
  return Effect.void
}

/** The number of a row, where there is one that it can be found by. */
export const numberOf = (u: unknown): number | undefined =>
  typeof u === "number" && Number.isSafeInteger(u) ? u : undefined

/** A page of a numbered table. Rows whose numbers no double holds come behind all others, where a page can end but not begin. */
export const numberedPage = <Row extends { readonly seq: unknown } & Failed, A>(
  backend: Pick<Backend, "checks">,
  { decode, kind, operation, read, table }: NumberedTable<Row, A>,
  query: PendingQuery & ExceptQuery
): Effect.Effect<Pending<A>, StoreError> =>
  Effect.gen(function* () {
    const limit = query.limit ?? defaultPage
    yield* checkWhole({ operation }, "limit", limit, 1, maxPage)
    if (query.after !== undefined) yield* checkWhole({ operation }, "after", query.after, 0)
    const { except = [] } = query
    yield* checkExcept(backend, { operation }, except)
    const { more, page, reached } = yield* readAhead(read, query.after, limit, except)
    const work = (row: Row): WorkItem | undefined => {
      const seq = numberOf(row.seq)
      return seq === undefined ? undefined : { _tag: kind, seq }
    }
    const { corrupt, entries } = rows.partition(page, (row) =>
      rows.decode({ operation, table, key: String(row.seq), work: work(row) }, () => decode(row))
    )
    const last = Option.fromNullable(numberOf(page.at(-1)?.seq))
    return {
      entries,
      corrupt,
      failures: failuresOf(page, work),
      next: more ? last : Option.none(),
      reached: more ? last : Option.orElse(Option.fromNullable(numberOf(reached)), () => last)
    }
  })

type Listener = (notice: Notice) => void

/** Whom a store tells of its writes: those who listen to all of them, and those who listen to one execution, by its id. */
export interface Listeners {
  readonly all: Set<Listener>
  readonly byExecution: Map<string, Set<Listener>>
}

export const makeListeners = (): Listeners => ({ all: new Set(), byExecution: new Map() })

const executionOf = ({ committed, purged }: Notice): string | undefined =>
  Option.isSome(committed) ? committed.value.execution.id : purged

export const notifying =
  ({ all, byExecution }: Listeners) =>
  (notice: Notice): void => {
    for (const listener of all) listener(notice)
    if (byExecution.size === 0) return
    const executionId = executionOf(notice)
    const listeners = executionId === undefined ? undefined : byExecution.get(executionId)
    if (listeners !== undefined) for (const listener of listeners) listener(notice)
  }

const add = ({ all, byExecution }: Listeners, listener: Listener, executionId: string | undefined): void => {
  if (executionId === undefined) {
    all.add(listener)
    return
  }
  const listeners = byExecution.get(executionId)
  if (listeners === undefined) byExecution.set(executionId, new Set([listener]))
  else listeners.add(listener)
}

const remove = ({ all, byExecution }: Listeners, listener: Listener, executionId: string | undefined): void => {
  if (executionId === undefined) {
    all.delete(listener)
    return
  }
  const listeners = byExecution.get(executionId)
  listeners?.delete(listener)
  if (listeners?.size === 0) byExecution.delete(executionId)
}

export const listen =
  (listeners: Listeners): ExecutionStore["listen"] =>
  (listener, { executionId } = {}): Effect.Effect<void, never, Scope.Scope> =>
    Effect.acquireRelease(
      Effect.sync(() => add(listeners, listener, executionId)),
      () => Effect.sync(() => remove(listeners, listener, executionId))
    )
