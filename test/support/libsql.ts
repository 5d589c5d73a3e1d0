import type { Client } from "@libsql/client"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ExecutionStore } from "holdfast/ExecutionStore"
import { open } from "holdfast/internal/libsql/open"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as SqlDriver from "holdfast/SqlDriver"
import type * as Subject from "holdfast/testing/Subject"
import type { Replicas } from "./sqld/replica.js"
import { insertion } from "./sqlRows.js"

/** Access to the store's database for tests, without the store. */
export class Connected extends Context.Tag("test/libsql/Connected")<
  Connected,
  { readonly client: Client; readonly replica: LibsqlStore.Replica }
>() {}

const provided = ({ client, replica, store }: LibsqlStore.LibsqlStore) =>
  Context.make(ExecutionStore, store).pipe(Context.add(Connected, { client, replica }))

/** A store, and a client by which a test inserts rows without the store. */
export const layer = (options: LibsqlStore.Options) =>
  Layer.scopedContext(Effect.map(LibsqlStore.make(options), provided))

/** A store whose replicas are made without a real server. */
export const make = (options: LibsqlStore.Options, replicas: Replicas) =>
  Effect.gen(function* () {
    const { driver, ...rest } = yield* open(options, replicas.open)
    return { ...rest, store: yield* SqlDriver.make(driver, options) }
  })

export const layerOf = (options: LibsqlStore.Options, replicas: Replicas) =>
  Layer.scopedContext(Effect.map(make(options, replicas), provided))

// A number is bound as a double, and a whole one must stay an integer.
const bound = (value: string | number | null) => (Number.isSafeInteger(value) ? BigInt(Number(value)) : value)

export const raw = (table: Subject.Table, row: Subject.Row) =>
  Effect.flatMap(Connected, ({ client, replica }) => {
    const { params, sql } = insertion(table, row)
    return Effect.zipRight(
      Effect.tryPromise(() => client.execute({ sql, args: params.map(bound) })),
      replica.sync
    )
  })
