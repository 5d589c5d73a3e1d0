import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { ExecutionStore, type Pending, type PendingQuery } from "../../ExecutionStore.js"
import type { QueueWorker } from "../../QueueWorker.js"
import type { StoreError } from "../../StoreError.js"

/** Whether there is any row that decodes. */
const anyPending = <A>(
  read: (query: PendingQuery) => Effect.Effect<Omit<Pending<A>, "reached">, StoreError>,
  after?: number
): Effect.Effect<boolean, StoreError> =>
  Effect.flatMap(read({ limit: 10, after }), (page) =>
    page.entries.length > 0
      ? Effect.succeed(true)
      : Option.match(page.next, { onNone: () => Effect.succeed(false), onSome: (after) => anyPending(read, after) })
  )

/** An effect that waits until no event, no spawn and no activity is pending. */
export const make = (
  relays: ReadonlyArray<QueueWorker>,
  pollInterval: Duration.DurationInput
): Effect.Effect<Effect.Effect<void, StoreError>, never, ExecutionStore | Scope.Scope> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const changed = yield* Effect.makeLatch(false)
    let changes = 0
    yield* store.listen(() => {
      changes++
      changed.unsafeOpen()
    })

    const anything = Effect.withTracerEnabled(
      Effect.map(
        Effect.all([
          anyPending(store.pendingOutbox),
          anyPending(store.pendingSpawns),
          anyPending((query) => Effect.map(store.activities.list(query), (page) => ({ ...page, failures: [] })))
        ]),
        (pending) => pending.some((any) => any)
      ),
      false
    )

    return Effect.gen(function* () {
      for (;;) {
        const before = changes
        yield* Effect.forEach(relays, (relay) => relay.awaitQuiet, { discard: true })
        if (before !== changes) continue
        const pending = yield* anything
        // Only where nothing was written meanwhile are these looks one.
        if (before !== changes) continue
        if (!pending) return
        changed.unsafeClose()
        yield* Effect.timeoutOption(changed.await, pollInterval)
      }
    })
  })
