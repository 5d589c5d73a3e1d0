import { assert, it } from "@effect/vitest"
import { Effect, Layer, Option, TestClock } from "effect"
import { ExecutionRuntime, MemoryStore } from "holdfast"
import { Parcel } from "./parcel.js"
import { Mail, ParcelLive } from "./parcelLive.js"

const sent: Array<string> = []

const Test = ParcelLive.pipe(
  Layer.provideMerge(ExecutionRuntime.layer()),
  Layer.provideMerge(MemoryStore.layer),
  Layer.provide(Layer.succeed(Mail, { send: (to) => Effect.sync(() => void sent.push(to)) }))
)

it.effect("reminds twice, and gives up after nine days", () =>
  Effect.gen(function* () {
    yield* Parcel.start("p", { recipient: "ada@example.org" })
    const end = yield* Effect.fork(Parcel.await("p"))
    yield* TestClock.adjust("9 days") // takes milliseconds
    assert.deepStrictEqual(yield* end, { collectedBy: null })
    assert.deepStrictEqual(sent, ["ada@example.org", "ada@example.org"])
  }).pipe(Effect.provide(Test))
)

it.effect("is collected once, however often that is said", () =>
  Effect.gen(function* () {
    yield* Parcel.start("p", { recipient: "ada@example.org" })
    yield* Parcel.send("p", "Collected", { by: "Ada" }, { id: "counter:17" })
    yield* Parcel.send("p", "Collected", { by: "Ada" }, { id: "counter:17" })
    assert.deepStrictEqual(yield* Parcel.await("p"), { collectedBy: "Ada" })
    const { result, status } = yield* Parcel.get("p")
    assert.deepStrictEqual([status, result], ["DONE", Option.some({ collectedBy: "Ada" })])
  }).pipe(Effect.provide(Test))
)
