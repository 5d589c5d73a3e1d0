import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as laneTable from "../../src/internal/worker/laneTable.js"
import * as runner_ from "../../src/internal/worker/runner.js"

describe("A lane", () => {
  it.scoped("takes a row once, also where one that belongs before it comes between", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const done = yield* Deferred.make<void>()
      const ran: Array<number> = []
      const table = laneTable.make<number>({ depth: 10, most: 10, owns: () => true })
      const runner = yield* runner_.make<number>({
        table,
        concurrency: 1,
        fenceOf: () => undefined,
        run: ({ item }) =>
          Effect.zipRight(
            Deferred.await(gate),
            Effect.sync(() => ran.push(item))
          ),
        failed: () => Effect.succeed(undefined),
        recovered: () => Effect.void,
        ended: () => Deferred.unsafeDone(done, Effect.void)
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
        laneTable.offer(table, work, 0)
        runner.start()
      }
      yield* Deferred.succeed(gate, undefined)
      yield* Deferred.await(done)
      assert.deepStrictEqual(ran, [5, 6, 3])
    })
  )
})
