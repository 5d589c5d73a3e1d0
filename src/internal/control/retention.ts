import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { Health, Options, Removed, Retention } from "../../Retention.js"
import type { StoreError } from "../../StoreError.js"
import * as supervised from "../supervision/supervised.js"
import * as purgeTree from "./purgeTree.js"

const seconds = Effect.map(Clock.currentTimeMillis, (millis) => millis / 1000)

interface Settings {
  readonly store: ExecutionStore
  readonly batchSize: number
  readonly rest: Effect.Effect<void>
}

const settingsOf = (store: ExecutionStore, { batchSize = 500, pause = "100 millis" }: Options): Settings => ({
  store,
  batchSize,
  rest: Effect.sleep(pause)
})

/** Marks where the ledger ends now, and removes what was before a mark that is old enough. */
const pruneProcessed = ({ batchSize, rest, store }: Settings, age: Duration.Duration, removed: (n: number) => void) =>
  Effect.gen(function* () {
    yield* store.ledger.mark
    const before = (yield* seconds) - Duration.toSeconds(age)
    let after: number | undefined
    do {
      const page = yield* store.ledger.prune(before, { after, limit: batchSize })
      removed(page.removed)
      after = Option.getOrUndefined(page.next)
      if (after !== undefined) yield* rest
    } while (after !== undefined)
  })

/** Purges the trees that finished long enough ago. */
const purgeFinished = (
  { batchSize, rest, store }: Settings,
  { definitionId, failed }: Options,
  age: Duration.Duration,
  removed: (n: number) => void
) =>
  Effect.gen(function* () {
    const before = (yield* seconds) - Duration.toSeconds(age)
    const status = purgeTree.purgeable(failed)
    const query = { definitionId, status, rootsOnly: true, limit: batchSize }

    const isOld = ({ finishedAt, id }: { readonly id: string; readonly finishedAt: number | null }) =>
      finishedAt !== null
        ? Effect.succeed(finishedAt <= before)
        : // It failed, or another program did not say when it finished.
          Effect.map(store.load(id), (found) =>
            Option.exists(found, ({ updatedAt }) => updatedAt !== null && updatedAt <= before)
          )

    const purgeRoot = (id: string) =>
      purgeTree
        .purgeTree(store, id, {
          statuses: status,
          ripe: (tree) => Effect.every(tree, isOld),
          removed: () => removed(1)
        })
        .pipe(
          // It is not to be removed, or moves on meanwhile: the next time tells.
          Effect.catchTags({
            NoSuchExecution: () => Effect.succeed(false),
            WrongStatus: () => Effect.succeed(false),
            HasParent: () => Effect.succeed(false),
            ChildrenLive: () => Effect.succeed(false),
            StoreConflict: () => Effect.succeed(false),
            StoreCorrupt: (corrupt) => Effect.as(Effect.logDebug(corrupt.message), false)
          })
        )

    let cursor: string | undefined
    do {
      const page = yield* store.listExecutions({ ...query, cursor })
      for (const root of page.items) {
        const old = yield* Effect.catchTag(isOld(root), "StoreCorrupt", () => Effect.succeed(false))
        if (old) yield* purgeRoot(root.id)
      }
      cursor = Option.getOrUndefined(page.nextCursor)
      if (cursor !== undefined) yield* rest
    } while (cursor !== undefined)
  })

const runOn = (
  settings: Settings,
  options: Options,
  removed: { readonly processed: (n: number) => void; readonly executions: (n: number) => void }
): Effect.Effect<void, StoreError> =>
  Effect.gen(function* () {
    const { finished, processed } = options
    if (processed !== undefined) yield* pruneProcessed(settings, Duration.decode(processed), removed.processed)
    if (finished !== undefined) yield* purgeFinished(settings, options, Duration.decode(finished), removed.executions)
  })

const counter = () => {
  const removed = { processed: 0, executions: 0 }
  return {
    removed: (): Removed => ({ ...removed }),
    count: {
      processed: (n: number) => {
        removed.processed += n
      },
      executions: (n: number) => {
        removed.executions += n
      }
    }
  }
}

/** @internal */
export const run = (options: Options): Effect.Effect<Removed, StoreError, ExecutionStore> =>
  Effect.flatMap(ExecutionStore, (store) => {
    const { count, removed } = counter()
    return Effect.map(runOn(settingsOf(store, options), options, count), removed)
  })

/** @internal */
export const make = (options: Options): Effect.Effect<Retention, never, ExecutionStore | Scope.Scope> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const settings = settingsOf(store, options)
    const { count, removed } = counter()
    const interval = Duration.min(options.interval ?? "1 hour", "1 day")
    let lastRun: Health["lastRun"] = Option.none()
    let lastError: Health["lastError"] = Option.none()

    const report = (message: string) =>
      Effect.map(seconds, (time) => {
        lastError = Option.some({ time, message })
      })

    const once = runOn(settings, options, count).pipe(
      Effect.withTracerEnabled(false),
      Effect.zipRight(seconds),
      Effect.map((now) => {
        lastRun = Option.some(now)
      }),
      Effect.catchAll((error) => Effect.zipRight(report(error.message), Effect.logWarning(error.message, error)))
    )

    const awaitFatal = yield* supervised.run(once.pipe(Effect.zipRight(Effect.sleep(interval)), Effect.forever), report)
    return { health: Effect.sync(() => ({ lastRun, lastError, removed: removed() })), awaitFatal }
  }).pipe(Effect.annotateLogs({ package: "holdfast", module: "Retention" }))
