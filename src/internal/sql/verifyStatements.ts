import * as Struct from "effect/Struct"
import type { StoredTable } from "../../EncodedStore.js"
import { columns, type Table } from "../schema/columns.js"
import { listed } from "../schema/triggers.js"
import { lines } from "../util/lines.js"
import { exact } from "./expressions.js"

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
