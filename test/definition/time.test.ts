import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as Definition from "holdfast/Definition"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as MemoryStore from "holdfast/MemoryStore"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Step from "holdfast/Step"

const Reminder = Definition.make("reminder", {
  context: Schema.Struct({ days: Schema.Number, times: Schema.Number, fired: Schema.Number }),
  input: Schema.Struct({ days: Schema.Number, times: Schema.Number }),
  initial: (input) => ({ ...input, fired: 0 }),
  timers: ["next"],
  result: Schema.Number
})

const ReminderLive = Reminder.toLayer({
  Start: (step) => Reminder.armTimer(step, "next", `${step.context.days} days`),
  timers: {
    next: (step) => {
      const counted = Step.updateContext(step, (context) => ({ ...context, fired: context.fired + 1 }))
      const { days, fired, times } = counted.context
      return fired === times ? Reminder.finish(counted, fired) : Reminder.armTimer(counted, "next", `${days} days`)
    }
  }
})

/** A store that counts how often it is asked, by anybody. */
const counting = (store: ExecutionStore.ExecutionStore) => {
  let asked = 0
  const count = <A, E>(effect: Effect.Effect<A, E>) =>
    Effect.suspend(() => {
      asked++
      return effect
    })
  const counted: ExecutionStore.ExecutionStore = {
    ...store,
    pendingOutbox: (query) => count(store.pendingOutbox(query)),
    pendingSpawns: (query) => count(store.pendingSpawns(query)),
    dueTimers: (now, query) => count(store.dueTimers(now, query)),
    delayed: { ...store.delayed, next: count(store.delayed.next) },
    stats: count(store.stats)
  }
  return { counted, asked: () => asked }
}

const stores = [
  { name: "MemoryStore", layer: MemoryStore.layer },
  { name: "SqliteStore in memory", layer: SqliteStore.layer({ filename: ":memory:" }) },
  { name: "LibsqlStore in memory", layer: LibsqlStore.layer({ url: ":memory:" }) }
]

for (const { layer, name } of stores) {
  describe(`A jump in time, on ${name}`, () => {
    it.scoped("costs as much as the work that falls into it, and nothing for the time between", () =>
      Effect.gen(function* () {
        const store = yield* Effect.map(Layer.build(layer), (context) =>
          ExecutionStore.ExecutionStore.pipe(Effect.provide(context))
        ).pipe(Effect.flatten)
        const { asked, counted } = counting(store)
        const Live = ReminderLive.pipe(
          Layer.provideMerge(ExecutionRuntime.layer()),
          Layer.provideMerge(Layer.succeed(ExecutionStore.ExecutionStore, counted))
        )
        yield* Effect.gen(function* () {
          const runtime = yield* ExecutionRuntime.ExecutionRuntime
          yield* Reminder.start("a", { days: 3, times: 10 })
          for (let days = 1; days <= 10; days++) yield* Reminder.start(`${days}`, { days, times: 1 })
          const end = yield* Effect.fork(Reminder.await("a"))
          const ends = yield* Effect.fork(Effect.forEach([10, 1, 5], (days) => Reminder.await(`${days}`)))
          yield* runtime.awaitIdle
          const before = asked()
          for (let n = 0; n < 10; n++) yield* TestClock.adjust("3 days")
          assert.strictEqual(yield* end, 10)
          assert.deepStrictEqual(yield* ends, [1, 1, 1])
          // 20 timers, each of which is looked for a few times
          assert.isBelow(asked() - before, 400)
          const { live, problems, ready } = yield* runtime.health
          assert.deepStrictEqual({ live, problems, ready }, { live: true, problems: [], ready: true })
        }).pipe(Effect.provide(Live))
      })
    )
  })
}
