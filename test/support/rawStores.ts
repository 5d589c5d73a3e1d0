import * as SqlClient from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as SqlStore from "holdfast/SqlStore"
import type * as Subject from "holdfast/testing/Subject"
import * as memoryRows from "./memoryRows.js"
import * as sqlClient from "./sqlClient.js"
import { insertion } from "./sqlRows.js"

/** A store, and a way to put rows into it that it would not write. */
export interface RawStore {
  readonly store: ExecutionStore.ExecutionStore
  readonly insert: (table: Subject.Table, row: Subject.Row) => Effect.Effect<unknown, unknown>
}

const memory: Effect.Effect<RawStore, never, Scope.Scope> = Effect.map(Layer.build(memoryRows.layer), (context) => ({
  store: Context.get(context, ExecutionStore.ExecutionStore),
  insert: (table, row) => Effect.provide(memoryRows.raw(table, row), context)
}))

const sqlite: Effect.Effect<RawStore, unknown, Scope.Scope> = Effect.gen(function* () {
  const client = yield* sqlClient.make()
  const store = yield* Effect.provideService(SqlStore.make(), SqlClient.SqlClient, client)
  return {
    store,
    insert: (table, row) => {
      const { params, sql } = insertion(table, row)
      return client.unsafe(sql, params)
    }
  }
})

export const rawStores: ReadonlyArray<{
  readonly name: string
  readonly make: Effect.Effect<RawStore, unknown, Scope.Scope>
}> = [
  { name: "memory", make: memory },
  { name: "SQLite", make: sqlite }
]
