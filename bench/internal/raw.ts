import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type * as Commit from "holdfast/Commit"
import type * as Event from "holdfast/Event"
import * as SqlDriver from "holdfast/SqlDriver"
import type { StoreRejected } from "holdfast/StoreError"

export type Durability = "full" | "normal"

/** An order as a program without a store would keep it: the row's keys, and the version beside it. */
export interface Order {
  readonly id: string
  readonly version: number
  readonly row: Readonly<Record<string, unknown>>
}

/**
 * The same rows by better-sqlite3 and nothing else: prepared statements, no checks, on the tables and indexes of the store without its
 * triggers. What it writes is encoded anew each time, as it has to be.
 */
export interface Raw {
  readonly transaction: <A>(body: () => A) => A
  readonly commit: (order: Order, id: string, written: Written) => Order
  readonly enqueue: (targetId: string, event: Event.Event) => void
  /** Takes the oldest entry of a target: reads entry, ledger and order, advances the order, marks the event, removes the entry. */
  readonly consume: (targetId: string) => void
}

interface Written {
  readonly emits: ReadonlyArray<Commit.Emit>
  readonly processed: string
  readonly timers: ReadonlyArray<Commit.TimerOp>
  readonly trace: Commit.TraceStep
}

export const prefix = "harel_"

export const newOrder = (id: string, context: unknown): Order => ({
  id,
  version: 0,
  row: {
    id,
    definition_id: "order",
    definition_fqn: null,
    root_path: "",
    status: "RUNNING",
    outcome: null,
    error: null,
    active_path: null,
    history: {},
    context,
    processed_events: 0,
    priority: 0,
    parent_id: null,
    child_id: null,
    deferred: [],
    children: {},
    invoke_seq: {},
    finished_at: null,
    expires_at: null
  }
})

const eventText = (event: Event.Event): string =>
  JSON.stringify({
    id: event.id,
    kind: event.kind,
    created_time: event.createdTime,
    received_time: event.receivedTime,
    data: event.data
  })

const traceText = (trace: Commit.TraceStep): string =>
  JSON.stringify({
    event_kind: trace.eventKind,
    event_data: trace.eventData,
    from_path: trace.fromPath,
    to_path: trace.toPath,
    actions: trace.actions,
    context_out: trace.contextOut,
    timestamp: trace.timestamp
  })

export const connect = (filename: string): Effect.Effect<Sqlite.Database, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => new Sqlite(filename)),
    (database) => Effect.sync(() => database.close())
  )

const isTrigger = (statement: string): boolean => statement.startsWith("CREATE TRIGGER")

export const make = (filename: string, durability: Durability): Effect.Effect<Raw, StoreRejected, Scope.Scope> =>
  Effect.gen(function* () {
    const ddl = yield* SqlDriver.schema(prefix)
    const database = yield* connect(filename)
    database.pragma("journal_mode = WAL")
    database.pragma(`synchronous = ${durability}`)
    for (const statement of ddl) if (!isTrigger(statement)) database.exec(statement)

    const prepare = (sql: string) =>
      database.prepare<Array<unknown>, ReadonlyArray<unknown>>(sql.replaceAll("@", prefix))
    const begin = prepare("BEGIN IMMEDIATE")
    const end = prepare("COMMIT")
    const insert = prepare("INSERT INTO @executions (id, definition_id, data, version) VALUES (?, ?, ?, ?)")
    const update = prepare("UPDATE @executions SET data = ?, version = ? WHERE id = ? AND version = ?")
    const emit = prepare("INSERT INTO @outbox (target_id, event) VALUES (?, ?)")
    const mark = prepare("INSERT OR IGNORE INTO @processed_events (execution_id, event_id) VALUES (?, ?)")
    const arm = prepare(
      "INSERT INTO @timers (execution_id, path, fire_at) VALUES (?, ?, ?) ON CONFLICT (execution_id, path) DO UPDATE SET fire_at = excluded.fire_at"
    )
    const trace = prepare(
      "INSERT INTO @trace (execution_id, idx, entry) VALUES (?, COALESCE((SELECT MAX(idx) FROM @trace WHERE execution_id = ?), -1) + 1, ?)"
    )
    const trim = prepare(
      "DELETE FROM @trace WHERE execution_id = ? AND idx <= (SELECT MAX(idx) FROM @trace WHERE execution_id = ?) - 200"
    )
    const oldest = prepare("SELECT seq, event FROM @outbox WHERE target_id = ? ORDER BY seq LIMIT 1").raw()
    const read = prepare(
      "SELECT data, version, EXISTS (SELECT 1 FROM @processed_events WHERE execution_id = ? AND event_id = ?) FROM @executions WHERE id = ?"
    ).raw()
    const remove = prepare("DELETE FROM @outbox WHERE seq = ?")

    const write = (order: Order): Order => {
      const version = order.version + 1
      const now = Date.now() / 1000
      const row = { ...order.row, version, updated_at: now, ...(order.version === 0 ? { created_at: now } : undefined) }
      const data = JSON.stringify(row)
      if (order.version === 0) insert.run(order.id, "order", data, version)
      else update.run(data, version, order.id, order.version)
      return { id: order.id, version, row }
    }

    return {
      transaction: (body) => {
        begin.run()
        const result = body()
        end.run()
        return result
      },
      commit: (order, id, written) => {
        for (const { event, targetId } of written.emits) emit.run(targetId, eventText(event))
        mark.run(order.id, id)
        for (const timer of written.timers) {
          if (timer._tag === "Schedule") arm.run(order.id, timer.path, timer.fireAt)
        }
        trace.run(order.id, order.id, traceText(written.trace))
        trim.run(order.id, order.id)
        return write(order)
      },
      enqueue: (targetId, event) => {
        emit.run(targetId, eventText(event))
      },
      consume: (targetId) => {
        const [seq, text] = oldest.all(targetId)[0] ?? []
        const event: { readonly id: string } = JSON.parse(String(text))
        const [data, version, processed] = read.all(targetId, event.id, targetId)[0] ?? []
        if (processed !== 0) throw new Error(`event ${event.id} comes for the second time`)
        const row: { readonly processed_events: number } = JSON.parse(String(data))
        mark.run(targetId, event.id)
        remove.run(seq)
        write({ id: targetId, version: Number(version), row: { ...row, processed_events: row.processed_events + 1 } })
      }
    }
  })

/** The version of SQLite that better-sqlite3 has in it. */
export const version: Effect.Effect<string> = Effect.scoped(
  Effect.map(connect(":memory:"), (database) => String(database.prepare("SELECT sqlite_version()").pluck().get()))
)
