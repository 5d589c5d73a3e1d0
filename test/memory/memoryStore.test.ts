import { describe, expect, it } from "@effect/vitest"
import * as Config from "effect/Config"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Execution from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"

const order = Execution.make({ id: "a", definitionId: "order" })

const save = Effect.flatMap(ExecutionStore.ExecutionStore, (store) => store.save(order))

const ids = Effect.flatMap(ExecutionStore.ExecutionStore, (store) => store.idsWithPrefix(""))

describe("MemoryStore", () => {
  it.effect("is empty and another one each time it is made", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* MemoryStore.make(), yield* MemoryStore.make()]
      yield* one.save(order)
      expect(yield* one.idsWithPrefix("")).toEqual(["a"])
      expect(yield* other.idsWithPrefix("")).toEqual([])
    })
  )

  it.effect("as a layer is one store for all who share the layer, and a new one when it is built again", () =>
    Effect.gen(function* () {
      class First extends Context.Tag("test/First")<First, ReadonlyArray<string>>() {}
      const writer = Layer.provide(Layer.effectDiscard(save), MemoryStore.layer)
      const reader = Layer.provide(Layer.effect(First, ids), MemoryStore.layer)
      const shared = Layer.provideMerge(reader, Layer.provideMerge(writer, MemoryStore.layer))
      expect(yield* Effect.provide(First, shared)).toEqual(["a"])
      expect(yield* Effect.provide(ids, MemoryStore.layer)).toEqual([])
    })
  )

  it.effect("reads its options from the configuration", () =>
    Effect.gen(function* () {
      const layer = MemoryStore.layerConfig({ maxIdBytes: Config.integer("MAX_ID_BYTES") })
      const at = (value: string) =>
        Effect.provide(save, layer).pipe(
          Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["MAX_ID_BYTES", value]])))
        )
      expect(yield* at("5")).toMatchObject({ id: "a" })
      expect(yield* Effect.flip(at("4"))).toMatchObject({ _tag: "StoreRejected", path: "definitionId" })
      expect(yield* Effect.flip(at("none"))).toMatchObject({ _op: "InvalidData" })
    })
  )

  for (const traceMax of [-1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    it.effect(`refuses to keep ${traceMax} steps of a trace`, () =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(MemoryStore.make({ traceMax }))
        expect(error).toMatchObject({ operation: "open", reason: "invalid-input", path: "traceMax" })
        expect(yield* Effect.flip(Effect.provide(ids, MemoryStore.layerWith({ traceMax })))).toEqual(error)
      })
    )
  }
})
