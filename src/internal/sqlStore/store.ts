import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Encoded, Rows } from "../../EncodedStore.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import type { Options, SqlDriver } from "../../SqlDriver.js"
import type { StoreError } from "../../StoreError.js"
import { decoder, type Fields, refused } from "../options/decode.js"
import { sqlFields } from "../options/store.js"
import { makeSql } from "../sql/statements.js"
import * as databases from "../sqlDatabase/database.js"
import * as transfer from "../sqlTransfer/rows.js"
import { make as makeStore } from "../store/store.js"
import * as activities from "./activities.js"
import * as commit from "./commit.js"
import * as deadLetters from "./deadLetters.js"
import * as definitions from "./definitions.js"
import * as executions from "./executions.js"
import * as inspection from "./inspection.js"
import * as leases from "./leases.js"
import * as ledger from "./ledger.js"
import { openSchema } from "./openSchema.js"
import * as outbox from "./outbox.js"
import * as spawns from "./spawns.js"
import * as timers from "./timers.js"

const makeEncoded = (database: databases.Database, prefix: string, traceMax: number): Encoded => ({
  exclusive: database.driver.exclusive,
  otherWrites: database.driver.otherWrites,
  remembers: true,
  rows: transfer.make(database, prefix),
  ...executions.make(database),
  ...executions.makeAttributes(database),
  ...commit.make(database, traceMax),
  ...ledger.make(database),
  ...outbox.make(database),
  ...outbox.makeDelayed(database),
  ...spawns.make(database),
  ...timers.make(database),
  ...deadLetters.make(database),
  ...activities.make(database),
  ...inspection.makeStats(database),
  ...inspection.makeCounts(database),
  ...inspection.makeWork(database),
  ...inspection.makeUnserved(database),
  ...inspection.makeVerify(database),
  ...leases.make(database),
  ...executions.makeTrace(database, traceMax),
  ...definitions.make(database)
})

const decode = decoder(Schema.Struct(sqlFields satisfies Fields<Options>), refused("open", "SqlDriver"))

/** The backend on a driver, and its options as they were read. */
export const open = (driver: SqlDriver, options: Options = {}) =>
  Effect.gen(function* () {
    const decoded = yield* decode(options)
    const { createSchema = true, prefix = "harel_", resolveTimeout = Duration.seconds(30), traceMax = 200 } = decoded
    const database = databases.make(driver, makeSql(prefix), resolveTimeout)
    yield* openSchema(database, prefix, createSchema)
    return { encoded: makeEncoded(database, prefix, traceMax), options: decoded }
  })

/** The rows of a store on a driver, of whatever version it is: they are only read. */
export const openRows = (driver: SqlDriver, given: string): Effect.Effect<Rows, StoreError> =>
  Effect.gen(function* () {
    const { prefix = given } = yield* decode({ prefix: given })
    const database = databases.make(driver, makeSql(prefix), Duration.zero)
    yield* transfer.checkStore(database, prefix)
    return transfer.make(database, prefix)
  })

/** @internal */
export const make = (driver: SqlDriver, options?: Options): Effect.Effect<ExecutionStore, StoreError> =>
  Effect.map(open(driver, options), ({ encoded, options }) => makeStore(encoded, options))
