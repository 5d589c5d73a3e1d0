import type * as Subject from "holdfast/testing/Subject"

/** The INSERT of a row into a table of the default prefix: its text, and what to bind. */
export const insertion = (table: Subject.Table, row: Subject.Row) => {
  const columns = Object.keys(row)
  return {
    sql: `INSERT INTO harel_${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    params: Object.values(row)
  }
}
