import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Kind } from "../../DeadLetter.js"
import type { Encoded, EncodedUnserved, Position, StoredRow, StoredTable } from "../../EncodedStore.js"
import { compareUtf8 } from "../codec/utf8Order.js"
import { columns, type Type } from "../schema/columns.js"
import type { Database, Failure, Row } from "../sqlDatabase/database.js"
import * as pages from "../sqlDatabase/pages.js"
import { turn } from "../util/nextTurn.js"
import { failed } from "./rows.js"

const call = { operation: "verify" }

const kinds: { readonly [type in Exclude<Type, "any">]: string } = {
  text: "a text",
  "text?": "a text",
  integer: "an integer below 2^53",
  "integer?": "an integer below 2^53",
  real: "a finite number",
  "real?": "a finite number",
  time: "a number"
}

/** Whether a column holds what it should: numbers come as texts where they are too large or infinite. */
const holds = (type: Type, stored: string, value: unknown): boolean => {
  if (type === "any" || (type === "time" && stored === "real")) return true
  if (type.endsWith("?") && stored === "null") return true
  return type.startsWith(stored) && (stored === "text" || typeof value === "number")
}

/** What is wrong with the first column that does not hold what it should. */
const mistyped = (table: StoredTable, types: ReadonlyArray<string>, values: Row): string | undefined => {
  for (const [i, [column, type]] of Object.entries(columns[table].columns).entries()) {
    const stored = types[i] ?? "null"
    if (type === "any" || holds(type, stored, values[i])) continue
    const found = type.startsWith(stored) ? String(values[i]) : stored === "null" ? "nothing" : `a ${stored}`
    return `${column}: expected ${kinds[type]}, found ${found}`
  }
  return undefined
}

const decode = (table: StoredTable, row: Row): StoredRow => {
  const [types, problem, ...values] = row.slice(columns[table].key.length)
  const names = Object.keys(columns[table].columns)
  return {
    columns: Object.fromEntries(names.map((name, i) => [name, values[i]])),
    problem: mistyped(table, String(types).split(" "), values) ?? (typeof problem === "string" ? problem : undefined)
  }
}

const positionOf = (table: StoredTable, row: Row): Position =>
  row.slice(0, columns[table].key.length).map((part) => (typeof part === "number" ? part : String(part)))

interface Page {
  readonly rows: ReadonlyArray<StoredRow>
  readonly next: Position | undefined
}

/** The rows whose key can be bound, in its order. */
const keyed = (database: Database, table: StoredTable, after: Position | undefined, limit: number) =>
  Effect.gen(function* () {
    const sql = database.sql.verify(table)
    const statement = (row: Row | undefined, limit: number) => {
      const position = row === undefined ? after : positionOf(table, row)
      return position === undefined
        ? { sql: sql.first, params: [limit] }
        : { sql: sql.after, params: [...position, limit] }
    }
    const found = yield* pages.read(database, call, limit, { statement })
    const last = found.at(-1)
    const ends = last === undefined || found.length < limit
    const next = ends ? (sql.others === undefined ? undefined : [0]) : positionOf(table, last)
    return { rows: found.map((row) => decode(table, row)), next }
  })

/** The rows with another key, which are few if there are any: from one that so many come before. */
const others = (database: Database, table: StoredTable, sql: string, begin: number, limit: number) =>
  Effect.map(pages.rows(database, call, sql, limit, begin), (found) => ({
    rows: found.map((row) => decode(table, row)),
    next: found.length < limit ? undefined : [begin + limit]
  }))

/** A position is the key of the last row or, where keys are texts and this is a number, how many of the others come before. */
const verify = (
  database: Database,
  table: StoredTable,
  after: Position | undefined,
  limit: number
): Effect.Effect<Page, Failure> => {
  const sql = database.sql.verify(table).others
  const begin = after?.[0]
  return sql !== undefined && typeof begin === "number"
    ? others(database, table, sql, begin, limit)
    : keyed(database, table, after, limit)
}

