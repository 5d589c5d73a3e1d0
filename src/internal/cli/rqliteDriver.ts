import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Schedule from "effect/Schedule"
import * as RqliteClient from "../../RqliteClient.js"
import * as driver from "../rqlite/driver.js"
import * as open from "../rqlite/open.js"
import { toStoreError } from "../rqlite/storeError.js"

/** A driver on a cluster. A module of its own, since it is loaded only for a store there. */
export const connect = (options: RqliteClient.Options, tries: Schedule.Schedule<unknown>) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(RqliteClient.layer(options))
    const client = Context.get(context, RqliteClient.RqliteClient)
    const { cutsAtNull, decisive } = yield* open.connect(client)
    return yield* driver.make(client, { level: decisive, decisive, cutsAtNull, groupCommit: true })
  }).pipe(
    Effect.mapError((error) => toStoreError({ operation: "open" }, error)),
    open.persist(tries)
  )
