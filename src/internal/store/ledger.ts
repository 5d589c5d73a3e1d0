import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ExecutionStore } from "../../ExecutionStore.js"
import * as Time from "../../Time.js"
import * as validate from "../codec/validate.js"
import { type Backend, checkIds, checkWhole, defaultPage, maxPage, seconds } from "./backend.js"

/** The events that executions have consumed. */
export const make = (backend: Backend): Pick<ExecutionStore, "isProcessed" | "ledger"> => {
  const { checks, encoded } = backend

  return {
    isProcessed: (id, eventId) =>
      Effect.gen(function* () {
        const call = { operation: "isProcessed", executionId: id }
        yield* checkIds(backend, call, { id })
        yield* validate.refuse(call, "eventId", checks.eventId(eventId))
        return yield* encoded.isProcessed(id, eventId)
      }),

    ledger: {
      mark: Effect.flatMap(seconds, encoded.markProcessed),

      prune: (time, { after, limit = defaultPage } = {}) =>
        Effect.gen(function* () {
          const call = { operation: "pruneProcessed" }
          const before = Time.toSeconds(time)
          yield* validate.refuse(call, "before", validate.finite(before))
          yield* checkWhole(call, "limit", limit, 1, maxPage)
          if (after !== undefined) yield* checkWhole(call, "after", after, 0)
          const { next, removed } = yield* encoded.pruneProcessed(before, after, limit)
          return { removed, next: Option.fromNullable(next) }
        })
    }
  }
}
