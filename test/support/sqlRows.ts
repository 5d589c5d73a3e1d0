import type * as Subject from "holdfast/testing/Subject"

// Not every client can bind an infinite number; SQLite reads one from a text that no double holds.
const infinite = (value: string | number | null): value is number =>
  typeof value === "number" && !Number.isFinite(value) && !Number.isNaN(value)

/** The INSERT of a row into a table: its text, and what to bind. */
export const insertion = (table: Subject.Table, row: Subject.Row, prefix = "harel_") => {
  const values = Object.values(row)
  const places = values.map((value) => (infinite(value) ? (value > 0 ? "9e999" : "-9e999") : "?"))
  return {
    sql: `INSERT INTO ${prefix}${table} (${Object.keys(row).join(", ")}) VALUES (${places.join(", ")})`,
    params: values.filter((value) => !infinite(value))
  }
}
