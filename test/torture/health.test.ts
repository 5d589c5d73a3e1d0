import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Execution from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import { StoreUnavailable } from "holdfast/StoreError"
import * as Health from "./health.js"

const second = 1e9
const began = 1000 * second

const write = (secondsAgo: number, refused?: string): Health.LastWrite => ({
  writes: 7,
  refused,
  at: began - secondsAgo * second
})

const well = { live: true, ready: true, problems: [] }
const refuses = "store: has refused writes for 3 s: no room"
const refusing = { live: true, ready: false, problems: [refuses] }

interface Case {
  readonly what: string
  readonly before: Health.LastWrite
  readonly after?: Health.LastWrite
  readonly health: Health.Look["health"]
  readonly finds?: string
}

const cases: ReadonlyArray<Case> = [
  { what: "a process that is well", before: write(1), health: well },
  { what: "one that says that it is refused, and is", before: write(1, "no room"), health: refusing },
  { what: "one that is refused and does not say so", before: write(1, "no room"), health: well, finds: "was refused" },
  { what: "one that was refused more than a minute ago", before: write(70, "no room"), health: well },
  { what: "one that was refused this moment", before: write(0.01, "no room"), health: well },
  { what: "one that wrote and says that it is refused", before: write(1), health: refusing, finds: "was taken" },
  {
    what: "one that wrote while it was asked",
    before: write(1, "no room"),
    after: { ...write(0), writes: 8 },
    health: well
  },
  {
    what: "one of which a worker has ended",
    before: write(1),
    health: { live: false, ready: false, problems: ["a worker ended: x"] },
    finds: "it is not live: a worker ended: x"
  },
  { what: "one that is ready with a problem", before: write(1), health: { ...well, problems: ["x"] }, finds: "ready" },
  { what: "one that does not answer", before: write(1), health: undefined, finds: "did not come" }
]

describe("Who looks at the health of a tortured process", () => {
  for (const { after, before, finds, health, what } of cases) {
    it(`finds ${finds === undefined ? "nothing wrong with" : "what is wrong with"} ${what}`, () => {
      const found = Health.wrong({ began, ended: began + second, before, after: after ?? before, health }).join("; ")
      if (finds === undefined) assert.strictEqual(found, "")
      else assert.include(found, finds)
    })
  }

  it.scoped("knows of each write whether the store took it, and why not", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore.ExecutionStore
      const away = new StoreUnavailable({
        operation: "commit",
        reason: "connection",
        outcome: "not-applied",
        detail: "it is away"
      })
      let there = true
      const { last, store: watched } = yield* Health.watch({
        ...store,
        commit: (execution, commit) => (there ? store.commit(execution, commit) : Effect.fail(away)),
        commitEach: (commits) => Effect.succeed(commits.map(() => Exit.fail(away)))
      })
      yield* watched.commit(Execution.make({ id: "a", definitionId: "d" }))
      assert.deepInclude(last(), { writes: 1, refused: undefined })
      there = false
      yield* Effect.flip(watched.commit(Execution.make({ id: "b", definitionId: "d" })))
      yield* watched.commitEach([{ execution: Execution.make({ id: "c", definitionId: "d" }) }])
      assert.strictEqual(last().writes, 3)
      assert.include(last().refused ?? "", "it is away")
    }).pipe(Effect.provide(MemoryStore.layer))
  )
})
