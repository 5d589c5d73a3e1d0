import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { StoreRejected } from "../../StoreError.js"
import type { ExportOptions, ImportOptions } from "../../Transfer.js"
import { decoder, type Fields, refused } from "../options/decode.js"
import { callable, flag, optional, whole } from "../options/fields.js"
import type { Settings } from "./importText.js"

const defaultPage = 1000
const pageSize = optional(whole(1, 10_000))

const decodeExport = decoder(
  Schema.Struct({ pageSize } satisfies Fields<ExportOptions>),
  refused("export", "Transfer.exportText")
)

const decodeImport = decoder(
  Schema.Struct({
    pageSize,
    replace: optional(flag),
    onProgress: optional(callable)
  } satisfies Fields<ImportOptions>),
  refused("import", "Transfer.importText")
)

export const forExport = (options: ExportOptions): Effect.Effect<{ readonly pageSize: number }, StoreRejected> =>
  Effect.map(decodeExport(options), ({ pageSize = defaultPage }) => ({ pageSize }))

export const forImport = (options: ImportOptions): Effect.Effect<Settings, StoreRejected> =>
  Effect.map(decodeImport(options), ({ pageSize = defaultPage, replace = false }) => ({
    pageSize,
    replace,
    onProgress: options.onProgress ?? (() => Effect.void)
  }))
