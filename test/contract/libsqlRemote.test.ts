import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as LibsqlStore from "holdfast/LibsqlStore"
import * as ContractSuite from "holdfast/testing/ContractSuite"
import * as ContractShare from "../support/contractShare.js"
import * as Libsql from "../support/libsql.js"
import * as LibsqlServer from "../support/libsqlServer.js"
import * as Schema from "../support/schema.js"
import * as SqldServer from "../support/sqld/server.js"

type Options = Omit<LibsqlStore.Options, "url">

const layerWith = (options: Options) =>
  Layer.unwrapScoped(
    Effect.map(SqldServer.make({ initial: Schema.database() }), ({ url }) => Libsql.layer({ ...options, url }))
  )

// Each test, and each value of a property, has a server of its own. That stores are moved is tested in test/transfer as well.
ContractShare.suite("LibsqlStore on a server's stand-in", layerWith({}), {
  layerWith,
  raw: Libsql.raw,
  part: { of: 16, rest: 7, later: [ContractSuite.topics.transfer] }
})

if (Option.isSome(LibsqlServer.remote)) {
  const server = LibsqlServer.remote.value
  const layerWith = (options: Options) =>
    Layer.unwrapEffect(Effect.as(LibsqlServer.empty(server), Libsql.layer({ ...options, ...server })))
  ContractSuite.suite("LibsqlStore on a real server", layerWith({}), { layerWith, raw: Libsql.raw })
}
