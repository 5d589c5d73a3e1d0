import type * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { ExecuteOptions, Options, QueryOptions } from "../../RqliteClient.js"
import { RqliteRejected } from "../../RqliteError.js"
import { decoder, type Fields, type Problem } from "../options/decode.js"
import { delay, flag, oneOf, optional, schedule, secret, text, time } from "../options/fields.js"

const callFields = {
  timeout: optional(time),
  retry: optional(schedule)
} satisfies Fields<ExecuteOptions>

const fields = {
  ...callFields,
  urls: Schema.Array(secret).annotations({ description: "a list of URLs" }),
  username: optional(text),
  password: optional(secret)
} satisfies Fields<Options>

const queryFields = {
  ...callFields,
  level: optional(oneOf("none", "weak", "linearizable", "strong", "auto")),
  freshness: optional(delay),
  transaction: optional(flag)
} satisfies Fields<QueryOptions>

/** The error that refuses an option: of the client, or of one of its operations. */
const refused =
  (operation: string, of: string) =>
  ({ detail, path }: Problem): RqliteRejected =>
    new RqliteRejected({ operation, reason: "invalid-input", path, detail: `${detail} (an option of ${of})` })

/** The error that refuses an option of the client. */
export const refusedOption = refused("open", "RqliteClient")

/** The options of a client. */
export const decode = decoder(Schema.Struct(fields), refusedOption)

export type Decoded = Either.Either.Right<ReturnType<typeof decode>>

/** The options of a transaction. */
export const decodeExecute = decoder(Schema.Struct(callFields), refused("execute", "RqliteClient.execute"))

/** The options of a query. */
export const decodeQuery = decoder(Schema.Struct(queryFields), refused("query", "RqliteClient.query"))

export type Query = Either.Either.Right<ReturnType<typeof decodeQuery>>
