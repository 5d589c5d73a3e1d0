/**
 * A store under test, as the tests of the contract use it: a fresh one for each.
 *
 * @since 0.1.0
 */
import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as FastCheck from "effect/FastCheck"
import type * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type { StoredTable } from "../EncodedStore.js"
import type { ExecutionStore, Options as Limits } from "../ExecutionStore.js"

/**
 * The tables of a store that a test can put a row into, without their prefix.
 *
 * @since 0.1.0
 * @category models
 */
export type Table = StoredTable

/**
 * A row by the names of its columns, as another program could have written it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Row {
  readonly [column: string]: string | number | bigint | null
}

/**
 * The options of a store that the contract is about: see `SqlDriver.Options`.
 *
 * @since 0.1.0
 * @category models
 */
export interface StoreOptions extends Limits {
  readonly traceMax?: number | undefined
}

/**
 * - `raw`: inserts a row into the same database without the store. Without it the tests of foreign and corrupt rows are not registered.
 * - `layerWith`: the store with other options than its defaults. Without it the tests of these options are not registered.
 * - `timeout`: how many milliseconds a test may take, by default what vitest is configured to. A cluster far away needs more.
 * - `runs`: how many values a property is tried with at most; without it as many as the property asks for, 6 to 20. Each has a store of its
 *   own.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<R> {
  readonly raw?: ((table: Table, row: Row) => Effect.Effect<void, unknown, R>) | undefined
  readonly layerWith?: ((options: StoreOptions) => Layer.Layer<ExecutionStore | R, unknown>) | undefined
  readonly timeout?: number | undefined
  readonly runs?: number | undefined
}

/**
 * The services that the body of a test may use.
 *
 * @since 0.1.0
 * @category models
 */
export type Services = ExecutionStore | Scope.Scope

/**
 * Registers tests. Each runs on a store of its own, under `TestClock`, in a scope of its own.
 *
 * @since 0.1.0
 * @category models
 */
export interface Subject {
  readonly test: <A, E>(name: string, body: () => Effect.Effect<A, E, Services>) => void

  /** A test with a store for each of the `runs` values, which are the same every time. */
  readonly property: <T, A, E>(
    name: string,
    arbitrary: FastCheck.Arbitrary<T>,
    runs: number,
    body: (value: T) => Effect.Effect<A, E, Services>
  ) => void

  /** Whether tests can insert rows without the store. */
  readonly hasRaw: boolean

  /** A test that inserts rows without the store. It is not registered where there is no `raw`. */
  readonly rawTest: <A, E>(
    name: string,
    body: (insert: (table: Table, row: Row) => Effect.Effect<void, unknown>) => Effect.Effect<A, E, Services>
  ) => void

  /** A test of a store with options. It is not registered where there is no `layerWith`. */
  readonly testWith: <A, E>(options: StoreOptions, name: string, body: () => Effect.Effect<A, E, Services>) => void
}

const seed = 20260730

/**
 * The subject that registers its tests with vitest. The layer is built for each test.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <R = never>(layer: Layer.Layer<ExecutionStore | R, unknown>, options: Options<R> = {}): Subject => {
  const { layerWith, raw, runs: most = Number.POSITIVE_INFINITY, timeout } = options
  return {
    test: (name, body) => it.scoped(name, () => Effect.provide(Effect.suspend(body), layer), timeout),

    property: (name, arbitrary, runs, body) =>
      it.scoped.prop(name, [arbitrary], ([value]) => Effect.provide(body(value), layer), {
        fastCheck: { numRuns: Math.min(runs, most), seed },
        ...(timeout === undefined ? {} : { timeout })
      }),

    hasRaw: raw !== undefined,

    rawTest: (name, body) => {
      if (raw === undefined) return
      const withRaw = Effect.flatMap(Effect.context<R>(), (context) =>
        body((table, row) => Effect.provide(raw(table, row), context))
      )
      it.scoped(name, () => Effect.provide(withRaw, layer), timeout)
    },

    testWith: (options, name, body) => {
      if (layerWith === undefined) return
      it.scoped(name, () => Effect.provide(Effect.suspend(body), layerWith(options)), timeout)
    }
  }
}
