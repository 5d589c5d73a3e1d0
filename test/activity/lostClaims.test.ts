import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Activity from "holdfast/Activity"
import * as Definition from "holdfast/Definition"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import { StoreUnavailable } from "holdfast/StoreError"
import * as Support from "../support/workers.js"

type Store = ExecutionStore.ExecutionStore

const Charge = Activity.make("charge", { success: Schema.String })

const Order = Definition.make("order", {
  context: Schema.Struct({}),
  activities: { charge: Charge },
  result: Schema.Struct({ by: Schema.String })
})

const OrderLive = Order.toLayer({
  Start: (step) => Order.runActivity(step, "charge", undefined, { key: "c" }),
  activities: { charge: { success: (step, by) => Order.finish(step, { by }), failure: (step) => step } }
})

const lost = new StoreUnavailable({
  operation: "claimActivities",
  reason: "connection",
  outcome: "unknown",
  detail: "the server failed"
})

/** A store of which the next claim is made, and then fails; or fails, and is made when the one after it comes, which finds nothing then. */
const losing = (store: Store) => {
  let next: "made" | "late" | undefined
  let late: Parameters<typeof store.activities.claim>[0] | undefined
  const { claim } = store.activities
  return {
    store: {
      ...Support.deaf(store),
      activities: {
        ...store.activities,
        claim: (query) =>
          Effect.gen(function* () {
            const how = next
            next = undefined
            if (how === "late") late = query
            else if (late !== undefined) {
              yield* claim(late)
              late = undefined
            }
            if (how === undefined) return yield* claim(query)
            if (how === "made") yield* claim(query)
            return yield* lost
          })
      }
    } satisfies Store,
    lose: (how: "made" | "late") =>
      Effect.sync(() => {
        next = how
      })
  }
}

Support.onEach("A claim of activities whose answer is lost", (makeStore) => {
  /** A process that runs the activity of an execution, when that of another is claimed in vain; and how both go on. */
  const world = Effect.gen(function* () {
    const store = yield* makeStore
    const { lose, store: shared } = losing(store)
    const gate = yield* Deferred.make<void>()
    const runs: Array<string> = []
    const ChargeLive = Charge.toLayer((_, { executionId }) =>
      Effect.sync(() => runs.push(executionId)).pipe(
        Effect.zipRight(executionId === "slow" ? Deferred.await(gate) : Effect.void),
        Effect.as(executionId)
      )
    )
    yield* Layer.build(
      Layer.merge(OrderLive, ChargeLive).pipe(
        Layer.provideMerge(ExecutionRuntime.layer({ shutdownTimeout: 0 })),
        Layer.provide(Layer.succeed(ExecutionStore.ExecutionStore, shared))
      )
    )
    const start = (id: string) =>
      Effect.zipRight(
        Effect.provideService(Order.start(id, {}), ExecutionStore.ExecutionStore, store),
        TestClock.adjust("3 seconds")
      )
    yield* start("slow")
    assert.deepStrictEqual(runs, ["slow"])
    return { gate, lose, runs, start, store }
  })

  const bothEnd = ({ gate, runs, store }: Effect.Effect.Success<typeof world>) =>
    Effect.gen(function* () {
      assert.deepStrictEqual(runs, ["slow", "order"])
      yield* Deferred.succeed(gate, undefined)
      yield* TestClock.adjust("3 seconds")
      for (const id of ["slow", "order"]) assert.strictEqual((yield* Support.load(store, id)).status, "DONE", id)
      assert.deepStrictEqual((yield* store.activities.list()).entries, [])
      assert.lengthOf(runs, 2)
    })

  for (const [how, what] of [
    ["made", "is made anew, and what runs here goes on"],
    ["late", "takes nothing away where it is made late"]
  ] as const) {
    it.scoped(what, () =>
      Effect.gen(function* () {
        const both = yield* world
        yield* both.lose(how)
        yield* both.start("order")
        yield* bothEnd(both)
      })
    )
  }
})
