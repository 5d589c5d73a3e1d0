import { assert, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as PollSchedule from "holdfast/internal/supervision/pollSchedule"
import * as MemoryStore from "holdfast/MemoryStore"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Temp from "../support/temp.js"
import { event, execution } from "../support/workers.js"

const file = Effect.flatMap(Temp.database, (filename) => SqliteStore.make({ filename }))

it.scoped("under the clock of a test looks grow rare, but for one an interval after each that came early", () =>
  Effect.gen(function* () {
    const { next, told } = yield* PollSchedule.make(yield* file)
    assert.isTrue(told)
    const times: Array<number> = []
    for (let now = 0; now < 100_000; now = next(now, 1000)) times.push(now)
    assert.deepStrictEqual(times, [0, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000])
    assert.strictEqual(next(70_000, 1000), 71_000)
    assert.strictEqual(next(70_500, 1000), 71_000)
    assert.strictEqual(next(71_000, 1000), 142_000)
  })
)

it.scopedLive("under another clock they come at the interval", () =>
  Effect.gen(function* () {
    const { next, told } = yield* PollSchedule.make(yield* file)
    assert.isFalse(told)
    assert.deepStrictEqual([next(0, 1000), next(64_000, 1000)], [1000, 65_000])
  })
)

it.scoped("so they do under a clock that a test does not move, and where the store tells nothing", () =>
  Effect.gen(function* () {
    const store = yield* file
    const { sleep, unsafeCurrentTimeMillis } = yield* Effect.clock
    const other: Clock.Clock = { ...Clock.make(), sleep, unsafeCurrentTimeMillis }
    assert.isFalse((yield* Effect.withClock(PollSchedule.make(store), other)).told)
    assert.isFalse((yield* PollSchedule.make({ ...store, listenToOthers: () => Effect.void })).told)
  })
)

it.scoped("there are none where nobody else can write", () =>
  Effect.gen(function* () {
    const store = yield* MemoryStore.make()
    const { next, told } = yield* PollSchedule.make(store)
    assert.deepStrictEqual([told, next(0, 1000)], [true, Number.POSITIVE_INFINITY])
  })
)

it.scoped("a store tells all the others of the process that it has written, and itself nothing", () =>
  Effect.gen(function* () {
    const [store, other, memory] = yield* Effect.all([file, file, MemoryStore.make()])
    const heard: Array<string> = []
    yield* store.listenToOthers(() => heard.push("store"))
    yield* other.listenToOthers(() => heard.push("other"))
    yield* memory.listenToOthers(() => heard.push("memory"))
    yield* Effect.scoped(other.listenToOthers(() => heard.push("nobody")))
    yield* store.save(execution("a"))
    yield* other.enqueue([{ targetId: "a", event: event("e") }])
    yield* memory.save(execution("a"))
    yield* TestClock.adjust(0)
    assert.deepStrictEqual(heard, ["other", "store"])
  })
)
