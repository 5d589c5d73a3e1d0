import { tokenKey } from "../codec/execution.js"
import { lines } from "../util/lines.js"

/**
 * A double of an array, which travels as an integer and a power of two: SQLite 3.45 reads one decimal text in ten thousand one bit off.
 */
export const double = (index: number): string =>
  `CAST(json_extract(value, '$[${index}]') AS REAL) / (1 << json_extract(value, '$[${index + 1}]'))`

/** No row is given a greater number than this, from which a transaction has room up to 2^53. */
export const lastNumber = 9_000_000_000_000_000

/** Up to this many emits are bound as parameters of their own. More are bound as one JSON text, which costs twice as much for few. */
export const fewEmits = 4

/** Rows of two columns, `column1` and `column2`, whose values are parameters of their own. */
export const pairs = (count: number): string => `(VALUES ${Array.from({ length: count }, () => "(?, ?)").join(", ")})`

/** The token of the commit that wrote the row. One of another program need not be JSON: that must not make a lost swap a failing one. */
export const token = (data: string): string =>
  `CASE WHEN json_valid(${data}) THEN json_extract(${data}, '$.${tokenKey}') END`

/**
 * Holds as long as the write's key is not stored. For writes without a guard of their own, which could be applied twice. Its parameter is
 * the key.
 */
export const notAppliedYet = (p: string): string => `NOT EXISTS (SELECT 1 FROM ${p}holdfast_meta WHERE key = ?)`

/** Holds as long as a lease is held by this holder with this number. Its parameters are pool, name, holder and number. */
export const held = (p: string): string =>
  `EXISTS (SELECT 1 FROM ${p}holdfast_leases WHERE pool = ? AND name = ? AND holder = ? AND fence = ?)`

/** A statement by itself, and with the condition that a lease is {@link held}, whose parameters come last. */
export interface Fenceable {
  readonly free: string
  readonly fenced: string
}

/** A statement that ends in a condition. */
export const fenceable = (p: string, sql: string): Fenceable => ({
  free: sql,
  fenced: lines`
    ${sql}
      AND ${held(p)}`
})

/** An integer. One that a double could not hold comes as its digits, which no client rounds. */
export const exact = (column: string): string =>
  `CASE WHEN ${column} BETWEEN -9007199254740991 AND 9007199254740991 THEN ${column} ELSE CAST(${column} AS TEXT) END`

/**
 * The number of a new row in a numbered table: none, for SQLite to give the next one, or a text where they are about to be greater than a
 * double holds. SQLite takes no text there, so that the whole transaction fails.
 */
export const nextNumber = (table: string): string =>
  `(SELECT 'exhausted' FROM sqlite_sequence WHERE name = '${table}' AND seq >= ${lastNumber})`

/** What is recorded of a failure, in `f`. */
export const failure = `${exact("f.attempts")}, f.error, f.failed_at, f.retry_at`

/** Holds where the execution of this id does not follow one of the definitions of a JSON text, which is its parameter. */
export const isServed = (p: string, id: string): string =>
  `NOT EXISTS (SELECT 1 FROM ${p}executions AS x WHERE x.id = ${id} AND x.definition_id IN (SELECT value FROM json_each(?)))`

/**
 * The greatest number of a table behind another, as a row of so many columns of which the fourth from the end says that it is none: a number
 * of attempts that no row has.
 */
export const greatest = (table: string, columns: number): string => lines`
  SELECT ${exact("greatest")}, ${Array.from({ length: columns }, () => "NULL, ").join("")}-1, NULL, NULL, NULL
  FROM (SELECT max(seq) AS greatest FROM ${table} WHERE seq > ?)
  WHERE greatest IS NOT NULL`

/** A column as a text also where it holds none: what a client makes of bytes differs. */
export const asText = (column: string): string =>
  `CASE typeof(${column}) WHEN 'text' THEN ${column} ELSE quote(${column}) END`

/** A column as it is, save for bytes, which become a text. */
export const unlessBytes = (column: string): string =>
  `CASE typeof(${column}) WHEN 'blob' THEN quote(${column}) ELSE ${column} END`
