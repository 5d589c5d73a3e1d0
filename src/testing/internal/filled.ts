import * as Effect from "effect/Effect"
import { ExecutionStore } from "../../ExecutionStore.js"
import { emit, everything, order } from "./samples.js"

/** Something of everything that a store keeps. */
export const fill = Effect.gen(function* () {
  const store = yield* ExecutionStore
  for (const id of ["a", "b", "c"]) {
    const { seqs } = yield* store.commit(order(id, { parentId: id === "a" ? null : "a" }), everything(id))
    const work = { _tag: "Outbox", seq: seqs[0] ?? 0 } as const
    yield* store.deadLetters.recordFailure({ work, attempts: 1, error: "no answer", retryAt: 5 })
    yield* store.enqueue([emit(`${id}-buried`), { ...emit(`${id}-later`), dueAt: 5 }])
    yield* store.deadLetters.bury(
      { _tag: "Outbox", seq: (seqs[0] ?? 0) + 1 },
      { reason: "attempts", attempts: 1, error: "" }
    )
    yield* store.publishDefinition({ definitionId: id, version: 1, digest: "", source: "", publishedAt: 1.5 })
    yield* store.leases.renew({ pool: "pool", holder: id, ttl: 10, claim: [id] })
  }
  yield* store.ledger.mark
})
