import * as Struct from "effect/Struct"
import type { StoredTable } from "../../EncodedStore.js"
import { columns, type Table } from "../schema/columns.js"
import { listed } from "../schema/triggers.js"
import { lines } from "../util/lines.js"
import { exact } from "./expressions.js"
import { childDefinition } from "./outboxStatements.js"

/** A column in a form that all clients read alike: they differ in large integers, infinite numbers and bytes. */
const portable = (column: string): string => lines`
  CASE typeof(${column})
    WHEN 'integer' THEN ${exact(column)}
    WHEN 'real' THEN CASE WHEN abs(${column}) < 9e999 THEN ${column} ELSE CAST(${column} AS TEXT) END
    WHEN 'blob' THEN quote(${column})
    ELSE ${column}
  END`

/** What is wrong between a row `t` and others, in words; NULL where nothing is. */
const between = (p: string, table: StoredTable): { readonly problem: string; readonly join: string } => {
  if (table === "executions") {
    const row = `SELECT 1 FROM ${p}holdfast_listing AS l WHERE l.id = t.id`
    return { problem: `CASE WHEN NOT EXISTS (${row}) THEN 'holdfast_listing: has no row for it' END`, join: "" }
  }
  if (table === "holdfast_attributes") {
    const row = `SELECT 1 FROM ${p}executions AS e WHERE e.id = t.execution_id`
    return { problem: `CASE WHEN NOT EXISTS (${row}) THEN 'execution_id: there is no such execution' END`, join: "" }
  }
  if (table !== "holdfast_listing") return { problem: "NULL", join: "" }
  const { definitionId, parentId, root, status } = listed("e")
  return {
    problem: lines`
      CASE
        WHEN e.id IS NULL THEN 'id: there is no such execution'
        WHEN t.definition_id IS NOT ${definitionId} THEN 'definition_id: is not that of the execution'
        WHEN t.status IS NOT ${status}
          THEN 'status: is not that of the execution'
        WHEN t.parent_id IS NOT ${parentId}
          THEN 'parent_id: is not that of the execution'
        WHEN t.root IS NOT (${root})
          THEN 'root: is not that of the execution'
      END`,
    join: `LEFT JOIN ${p}executions AS e ON e.id = t.id`
  }
}

/**
 * The rows of a table with what their columns hold: the key, the types, what is wrong between them and others, and the columns. `first`
 * and `after` read them in the order of the key, where it is made of texts or is the rowid. What else a key may hold comes from `others`,
 * by its place among them: not every client can bind it, so no page can begin behind it.
 */
const ofTable = (p: string, name: StoredTable, { columns, key }: Table) => {
  const { join, problem } = between(p, name)
  const values = Object.keys(columns).map((column) => `t.${column}`)
  const keys = key.map((column) => `t.${column}`)
  const numbered = key[0] === "rowid"
  const readable = numbered ? "TRUE" : keys.map((key) => `typeof(${key}) = 'text'`).join(" AND ")
  const order = `ORDER BY ${keys.join(", ")}`
  const select = (where: string, order: string): string => lines`
    SELECT ${keys.map(numbered ? exact : portable).join(",\n")},
      ${values.map((value) => `typeof(${value})`).join(" || ' ' || ")},
      ${problem},
      ${values.map(portable).join(",\n")}
    FROM ${p}${name} AS t
    ${join}
    WHERE ${where}
    ${order}
    LIMIT ?`
  return {
    first: select(readable, order),
    after: select(`${readable} AND (${keys.join(", ")}) > (${keys.map(() => "?").join(", ")})`, order),
    others: numbered ? undefined : `${select(`NOT (${readable})`, order)} OFFSET ?`
  }
}

/** What reads all rows of all tables. */
export const makeVerifySql = (p: string) => {
  const texts = new Map(Struct.entries(columns).map(([name, table]) => [name, ofTable(p, name, table)]))
  return (table: StoredTable) => texts.get(table) ?? ofTable(p, table, columns[table])
}

