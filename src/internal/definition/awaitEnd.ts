import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { ExecutionMissing } from "../../DefinitionError.js"
import { type Execution, isFinished } from "../../Execution.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import type { StoreError } from "../../StoreError.js"

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
      yield* store.listen(() => changed.unsafeOpen(), { executionId: id })
      let interval = shortest
      let loaded: Loaded | "unavailable" = yield* store.load(id)
      for (;;) {
        if (loaded !== "unavailable") {
          if (Option.isNone(loaded)) return yield* new ExecutionMissing({ executionId: id })
          if (isFinished(loaded.value)) return loaded.value
        }
        const woken = store.exclusive
          ? yield* Effect.as(changed.await, true)
          : yield* Effect.map(Effect.timeoutOption(changed.await, Duration.millis(interval)), Option.isSome)
        interval = woken ? shortest : Math.min(longest, interval * 1.5)
        changed.unsafeClose()
        loaded = yield* loadAgain(store, id)
      }
    })
  )
