import * as Effect from "effect/Effect"
import type { Encoded } from "../../EncodedStore.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import type { Options, SqlDriver } from "../../SqlDriver.js"
import type { StoreError } from "../../StoreError.js"
import { storeOptions } from "../codec/validate.js"
import { checkPrefix } from "../schema/schema.js"
import { makeSql } from "../sql/statements.js"
import * as databases from "../sqlDatabase/database.js"
import { make as makeStore } from "../store/store.js"
import * as duration from "../util/duration.js"
import { invalidOption } from "../util/invalidOption.js"
import * as commit from "./commit.js"
import * as deadLetters from "./deadLetters.js"
import * as definitions from "./definitions.js"
import * as executions from "./executions.js"
import * as leases from "./leases.js"
import * as ledger from "./ledger.js"
import { openSchema } from "./openSchema.js"
import * as outbox from "./outbox.js"
import * as spawns from "./spawns.js"
import * as stats from "./stats.js"
import * as timers from "./timers.js"
import * as verify from "./verify.js"

const makeEncoded = (database: databases.Database, traceMax: number): Encoded => ({
  exclusive: database.driver.exclusive,
  ...executions.make(database),
  commit: commit.make(database, traceMax),
  ...ledger.make(database),
  ...outbox.make(database),
  ...outbox.makeDelayed(database),
  ...spawns.make(database),
  ...timers.make(database),
  ...deadLetters.make(database),
  ...stats.make(database),
  ...verify.make(database),
  ...leases.make(database),
  ...executions.makeTrace(database, traceMax),
  ...definitions.make(database)
})

/** @internal */
export const make = (driver: SqlDriver, options: Options = {}): Effect.Effect<ExecutionStore, StoreError> =>
  Effect.gen(function* () {
    const prefix = yield* checkPrefix(options.prefix ?? "harel_")
    const traceMax = options.traceMax ?? 200
    const wrong = storeOptions(options)
    if (wrong !== undefined) return yield* invalidOption(wrong.path, wrong.problem)
    const budget = yield* duration.decode(options.resolveTimeout ?? "30 seconds", "resolveTimeout")
    const database = databases.make(driver, makeSql(prefix), budget)
    yield* openSchema(database, prefix, options.createSchema ?? true)
    return makeStore(makeEncoded(database, traceMax), options)
  })
