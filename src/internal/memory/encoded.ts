import * as Effect from "effect/Effect"
import type { Encoded } from "../../EncodedStore.js"
import * as activities from "./activities.js"
import { commit } from "./commit.js"
import * as deadLetters from "./deadLetters.js"
import * as definitions from "./definitions.js"
import * as executions from "./executions.js"
import * as inspection from "./inspection.js"
import * as leases from "./leases.js"
import * as ledger from "./ledger.js"
import * as outbox from "./outbox.js"
import * as spawns from "./spawns.js"
import type { Tables } from "./tables.js"
import * as timers from "./timers.js"

/**
 * The semantics of a store on plain tables. Each operation is one synchronous block, hence atomic: no other fiber runs in the middle.
 * It is written from what {@link Encoded} says and shares nothing with the SQL, which is held against it.
 */
export const make = (tables: Tables, traceMax: number): Encoded => ({
  exclusive: true,
  remembers: true,
  ...executions.make(tables),
  ...executions.makeAttributes(tables),
  commit: (encoded) => commit(tables, traceMax, encoded),
  commitEach: (commits) => Effect.forEach(commits, (encoded) => Effect.exit(commit(tables, traceMax, encoded))),
  ...ledger.make(tables),
  ...outbox.make(tables),
  ...outbox.makeDelayed(tables),
  ...spawns.make(tables),
  ...timers.make(tables),
  ...activities.make(tables),
  ...deadLetters.make(tables),
  ...inspection.makeUnserved(tables),
  ...inspection.make(tables),
  ...inspection.makeLook(tables),
  ...leases.make(tables),
  ...executions.makeTrace(tables, traceMax),
  ...definitions.make(tables)
})