/** How many rows of each table are looked at, from the oldest on: what waits for others does so in front. Contexts take longer to read. */
const most = 10_000
const mostSpawns = 1_000

/** A number of a column, where it is one that is no infinity. */
const number = (column: string): string => `CASE WHEN ${column} BETWEEN -9e15 AND 9e15 THEN ${column} END`

const isOther = (column: string): string =>
  `typeof(${column}) = 'text' AND ${column} NOT IN (SELECT value FROM json_each(?))`

// The events themselves may be large, so only the first of each definition is read.
const events = (p: string): string => lines`
  SELECT 'Outbox', w.id, w.count, (
    SELECT CASE WHEN json_valid(e.event) THEN ${number("json_extract(e.event, '$.emitted_at')")} END
    FROM ${p}outbox AS e
    WHERE e.seq = w.first
  )
  FROM (
    SELECT x.definition_id AS id, count(*) AS count, min(o.seq) AS first
    FROM (SELECT seq, target_id FROM ${p}outbox ORDER BY seq LIMIT ${most}) AS o
    JOIN ${p}executions AS x ON x.id = o.target_id
    WHERE ${isOther("x.definition_id")}
    GROUP BY x.definition_id
    LIMIT 1000
  ) AS w`

// Its own limit keeps SQLite from reading each context where its definition is asked for, three times.
const spawns = (p: string): string => lines`
  SELECT 'Spawn', w.id, w.count, NULL
  FROM (
    SELECT named.id AS id, count(*) AS count
    FROM (
      SELECT ${childDefinition(p)} AS id
      FROM (SELECT parent_id, context FROM ${p}spawns ORDER BY seq LIMIT ${mostSpawns}) AS s
      LIMIT ${mostSpawns}
    ) AS named
    WHERE ${isOther("named.id")}
    GROUP BY named.id
    LIMIT 1000
  ) AS w`

const timers = (p: string): string => lines`
  SELECT 'Timer', w.id, w.count, w.oldest
  FROM (
    SELECT x.definition_id AS id, count(*) AS count, min(t.fire_at) AS oldest
    FROM (
      SELECT execution_id, fire_at
      FROM ${p}timers
      WHERE fire_at > -9e999 AND fire_at <= ?
      ORDER BY fire_at
      LIMIT ${most}
    ) AS t
    JOIN ${p}executions AS x ON x.id = t.execution_id
    WHERE ${isOther("x.definition_id")}
    GROUP BY x.definition_id
    LIMIT 1000
  ) AS w`

const activities = (p: string): string => lines`
  SELECT 'Activity', w.id, w.count, w.oldest
  FROM (
    SELECT a.name AS id, count(*) AS count, min(${number("a.asked_at")}) AS oldest
    FROM (
      SELECT name, asked_at
      FROM ${p}holdfast_activities
      WHERE owner IS NULL
      ORDER BY seq
      LIMIT ${most}
    ) AS a
    WHERE ${isOther("a.name")}
    GROUP BY a.name
    LIMIT 1000
  ) AS w`

const hasMore = (p: string): string => lines`
  SELECT 'More', NULL,
    EXISTS (SELECT 1 FROM ${p}outbox LIMIT 1 OFFSET ${most})
      OR EXISTS (SELECT 1 FROM ${p}spawns LIMIT 1 OFFSET ${mostSpawns})
      OR EXISTS (SELECT 1 FROM ${p}timers WHERE fire_at > -9e999 AND fire_at <= ? LIMIT 1 OFFSET ${most})
      OR EXISTS (SELECT 1 FROM ${p}holdfast_activities WHERE owner IS NULL LIMIT 1 OFFSET ${most}),
    NULL`

/**
 * What waits for definitions and activities that are not among these: how much of each, and since when. Its parameters are the definitions
 * twice, the time, the definitions, the activities, and the time.
 */
export const makeUnservedSql = (p: string): string =>
  [events(p), spawns(p), timers(p), activities(p), hasMore(p)].join("\nUNION ALL\n")
