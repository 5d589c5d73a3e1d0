import * as Effect from "effect/Effect"
import type { Failure } from "../../DeadLetter.js"
import type { Call } from "../../SqlDriver.js"
import { StoreCorrupt } from "../../StoreError.js"
import * as reader from "../codec/reader.js"
import type { Row } from "../sqlDatabase/database.js"

/** Decodes the columns of a row that are keys and numbers; what is wrong with them names the row. */
export const decodeRow = <A>(
  call: Call,
  table: string,
  row: Row,
  decode: (row: Row) => A
): Effect.Effect<A, StoreCorrupt> =>
  Effect.try({
    try: () => decode(row),
    catch: (cause) =>
      new StoreCorrupt({
        operation: call.operation,
        table,
        key: row.slice(0, 2).map(String).join(" "),
        problem: cause instanceof reader.Invalid ? reader.describe(cause) : String(cause)
      })
  })

const isNumber = (u: unknown): u is number => typeof u === "number" && Number.isFinite(u)

/** What is recorded of a failure, from its four columns. A record that is none is as good as nothing: the work must not suffer from it. */
export const failed = ([attempts, error, failedAt, retryAt]: Row): Omit<Failure, "work"> | undefined =>
  isNumber(attempts) && typeof error === "string" && isNumber(failedAt) && isNumber(retryAt)
    ? { attempts, error, failedAt, retryAt }
    : undefined
