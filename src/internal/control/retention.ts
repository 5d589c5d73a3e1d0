import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { ExecutionSummary, Status } from "../../Execution.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { Health, Options, Removed, Retention } from "../../Retention.js"
import type { StoreError, StoreRejected } from "../../StoreError.js"
import { decoder, type Fields, refused } from "../options/decode.js"
import { delay, flag, optional, text, timeOrInfinity, whole } from "../options/fields.js"
import * as storeMonitor from "../supervision/storeMonitor.js"
import * as supervised from "../supervision/supervised.js"
import * as log from "../telemetry/log.js"
import * as purgeTree from "./purgeTree.js"
import * as timedPages from "./timedPages.js"

const decode = decoder(
  Schema.Struct({
    processed: optional(delay),
    finished: optional(delay),
    failed: optional(flag),
    definitionId: optional(text),
    interval: optional(timeOrInfinity),
    batchSize: optional(whole(1, 1000)),
    pause: optional(delay)
  } satisfies Fields<Options>),
  refused("start", "Retention")
)

type Decoded = Either.Either.Right<ReturnType<typeof decode>>

/** What becomes of operations that fail: a single run fails with them, one that goes on until its scope closes waits and passes over. */
interface Policy<E> {
  /** Of an operation without which the run cannot go on. */
  readonly attempt: <A>(effect: Effect.Effect<A, StoreError>) => Effect.Effect<A, E>
  /** Of the purge of one tree, without which others can be purged; gives whether it was. */
  readonly attemptOne: (effect: Effect.Effect<boolean, StoreError>) => Effect.Effect<boolean, E>
}

/** A run through the store, and what it has removed. */
interface Run<E> {
  readonly store: ExecutionStore
  readonly options: Decoded
  readonly policy: Policy<E>
  readonly removed: { processed: number; executions: number }
}

const defaultBatchSize = 500

const seconds = Effect.map(Clock.currentTimeMillis, (millis) => millis / 1000)

/** Rests after a page, in proportion to its size: many small pages rest as long as one full page. */
const rest = ({ options: { pause = Duration.millis(100) } }: Run<unknown>, { last, most }: timedPages.TimedPages) =>
  Effect.sleep((Duration.toMillis(pause) * last) / most)

/** Marks where the ledger ends now, and removes what was before a mark that is old enough. */
const pruneProcessed = <E>(run: Run<E>, age: Duration.Duration): Effect.Effect<void, E> =>
  Effect.gen(function* () {
    const { options, policy, removed, store } = run
    const pages = timedPages.make(options.batchSize ?? defaultBatchSize)
    yield* policy.attempt(store.ledger.mark)
    const before = (yield* seconds) - Duration.toSeconds(age)
    let after: number | undefined
    do {
      const prune = timedPages.run(pages, (limit) => store.ledger.prune(before, { after, limit }))
      const page = yield* policy.attempt(prune)
      removed.processed += page.removed
      after = Option.getOrUndefined(page.next)
      if (after !== undefined) yield* rest(run, pages)
    } while (after !== undefined)
  })

/** Purges the trees that finished long enough ago. */
const purgeFinished = <E>(run: Run<E>, age: Duration.Duration): Effect.Effect<void, E> =>
  Effect.gen(function* () {
    const { options, policy, store } = run
    const before = (yield* seconds) - Duration.toSeconds(age)
    const { batchSize = defaultBatchSize, definitionId, failed } = options
    const status = purgeTree.purgeable(failed)
    const query = { definitionId, status, rootsOnly: true }
    const pages = timedPages.make(batchSize)
    let cursor: string | undefined
    do {
      const list = timedPages.run(pages, (limit) => store.listExecutions({ ...query, limit, cursor }))
      const page = yield* policy.attempt(list)
      for (const root of page.items) yield* policy.attemptOne(purgeWhereOld(run, root, status, before))
      cursor = Option.getOrUndefined(page.nextCursor)
      if (cursor !== undefined) yield* rest(run, pages)
    } while (cursor !== undefined)
  })

