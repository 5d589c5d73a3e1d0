/**
 * A store in the memory of the process, for tests, examples, and data that may be lost. It is also the model that tests compare the other
 * stores with.
 *
 * @since 0.1.0
 */
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as ExecutionStore from "./ExecutionStore.js"
import * as memoryEncoded from "./internal/memory/encoded.js"
import { Tables } from "./internal/memory/tables.js"
import { decoder, type Fields, refused } from "./internal/options/decode.js"
import { storeFields } from "./internal/options/store.js"
import type { StoreRejected } from "./StoreError.js"

/**
 * - `traceMax`: how many steps the trace of an execution keeps, by default 200; 0 keeps all.
 * - `maxIdBytes` and the other limits: see `ExecutionStore.Options`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options extends ExecutionStore.Options {
  readonly traceMax?: number | undefined
}

/**
 * A new, empty store. It keeps the texts that a database would keep, so values come back as they would from a database. Every operation is
 * atomic: it runs without interruption.
 *
 * Fails with `StoreRejected` where `traceMax` is no whole number of 0 or more, or a limit is no whole number of 1 or more.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Effect.Effect<ExecutionStore.ExecutionStore, StoreRejected> =>
  Effect.suspend(() =>
    Effect.map(decode(options), (options) => makeStore(options.traceMax ?? defaultTraceMax, options))
  )

const decode = decoder(Schema.Struct(storeFields satisfies Fields<Options>), refused("open", "MemoryStore"))

const defaultTraceMax = 200

const makeStore = (traceMax: number, options?: ExecutionStore.Options): ExecutionStore.ExecutionStore =>
  ExecutionStore.make(memoryEncoded.make(new Tables(), traceMax), options)

/**
 * A new, empty store each time that the layer is built.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect } from "effect"
 * import { Execution, ExecutionStore, MemoryStore } from "holdfast"
 *
 * const program = Effect.gen(function* () {
 *   const store = yield* ExecutionStore.ExecutionStore
 *   yield* store.save(Execution.make({ id: "order-17", definitionId: "order" }))
 *   const { items } = yield* store.listExecutions({ definitionId: "order" })
 *   assert.deepStrictEqual(items.map(({ id }) => id), ["order-17"])
 * }).pipe(Effect.provide(MemoryStore.layer))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<ExecutionStore.ExecutionStore> = Layer.sync(ExecutionStore.ExecutionStore, () =>
  makeStore(defaultTraceMax)
)

/**
 * {@link layer} with options.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerWith = (options: Options): Layer.Layer<ExecutionStore.ExecutionStore, StoreRejected> =>
  Layer.effect(ExecutionStore.ExecutionStore, make(options))

/**
 * {@link layerWith}, with options from the configuration.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = (
  config: Config.Config.Wrap<Options>
): Layer.Layer<ExecutionStore.ExecutionStore, StoreRejected | ConfigError> =>
  Layer.effect(ExecutionStore.ExecutionStore, Effect.flatMap(Config.unwrap(config), make))
