import { Console, Effect, Layer } from "effect"
import { ExecutionRuntime } from "holdfast"
import * as SqliteStore from "holdfast/SqliteStore"
import { Parcel } from "./parcel.js"
import { Mail, ParcelLive } from "./parcelLive.js"

const Live = ParcelLive.pipe(
  Layer.provideMerge(ExecutionRuntime.layer()),
  Layer.provideMerge(SqliteStore.layer({ filename: "parcels.db" })),
  Layer.provide(Layer.succeed(Mail, { send: (to, text) => Console.log(`mail to ${to}: ${text}`) }))
)

const program = Effect.gen(function* () {
  yield* Parcel.startOrGet("parcel-1", { recipient: "ada@example.org" })
  yield* Parcel.send("parcel-1", "Collected", { by: "Ada" }, { id: "counter:17" })
  const { collectedBy } = yield* Parcel.await("parcel-1")
  yield* Console.log(`parcel-1 was collected by ${collectedBy}`)
})

Effect.runPromise(program.pipe(Effect.provide(Live)))