type Finished = Pick<ExecutionSummary, "id" | "finishedAt">

const isOld = (
  store: ExecutionStore,
  { finishedAt, id }: Finished,
  before: number
): Effect.Effect<boolean, StoreError> =>
  finishedAt !== null
    ? Effect.succeed(finishedAt <= before)
    : // It failed, or another program did not say when it finished.
      Effect.map(store.load(id), (found) =>
        Option.exists(found, ({ updatedAt }) => updatedAt !== null && updatedAt <= before)
      )

const purgeWhereOld = (
  { removed, store }: Run<unknown>,
  root: Finished,
  status: ReadonlyArray<Status>,
  before: number
): Effect.Effect<boolean, StoreError> =>
  Effect.if(isOld(store, root, before), {
    onFalse: () => Effect.succeed(false),
    onTrue: () =>
      purgeTree.purgeTree(store, root.id, {
        statuses: status,
        mayPurge: (tree) => Effect.every(tree, (execution) => isOld(store, execution, before)),
        removed: () => void removed.executions++
      })
  }).pipe(
    // It must stay, or it changed meanwhile. The next run looks at it again.
    Effect.catchTags({
      NoSuchExecution: () => Effect.succeed(false),
      WrongStatus: () => Effect.succeed(false),
      HasParent: () => Effect.succeed(false),
      ChildrenLive: () => Effect.succeed(false),
      StoreConflict: () => Effect.succeed(false),
      StoreCorrupt: (corrupt) => Effect.as(log.debug(corrupt.message), false)
    })
  )

const runOnce = <E>(run: Run<E>): Effect.Effect<void, E> =>
  Effect.gen(function* () {
    const { finished, processed } = run.options
    if (processed !== undefined) yield* pruneProcessed(run, processed)
    if (finished !== undefined) yield* purgeFinished(run, finished)
  })

const nothing = (): Run<unknown>["removed"] => ({ processed: 0, executions: 0 })

/** @internal */
export const run = (options: Options): Effect.Effect<Removed, StoreError, ExecutionStore> =>
  Effect.gen(function* () {
    const decoded = yield* decode(options)
    const removed = nothing()
    const policy: Policy<StoreError> = { attempt: (effect) => effect, attemptOne: (effect) => effect }
    yield* runOnce({ store: yield* ExecutionStore, options: decoded, policy, removed })
    return removed
  })

/** @internal */
export const make = (options: Options): Effect.Effect<Retention, StoreRejected, ExecutionStore | Scope.Scope> =>
  Effect.gen(function* () {
    const decoded = yield* decode(options)
    const store = yield* ExecutionStore
    const monitor = storeMonitor.make()
    const removed = nothing()
    const interval = Duration.min(decoded.interval ?? "1 hour", "1 day")
    let lastRun: Health["lastRun"] = Option.none()
    const policy: Policy<never> = {
      attempt: (effect) => storeMonitor.waitOut(monitor, effect),
      attemptOne: (effect) =>
        Effect.catchAll(storeMonitor.waitOutOutage(monitor, effect), (error) =>
          storeMonitor
            .report(monitor, error.message)
            .pipe(Effect.zipRight(log.warning(error.message, Cause.fail(error))), Effect.as(false))
        )
    }
    const loop = runOnce({ store, options: decoded, policy, removed }).pipe(
      Effect.withTracerEnabled(false),
      Effect.zipRight(seconds),
      Effect.map((now) => {
        lastRun = Option.some(now)
      }),
      Effect.zipRight(Effect.sleep(interval)),
      Effect.forever
    )
    const awaitFatal = yield* supervised.run(monitor, loop)
    const health = Effect.sync(() => ({
      lastRun,
      lastError: monitor.lastError,
      outage: storeMonitor.outage(monitor),
      removed: { ...removed }
    }))
    return { health, awaitFatal }
  }).pipe(log.annotate({ package: "holdfast", module: "Retention" }))