/** All rows of all tables, with what their columns hold. */
export const makeVerify = (database: Database): Pick<Encoded, "verify"> => ({
  verify: (table, after, limit) => verify(database, table, after, limit)
})

/** What waits for definitions and activities that are not among these. */
export const makeUnserved = (database: Database): Pick<Encoded, "unserved"> => ({
  unserved: (now, { activities, definitions }) => {
    const ours = JSON.stringify(definitions)
    const params = [ours, ours, now, ours, JSON.stringify(activities), now]
    return Effect.map(
      pages.rows(database, { operation: "unserved" }, database.sql.unserved, ...params),
      (rows): EncodedUnserved => ({
        rows: rows.flatMap(([kind, id, count, oldest]) =>
          isKind(kind) && typeof id === "string" ? [{ kind, id, count: Number(count), oldest }] : []
        ),
        more: rows.some(([kind, , more]) => kind === "More" && Number(more) === 1)
      })
    )
  }
})

const isKind = (u: unknown): u is Kind => u === "Outbox" || u === "Spawn" || u === "Timer" || u === "Activity"

/** How much work there is. */
export const makeStats = (database: Database): Pick<Encoded, "stats"> => ({
  stats: (now) =>
    Effect.map(pages.first(database, { operation: "stats" }, database.sql.stats, now), (row) => {
      const columns = Option.getOrElse(row, (): Row => [])
      const [events, failingEvents, event, spawns, failingSpawns, ...others] = columns
      const [timers, failingTimers, due, earliest, delayed, timeless, dueAt, ...last] = others
      const [activities, failingActivities, running, askedAt, dead, diedAt] = last
      return {
        outbox: { count: Number(events), failing: Number(failingEvents), event },
        spawns: { count: Number(spawns), failing: Number(failingSpawns) },
        timers: { count: Number(timers), failing: Number(failingTimers), due: Number(due), earliest },
        delayed: { count: Number(delayed), corrupt: Number(timeless), dueAt },
        activities: {
          count: Number(activities),
          failing: Number(failingActivities),
          running: Number(running),
          askedAt
        },
        deadLetters: { count: Number(dead), diedAt }
      }
    })
})

/** How many rows are passed over at once: so many take SQLite a few milliseconds, in which nothing else runs in the process. */
const passed = 25_000

/** What a row says of a group of executions. */
const groupOf = ([definitionId, status, count]: Row) => ({ definitionId, status, count: Number(count) })

/** The groups, of which one that two parts share is one. */
const merged = (rows: ReadonlyArray<Row>) => {
  const groups = new Map<string, ReturnType<typeof groupOf>>()
  for (const group of rows.map(groupOf)) {
    const key = JSON.stringify([group.definitionId, group.status])
    const before = groups.get(key)?.count ?? 0
    groups.set(key, { ...group, count: before + group.count })
  }
  return Array.from(groups.values())
}

const placeOf = ([definitionId, status, root, id]: Row): ReadonlyArray<string | number> => [
  String(definitionId),
  String(status),
  Number(root),
  String(id)
]

/** Where a part begins and ends in the same group, all between are of it: as many as were passed over, and the one at its end. */
const within = (from: ReadonlyArray<string | number>, to: ReadonlyArray<string | number>): Row | undefined =>
  from[0] === to[0] && from[1] === to[1] ? [from[0], from[1], passed + 1] : undefined

/** How many executions there are, by definition and status. */
export const makeCounts = (database: Database): Pick<Encoded, "counts"> => ({
  counts: Effect.gen(function* () {
    const call = { operation: "counts" }
    const { end, last, part, unreadable } = database.sql.counts
    const found: Array<Row> = []
    let from: ReadonlyArray<string | number> = ["", "", -1, ""]
    for (;;) {
      const to = Option.map(yield* pages.first(database, call, end, ...from, passed), placeOf)
      if (Option.isNone(to)) {
        found.push(...(yield* pages.rows(database, call, last, ...from)))
        break
      }
      const same = within(from, to.value)
      found.push(...(same === undefined ? yield* pages.rows(database, call, part, ...from, ...to.value) : [same]))
      from = to.value
      yield* turn
    }
    found.push(...(yield* pages.rows(database, call, unreadable)))
    return merged(found).toSorted((one, other) => compareUtf8(String(one.definitionId), String(other.definitionId)))
  })
})

