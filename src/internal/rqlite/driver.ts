import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { Level, RqliteClient } from "../../RqliteClient.js"
import type { RqliteError } from "../../RqliteError.js"
import type { Call, SqlDriver, Statement } from "../../SqlDriver.js"
import { StoreRejected } from "../../StoreError.js"
import * as group from "../groupCommit/groupCommit.js"
import { lazy } from "../groupCommit/lazyDriver.js"
import * as readBatcher from "../groupCommit/readBatcher.js"
import { toStoreError } from "./storeError.js"

/**
 * - `level`: that of reads.
 * - `decisive`: the level of reads that a write depends on, which see every acknowledged write.
 * - `cutsAtNull`: whether SQLite cuts texts at U+0000 when it takes them out of JSON, as it did before 3.45.
 * - `groupCommit`: whether writes of the same moment share one request.
 */
export interface Options {
  readonly level: Level
  readonly decisive: Level
  readonly cutsAtNull: boolean
  readonly groupCommit: boolean
}

/** The reads of single rows, which can share a request: nobody has to wait for another one's long answer. */
const small = new Set(["load", "loadForEvent", "isProcessed", "isArmed", "isSpawning", "nextTimer", "loadDefinition"])

/** Health asks for the counts, and is to say at once that there is no answer. */
const never = Schedule.recurs(0)

// As many as a worker commits at once. Beyond that a group makes its members wait longer than it saves; one large entry in the Raft log holds up the small
// ones.
const groupLimits = { maxCommits: 64, maxBytes: 1_000_000 }

const readLimits = { maxReads: 100, maxBytes: 4_000_000, maxRequests: 2 }

const ofRequest: ReadonlyArray<RqliteError["reason"]> = ["invalid-input", "too-large", "request"]

/** Of a whole request that was refused, a part may not be. */
const isSplit = (error: RqliteError): boolean => error._tag === "RqliteRejected" && ofRequest.includes(error.reason)

// A backslash before it would make six characters of it.
const nullInJson = /(?<!\\)(?:\\\\)*\\u0000/

/** Whether a text that the statement takes out of JSON holds U+0000. */
const isCut = ({ params, sql }: Statement): boolean =>
  sql.includes("json_") && params.some((param) => typeof param === "string" && nullInJson.test(param))

const cut = ({ executionId, operation }: Call): StoreRejected =>
  new StoreRejected({
    operation,
    executionId,
    reason: "invalid-input",
    detail: "a text holds U+0000, where SQLite before 3.45 would cut it: this takes rqlite 8.18 or later"
  })

/** A driver on a cluster: a transaction is one request and one entry in the Raft log, reads of the same moment are one request. */
export const make = (client: RqliteClient, options: Options): Effect.Effect<SqlDriver, never, Scope.Scope> =>
  Effect.gen(function* () {
    const readEach = (level: Level) =>
      readBatcher.make<RqliteError>({
        ...readLimits,
        isSplit,
        run: (statements) =>
          Effect.map(client.queryEach(statements, { level }), (results) =>
            results.map((result) => Either.map(result, ({ values }) => values))
          )
      })
    const decide = yield* readEach(options.decisive)
    const read = options.level === options.decisive ? decide : yield* readEach(options.level)

    const page = (statement: Statement, retry?: typeof never) =>
      Effect.map(client.query([statement], { level: options.level, retry }), ([result]) => result?.values ?? [])
    const rowsOf = ({ operation }: Call, statement: Statement) => {
      if (operation === "stats") return page(statement, never)
      if (readBatcher.isPage(operation)) return page(statement)
      return small.has(operation) ? read(statement) : decide(statement)
    }

    const execute: SqlDriver["transaction"] = (call, statements) =>
      client.execute(statements).pipe(
        Effect.mapBoth({
          onFailure: (error) => toStoreError(call, error),
          onSuccess: (results) =>
            results.map(({ lastInsertId, rowsAffected }) => ({
              changes: rowsAffected,
              lastRowid: Number(lastInsertId)
            }))
        })
      )

    const driver: SqlDriver = {
      readsAnyText: true,
      transaction: (call, statements) =>
        options.cutsAtNull && statements.some(isCut) ? Effect.fail(cut(call)) : execute(call, statements),
      query: (call, statement) => Effect.mapError(rowsOf(call, statement), (error) => toStoreError(call, error))
    }
    return options.groupCommit ? yield* group.make(lazy(driver), groupLimits) : driver
  })
