import type { StoredValue, TransferTable } from "../../EncodedStore.js"
import type { Param, Statement } from "../../SqlDriver.js"
import type { Table } from "../schema/columns.js"
import { exact } from "../sql/expressions.js"
import { lines } from "../util/lines.js"
import { numbered, tableOf, tables } from "./tables.js"
import type { Form } from "./texts.js"

/** The expression of a value, whose text depends on its type alone, and what is bound to it. */
interface Bound {
  readonly sql: string
  readonly param: Param
}

const infinities = { Infinity: "9e999", "-Infinity": "-9e999" }

/** Clients differ in how they bind a number: its type is said beside it. */
const bind = (value: StoredValue): Bound => {
  if (value === null || typeof value === "string") return { sql: "?", param: value }
  if (typeof value === "number") return { sql: "CAST(? AS INTEGER)", param: value }
  if ("integer" in value) return { sql: "CAST(? AS INTEGER)", param: value.integer }
  if ("bytes" in value) return { sql: "unhex(?)", param: value.bytes }
  if ("text" in value) return { sql: "CAST(unhex(?) AS TEXT)", param: value.text }
  return { sql: "CAST(? AS REAL)", param: typeof value.real === "number" ? value.real : infinities[value.real] }
}

/** A column in a form that all clients read alike, whatever it holds: its type comes beside it. */
const portable = (column: string, form: Form): string => lines`
  CASE typeof(${column})
    WHEN 'integer' THEN ${exact(column)}
    WHEN 'real' THEN CASE WHEN abs(${column}) < 9e999 THEN ${column} ELSE CAST(${column} AS TEXT) END
    WHEN 'blob' THEN hex(${column})
    ELSE ${form === "text" ? column : `hex(CAST(${column} AS BLOB))`}
  END`

/** How many bytes a column takes, as `sizeOf` counts them of what was read. */
const bytes = (column: string): string => lines`
  CASE typeof(${column})
    WHEN 'text' THEN length(CAST(${column} AS BLOB))
    WHEN 'blob' THEN length(${column})
    ELSE 8
  END`

/** The rows behind a position, as many as are asked for and fit: those before which there is room. */
const select = (name: string, { columns, key }: Table, behind: string, form: Form): string => {
  const names = Object.keys(columns)
  const keys = key.join(", ")
  const size = names.map(bytes).join("\n+ ")
  return lines`
    SELECT ${key.map((column) => `typeof(${column})`).join(" || ' ' || ")},
      ${names.map((column) => `typeof(${column})`).join(" || ' ' || ")},
      ${size},
      hex(CAST('a' AS BLOB)),
      ${[...key, ...names].map((column) => portable(column, form)).join(",\n")}
    FROM ${name}
    WHERE ${behind}
    ORDER BY ${keys}
    LIMIT (
      SELECT count(*)
      FROM (
        SELECT sum(size) OVER (ORDER BY ${keys} ROWS UNBOUNDED PRECEDING) - size AS before
        FROM (
          SELECT ${keys},
            ${size} AS size
          FROM ${name}
          WHERE ${behind}
          ORDER BY ${keys}
          LIMIT ?
        )
      )
      WHERE before < ?
    )`
}

const insert = (name: string, names: ReadonlyArray<string>, values: ReadonlyArray<Bound>): string => lines`
  INSERT INTO ${name} (${names.join(", ")})
  VALUES (${values.map(({ sql }) => sql).join(", ")})
  ON CONFLICT DO NOTHING`

/** Texts that are made once for each table and shape of values, so that a connection prepares them once. */
const memoized = () => {
  const texts = new Map<string, string>()
  return (shape: string, make: () => string): string => {
    const known = texts.get(shape)
    if (known !== undefined) return known
    const made = make()
    texts.set(shape, made)
    return made
  }
}

type RowTable = Exclude<TransferTable, "sequences">

const makeNumbers = (p: string) => {
  const names = numbered.map((table) => `'${p}${table}'`).join(", ")
  return {
    read: lines`
      SELECT substr(name, ${p.length + 1}), ${exact("seq")}
      FROM sqlite_sequence
      WHERE name IN (${names})
      ORDER BY name`,
    raise: (table: string, seq: StoredValue): ReadonlyArray<Statement> => {
      const { param, sql } = bind(seq)
      return [
        { sql: `UPDATE sqlite_sequence SET seq = ${sql} WHERE name = '${p}${table}'`, params: [param] },
        {
          sql: lines`
            INSERT INTO sqlite_sequence (name, seq)
            SELECT '${p}${table}', ${sql}
            WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = '${p}${table}')`,
          params: [param]
        }
      ]
    },
    reset: numbered.map(
      (table): Statement => ({
        sql: lines`
          DELETE FROM sqlite_sequence
          WHERE name = '${p}${table}'
            AND NOT EXISTS (SELECT 1 FROM ${p}${table})`,
        params: []
      })
    )
  }
}

/** The statements that move rows, for a prefix of the tables. */
export const makeStatements = (p: string) => {
  const text = memoized()
  return {
    /** Whether a table is there: harel has fewer. */
    hasTable: (table: string): Statement => ({
      sql: "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?",
      params: [`${p}${table}`]
    }),

    read: (
      name: RowTable,
      after: ReadonlyArray<StoredValue> | undefined,
      limit: { readonly rows: number; readonly bytes: number },
      form: Form
    ): Statement => {
      const table = tableOf(name)
      const position = (after ?? []).map(bind)
      const places = position.map(({ sql }) => sql).join(", ")
      const behind = after === undefined ? "TRUE" : `(${table.key.join(", ")}) > (${places})`
      const params = position.map(({ param }) => param)
      return {
        sql: text(`read ${form} ${name} ${places}`, () => select(`${p}${name}`, table, behind, form)),
        params: [...params, ...params, limit.rows, limit.bytes]
      }
    },

    insert: (name: RowTable, columns: { readonly [column: string]: StoredValue }): Statement => {
      const names = Object.keys(tableOf(name).columns)
      const values = names.map((column) => bind(columns[column] ?? null))
      return {
        sql: text(`insert ${name} ${values.map(({ sql }) => sql).join()}`, () => insert(`${p}${name}`, names, values)),
        params: values.map(({ param }) => param)
      }
    },

    numbers: makeNumbers(p),

    clear: tables.map(([name]): Statement => ({ sql: `DELETE FROM ${p}${name}`, params: [] })),

    /** Whether there is a row in any of the tables. */
    any: `SELECT ${tables.map(([name]) => `EXISTS (SELECT 1 FROM ${p}${name})`).join("\nOR ")}`,

    mark: lines`
      SELECT value
      FROM ${p}holdfast_meta
      WHERE key = 'import'`,

    /**
     * Fails, and with it its transaction, where another mark is there than one that is expected or that is set already: a value must not be
     * null.
     */
    expectMark: (expected: string | undefined, mark: string): Statement => ({
      sql: lines`
        INSERT INTO ${p}holdfast_meta (key, value)
        SELECT 'import', NULL
        WHERE ${expected === undefined ? "" : "NOT "}EXISTS (
          SELECT 1
          FROM ${p}holdfast_meta
          WHERE key = 'import'
            AND ${expected === undefined ? "value <> ?" : "value IN (?, ?)"}
        )`,
      params: expected === undefined ? [mark] : [expected, mark]
    }),

    setMark: lines`
      INSERT INTO ${p}holdfast_meta (key, value)
      VALUES ('import', ?)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value`
  }
}

export type Statements = ReturnType<typeof makeStatements>