const eventOf = ([seq, targetId, event, ...failure]: Row) => ({ seq, targetId, event, failed: failed(failure) })

const delayedOf = ([seq, dueAt, event]: Row) => ({ seq, dueAt: Number(dueAt), event })

const timerOf =
  (executionId: string) =>
  ([path, fireAt, ...failure]: Row) => ({
    executionId,
    path: String(path),
    fireAt: Number(fireAt),
    failed: failed(failure)
  })

const spawnOf = ([seq, parentId, childId, rootPath, context, ...failure]: Row) => ({
  seq,
  parentId,
  childId,
  rootPath,
  context,
  failed: failed(failure)
})

/** The number of a row, of which the digits come where a double does not hold it. */
const numberOf = ([number]: Row): string | number => (typeof number === "number" ? number : String(number))

const earlier = (one: number, other: number): number => (one < other ? -1 : one > other ? 1 : 0)

/** What is to be done for one execution, by the indexes of whom it is for. */
export const makeWork = (database: Database): Pick<Encoded, "workOf"> => ({
  workOf: (executionId, limit, after) => {
    // The path of a timer may be an empty text, behind which a page can begin.
    const start = after ?? { events: 0, delayed: 0, timers: null, spawns: 0 }
    const { delayed, outbox, spawns, timers } = database.sql
    const call = { operation: "workOf", executionId }
    /** So many rows of a kind behind a key, and the key behind which there are more. */
    const read = <K extends string | number, A>(
      page: pages.Page | undefined,
      keyOf: (row: Row) => K,
      of: (row: Row) => A
    ): Effect.Effect<{ readonly rows: ReadonlyArray<A>; readonly next: K | undefined }, Failure> => {
      if (page === undefined) return Effect.succeed({ rows: [], next: undefined })
      return Effect.map(pages.read(database, call, limit + 1, page), (found) => {
        const rows = found.slice(0, limit)
        const last = found.length > limit ? rows.at(-1) : undefined
        return { rows: rows.map(of), next: last && keyOf(last) }
      })
    }
    const numbered = <A>(sql: string, from: string | number | undefined, of: (row: Row) => A) =>
      read(from === undefined ? undefined : pages.numbered(sql, from, executionId), numberOf, of)
    const armed = (from: string | null): pages.Page => ({
      statement: (row, limit) => ({
        sql: row === undefined && from === null ? timers.of : timers.ofAfter,
        params: [executionId, row === undefined ? (from ?? "") : String(row[0]), limit]
      })
    })
    const { timers: path } = start
    const found = Effect.all(
      {
        events: numbered(outbox.of, start.events, eventOf),
        delayed: numbered(delayed.of, start.delayed, delayedOf),
        timers: read(path === undefined ? undefined : armed(path), ([path]) => String(path), timerOf(executionId)),
        spawns: numbered(spawns.of, start.spawns, spawnOf)
      },
      { concurrency: "unbounded" }
    )
    return Effect.map(found, ({ delayed, events, spawns, timers }) => {
      const next = { events: events.next, delayed: delayed.next, timers: timers.next, spawns: spawns.next }
      return {
        events: events.rows,
        delayed: delayed.rows.toSorted((one, other) => earlier(one.dueAt, other.dueAt)),
        timers: timers.rows.toSorted((one, other) => earlier(one.fireAt, other.fireAt)),
        spawns: spawns.rows,
        next: Object.values(next).every((key) => key === undefined) ? undefined : next
      }
    })
  }
})
