import type { Database } from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Execution from "holdfast/Execution"
import * as SqlDriver from "holdfast/SqlDriver"
import * as raw from "./raw.js"

/** How many rows a file gets, by plain SQL. */
export interface Rows {
  readonly executions: number
  /** The statuses of the executions with an even and with an odd number. */
  readonly statuses: readonly [Execution.Status, Execution.Status]
  /** Events, spread over so many targets. */
  readonly outbox?: { readonly rows: number; readonly targets: number }
  /** Timers, of an execution each, due from this time on (epoch seconds), a thousand a second. */
  readonly timers?: { readonly rows: number; readonly from: number }
}

export const orderId = (i: number): string => `order-${String(i).padStart(7, "0")}`

const numbers = "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)"

const executions = `INSERT INTO ${raw.prefix}executions (id, definition_id, data, version) ${numbers} SELECT printf('order-%07d', i), 'order', replace(CASE WHEN i % 2 = 0 THEN ? ELSE ? END, '#id#', printf('order-%07d', i)), 1 FROM n`

const outbox = `INSERT INTO ${raw.prefix}outbox (target_id, event) ${numbers} SELECT printf('order-%07d', i % ?), printf('{"id":"paid-%d","kind":"Paid","created_time":null,"received_time":null,"data":{"amount":39.98,"by":"card"}}', i) FROM n`

const timers = `INSERT INTO ${raw.prefix}timers (execution_id, path, fire_at) ${numbers} SELECT printf('order-%07d', i), 'payment', ? + i / 1000.0 FROM n`

/** Adds events to a file that is open, spread over so many targets. */
export const addEvents = (database: Database, rows: number, targets: number): void => {
  database.prepare(outbox).run(rows, targets)
}

/** Makes a file with so many rows. */
export const file = (filename: string, rows: Rows) =>
  Effect.gen(function* () {
    const ddl = yield* SqlDriver.schema(raw.prefix)
    const database = yield* raw.connect(filename)
    // Nobody else reads it, and where this fails it is thrown away.
    database.pragma("journal_mode = OFF")
    database.pragma("synchronous = OFF")
    for (const statement of ddl) database.exec(statement)
    const data = (status: Execution.Status) =>
      Schema.encode(Execution.ExecutionFromText)({
        ...Execution.make({ id: "#id#", definitionId: "order", status, context: { note: "at the door" } }),
        version: 1
      })
    const [even, odd] = rows.statuses
    database.prepare(executions).run(rows.executions, yield* data(even), yield* data(odd))
    if (rows.outbox !== undefined) addEvents(database, rows.outbox.rows, rows.outbox.targets)
    if (rows.timers !== undefined) database.prepare(timers).run(rows.timers.rows, rows.timers.from)
  }).pipe(Effect.scoped)
