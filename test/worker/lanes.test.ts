import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as lanes_ from "../../src/internal/worker/lanes.js"

describe("A lane", () => {
  it.scoped("takes a row once, also where one that belongs before it comes between", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const done = yield* Deferred.make<void>()
      const ran: Array<number> = []
      const lanes = yield* lanes_.make<number>({
        concurrency: 1,
        depth: 10,
        most: 10,
        run: ({ item }) =>
          Effect.zipRight(
            Deferred.await(gate),
            Effect.sync(() => ran.push(item))
          ),
        failed: () => Effect.succeed(undefined),
        recovered: () => Effect.void,
        ended: () => Deferred.unsafeDone(done, Effect.void),
        owns: () => true
      })
      for (const item of [5, 6, 3, 6, 5, 3]) {
        const work = {
          lane: "a",
          id: item,
          position: item,
          item,
          label: () => "",
          recorded: undefined,
          waitsFor: undefined
        }
        yield* lanes.offer(work, 0) ?? Effect.void
      }
      yield* Deferred.succeed(gate, undefined)
      yield* Deferred.await(done)
      assert.deepStrictEqual(ran, [5, 6, 3])
    })
  )
})
