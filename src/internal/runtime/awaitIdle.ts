import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { ExecutionStore, type Pending, type PendingQuery } from "../../ExecutionStore.js"
import type { QueueWorker } from "../../QueueWorker.js"
import type { StoreError } from "../../StoreError.js"
import * as pollSchedule from "../supervision/pollSchedule.js"

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
    const looks = yield* pollSchedule.make(store)
    const interval = Duration.toMillis(pollInterval)
    const changed = yield* Effect.makeLatch(false)
    let changes = 0
    const onChange = () => {
      changes++
      changed.unsafeOpen()
    }
    yield* store.listen(onChange)
    if (looks.told) yield* store.listenToOthers(onChange)

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
        const now = yield* Clock.currentTimeMillis
        yield* Effect.timeoutOption(changed.await, looks.next(now, interval) - now)
      }
    })
  })
