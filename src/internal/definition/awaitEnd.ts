import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { ExecutionMissing } from "../../DefinitionError.js"
import { type Execution, isFinished } from "../../Execution.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import type { StoreError } from "../../StoreError.js"
import * as pollSchedule from "../supervision/pollSchedule.js"

/** How long to wait before looking again for what other processes wrote; it grows. */
const shortest = 100
const longest = 5000

type Loaded = Option.Option<Execution>

/** The execution, or nothing to say yet where the store is down for now. */
const loadAgain = (store: ExecutionStore, id: string): Effect.Effect<Loaded | "unavailable", StoreError> =>
  Effect.catchTag(store.load(id), "StoreUnavailable", () => Effect.succeed("unavailable" as const))

/**
 * Waits for the end of an execution. A write of this process wakes it. For those of others it looks at the one row, less and less often;
 * where nobody else can write it does not look.
 */
export const awaitEnd = (store: ExecutionStore, id: string): Effect.Effect<Execution, ExecutionMissing | StoreError> =>
  Effect.scoped(
    Effect.gen(function* () {
      const changed = yield* Effect.makeLatch(false)
      const looks = yield* pollSchedule.make(store)
      yield* store.listen(() => changed.unsafeOpen(), { executionId: id })
      // Where a poll is due soon, to be told of each write of others to any execution costs more.
      if (looks.told) yield* store.listenToOthers(() => changed.unsafeOpen())
      let interval = shortest
      let loaded: Loaded | "unavailable" = yield* store.load(id)
      for (;;) {
        if (loaded !== "unavailable") {
          if (Option.isNone(loaded)) return yield* new ExecutionMissing({ executionId: id })
          if (isFinished(loaded.value)) return loaded.value
        }
        const now = yield* Clock.currentTimeMillis
        const at = looks.next(now, interval)
        const woken = Number.isFinite(at)
          ? yield* Effect.map(Effect.timeoutOption(changed.await, Duration.millis(at - now)), Option.isSome)
          : yield* Effect.as(changed.await, true)
        interval = woken ? shortest : Math.min(longest, interval * 1.5)
        changed.unsafeClose()
        loaded = yield* loadAgain(store, id)
      }
    })
  )
