import type * as Subject from "holdfast/testing/Subject"

type Value = Subject.Row[string]

// Not every client can bind an infinite number, or an integer that no double holds; SQLite reads both from its text.
const literal = (value: Value): string | undefined => {
  if (typeof value === "bigint") return String(value)
  return value === Number.POSITIVE_INFINITY ? "9e999" : value === Number.NEGATIVE_INFINITY ? "-9e999" : undefined
}

const isBound = (value: Value): value is string | number | null => literal(value) === undefined

/** The INSERT of a row into a table: its text, and what to bind. */
export const insertion = (table: Subject.Table, row: Subject.Row, prefix = "harel_") => {
  const values = Object.values(row)
  const places = values.map((value) => literal(value) ?? "?")
  return {
    sql: `INSERT INTO ${prefix}${table} (${Object.keys(row).join(", ")}) VALUES (${places.join(", ")})`,
    params: values.filter(isBound)
  }
}
