import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Event from "holdfast/Event"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import * as OutboxRelay from "holdfast/OutboxRelay"
import type { Change } from "holdfast/Shards"

describe("A lane that is gained while its rows are read", () => {
  it.scoped("has them delivered in order, though the first was passed over before", () =>
    Effect.gen(function* () {
      const memory = yield* MemoryStore.make()
      const sent = ["first", "second", "third"]
      yield* memory.enqueue(sent.map((id) => ({ targetId: "a", event: Event.make({ id, kind: "Sent" }) })))

      let owned = false
      let listener: (change: Change) => void = () => {}
      let pages = 0
      const store: ExecutionStore.ExecutionStore = {
        ...memory,
        // The lane is gained after the first page has been offered, before the second one is.
        pendingOutbox: (query) =>
          Effect.tap(memory.pendingOutbox(query), () =>
            Effect.sync(() => {
              if (++pages !== 2) return
              owned = true
              listener({ gained: [0], lost: [] })
            })
          )
      }
      const delivered: Array<string> = []
      const all = yield* Deferred.make<void>()
      yield* OutboxRelay.make({
        pageSize: 1,
        shards: {
          owns: () => owned,
          onChange: (added) =>
            Effect.sync(() => {
              listener = added
            })
        },
        deliver: ({ event }) =>
          Effect.suspend(() => {
            delivered.push(event.id)
            return delivered.length === sent.length ? Deferred.succeed(all, undefined) : Effect.void
          }).pipe(Effect.as<"Delivered">("Delivered"))
      }).pipe(Effect.provideService(ExecutionStore.ExecutionStore, store))
      yield* Deferred.await(all)
      assert.deepStrictEqual(delivered, sent)
    })
  )
})
