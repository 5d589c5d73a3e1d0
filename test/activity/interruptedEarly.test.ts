import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as Activity from "holdfast/Activity"
import * as ActivityWorker from "holdfast/ActivityWorker"
import * as Commit from "holdfast/Commit"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import { eventually, execution } from "../support/workers.js"

it.scoped("an activity that is interrupted before its first step leaves its place to others", () =>
  Effect.gen(function* () {
    const store = yield* MemoryStore.make()
    const charge = Commit.runActivity({ key: "c", name: "charge", payload: {} })
    const { execution: waiting } = yield* store.commit(execution("a"), { activities: [charge] })
    let claims = 0
    let runs = 0
    // The commit comes between the claim and the fiber that is to run what was claimed.
    const claim: ExecutionStore.ExecutionStore["activities"]["claim"] = (query) =>
      Effect.tap(store.activities.claim(query), () =>
        claims++ === 0 ? Effect.fork(store.save({ ...waiting, status: "CANCELLED" })) : Effect.void
      )
    const worker = yield* Effect.provideService(ActivityWorker.make(), ExecutionStore.ExecutionStore, {
      ...store,
      activities: { ...store.activities, claim }
    })
    yield* worker.register(Activity.make("charge"), () => Effect.sync(() => void runs++))
    yield* eventually(
      Effect.sync(() => claims),
      1
    )
    yield* TestClock.adjust(0)
    assert.deepStrictEqual([claims, runs], [1, 0])
    assert.strictEqual((yield* store.load("a").pipe(Effect.flatten)).status, "CANCELLED")
    assert.strictEqual((yield* worker.health).backlog, 0)
  })
)
