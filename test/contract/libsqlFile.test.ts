import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as LibsqlStore from "holdfast/LibsqlStore"
import * as ContractShare from "../support/contractShare.js"
import * as Libsql from "../support/libsql.js"
import * as Schema from "../support/schema.js"

const layerWith = (options: Omit<LibsqlStore.Options, "url">) =>
  Layer.unwrapScoped(Effect.map(Schema.file, (filename) => Libsql.layer({ ...options, url: `file:${filename}` })))

ContractShare.suite("LibsqlStore on a file", layerWith({}), { layerWith, raw: Libsql.raw, part: { of: 6, rest: 1 } })
