import type { Database } from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ExecutionStore, ListQuery } from "holdfast/ExecutionStore"
import * as SqliteStore from "holdfast/SqliteStore"
import type { StoreError } from "holdfast/StoreError"
import * as Figure from "./internal/figure.js"
import * as fill from "./internal/fill.js"
import * as measure from "./internal/measure.js"
import * as raw from "./internal/raw.js"
import { databaseFile, type Settings, type Topic } from "./internal/settings.js"

const topic = "Reads, as the tables grow"

interface Table {
  readonly rows: number
  readonly store: ExecutionStore
  readonly filename: string
}

const firstDue = 1_790_000_000

const open = (settings: Settings, rows: number) =>
  Effect.gen(function* () {
    const filename = yield* databaseFile(settings)
    yield* fill.file(filename, {
      executions: rows,
      statuses: ["RUNNING", "DONE"],
      outbox: { rows, targets: rows },
      timers: { rows, from: firstDue }
    })
    return { rows, filename, store: yield* SqliteStore.make({ filename }) }
  })

/** Ids of executions all over the table, the same each time. */
const scattered = (rows: number) => {
  let at = 1
  return (): string => {
    at = (at * 48_271) % 2_147_483_647
    return fill.orderId(at % rows)
  }
}

/** The cursor with which a page begins, reached as a reader does: page after page. */
const cursorOf = (store: ExecutionStore, query: ListQuery, page: number) =>
  Effect.gen(function* () {
    let from: ListQuery = query
    for (let i = 1; i < page; i++) {
      const { nextCursor } = yield* store.listExecutions(from)
      if (Option.isNone(nextCursor)) return yield* Effect.fail(`the table ends before page ${page}`)
      from = { ...query, cursor: nextCursor.value }
    }
    return from
  })

type Read = (table: Table) => () => Effect.Effect<unknown, StoreError>

const running: ListQuery = { definitionId: "order", status: ["RUNNING"] }

/** What is read from a table, whatever its size. */
const forms: Readonly<Record<string, Read>> = {
  load: ({ rows, store }) => {
    const id = scattered(rows)
    return () => store.load(id())
  },
  loadForEvent: ({ rows, store }) => {
    const id = scattered(rows)
    return () => store.loadForEvent(id(), "paid-0")
  },
  "listExecutions, page 1":
    ({ store }) =>
    () =>
      store.listExecutions(),
  "listExecutions by definition and status, page 1":
    ({ store }) =>
    () =>
      store.listExecutions(running),
  "dueTimers, 100 of those due":
    ({ store }) =>
    () =>
      store.dueTimers(firstDue + 1_000_000),
  "pendingOutbox, the first 100":
    ({ store }) =>
    () =>
      store.pendingOutbox()
}

/** The same by better-sqlite3, its texts parsed as JSON and nothing checked. */
const byHand = (database: Database, rows: number): Readonly<Record<string, () => unknown>> => {
  const prepare = (sql: string) =>
    database.prepare<Array<unknown>, ReadonlyArray<unknown>>(sql.replaceAll("@", raw.prefix)).raw()
  const load = prepare("SELECT data, version FROM @executions WHERE id = ?")
  const loadForEvent = prepare(
    "SELECT data, version, EXISTS (SELECT 1 FROM @processed_events WHERE execution_id = ? AND event_id = ?) FROM @executions WHERE id = ?"
  )
  const due = prepare(
    "SELECT execution_id, path, fire_at FROM @timers WHERE fire_at <= ? ORDER BY fire_at, execution_id, path LIMIT 100"
  )
  const pending = prepare("SELECT seq, target_id, event FROM @outbox WHERE seq > ? ORDER BY seq LIMIT 100")
  const parsed = (row: ReadonlyArray<unknown>, column: number): unknown => JSON.parse(String(row[column]))
  const [first, second] = [scattered(rows), scattered(rows)]
  return {
    load: () => load.all(first()).map((row) => parsed(row, 0)),
    loadForEvent: () => {
      const id = second()
      return loadForEvent.all(id, "paid-0", id).map((row) => parsed(row, 0))
    },
    "dueTimers, 100 of those due": () => due.all(firstDue + 1_000_000),
    "pendingOutbox, the first 100": () => pending.all(0).map((row) => parsed(row, 2))
  }
}

const rowsText = (rows: number): string => `${rows.toLocaleString("en-US")} rows`

export const reads: Topic = (settings) =>
  Effect.gen(function* () {
    const [few, some, many] = settings.quick ? [1000, 5000, 20_000] : [1000, 100_000, 1_000_000]
    const small = yield* open(settings, few)
    const middle = yield* open(settings, some)
    const large = yield* open(settings, many)
    // Short rounds and many: a read waits for nothing, so what else runs on the machine shows in few of them.
    const seconds = settings.seconds / 10
    const count = settings.rounds * 4
    const figures: Array<Figure.Figure> = []

    const micros = (read: () => Effect.Effect<unknown, StoreError>, time = seconds) =>
      Effect.map(measure.loop(1, time, read), measure.micros)

    for (const [name, read] of Object.entries(forms)) {
      yield* micros(read(small), settings.warmUp / 2)
      const rounds = yield* measure.rounds(
        count,
        Effect.all({ small: micros(read(small)), middle: micros(read(middle)), large: micros(read(large)) })
      )
      for (const [rows, size] of [
        [some, "middle"],
        [many, "large"]
      ] as const) {
        figures.push(
          Figure.make({
            topic,
            name: `${name}, ${rowsText(rows)}`,
            unit: "us",
            against: rowsText(few),
            rounds: rounds.map((round) => ({ value: round[size], baseline: round.small })),
            target: Figure.atMost(1.3)
          })
        )
      }
    }

    const page = settings.quick ? 100 : 1000
    for (const [name, query] of [
      ["listExecutions", {}],
      ["listExecutions by definition and status", running]
    ] as const) {
      const later = yield* cursorOf(large.store, query, page)
      const rounds = yield* measure.rounds(
        count,
        Effect.all({
          value: micros(() => large.store.listExecutions(later)),
          baseline: micros(() => large.store.listExecutions(query))
        })
      )
      const at = `${name}, page ${page.toLocaleString("en-US")} of ${rowsText(many)}`
      figures.push(Figure.make({ topic, name: at, unit: "us", against: "page 1", rounds, target: Figure.atMost(1.3) }))
    }

    for (const table of [small, large]) {
      const database = yield* raw.connect(table.filename)
      for (const [name, plain] of Object.entries(byHand(database, table.rows))) {
        const read = forms[name]
        if (read === undefined) continue
        const rounds = yield* measure.rounds(
          count,
          Effect.all({
            value: micros(read(table)),
            baseline: Effect.map(
              measure.timedSync(() => measure.repeatFor(seconds, plain)),
              measure.micros
            )
          })
        )
        const at = `${name}, ${rowsText(table.rows)}`
        figures.push(Figure.make({ topic, name: at, unit: "us", against: "better-sqlite3 and JSON.parse", rounds }))
      }
    }
    return figures
  }).pipe(Effect.scoped)
