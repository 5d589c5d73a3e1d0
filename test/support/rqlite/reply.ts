import type { Result } from "./database.js"
import { writeCell, writeString } from "./json.js"

/** What a node answers, save for the headers that every answer has. */
export interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export const json = (body: string, headers: Readonly<Record<string, string>> = {}): Reply => ({
  status: 200,
  headers: { "Content-Type": "application/json; charset=utf-8", ...headers },
  body
})

/** What Go's `http.Error` answers. */
export const textError = (status: number, text: string): Reply => ({
  status,
  headers: { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" },
  body: `${text}\n`
})

export const text = (status: number, lines: ReadonlyArray<string>): Reply => ({
  status,
  headers: { "Content-Type": "text/plain; charset=utf-8" },
  body: lines.join("\n")
})

export const empty = (status: number, headers: Readonly<Record<string, string>> = {}): Reply => ({
  status,
  headers,
  body: ""
})

/** An error about the whole request, which comes with status 200. */
export const requestError = (error: string): Reply => json(`{"results":[],"error":${writeString(error)}}`)

const list = (items: ReadonlyArray<string>): string => `[${items.join(",")}]`

const writeResult = (result: Result, blobArray: boolean): string => {
  switch (result._tag) {
    case "Done":
      return "{}"
    case "Failed":
      return `{"error":${writeString(result.error)}}`
    case "Counts": {
      const { lastInsertId, rowsAffected } = result
      const id = lastInsertId === 0n ? [] : [`"last_insert_id":${lastInsertId}`]
      const rows = rowsAffected === 0n ? [] : [`"rows_affected":${rowsAffected}`]
      return `{${[...id, ...rows].join(",")}}`
    }
    case "Rows": {
      const rows = result.values.map((row) => list(row.map((cell) => writeCell(cell, blobArray))))
      const values = rows.length === 0 ? "" : `,"values":${list(rows)}`
      return `{"columns":${list(result.columns.map(writeString))},"types":${list(result.types.map(writeString))}${values}}`
    }
  }
}

/** An infinite number among the rows, which JSON has not. */
const infinityOf = (results: ReadonlyArray<Result>): number | undefined => {
  const cells = results.flatMap((result) => (result._tag === "Rows" ? result.values.flat() : []))
  return cells.find((cell): cell is number => typeof cell === "number" && !Number.isFinite(cell))
}

export const results = (results: ReadonlyArray<Result>, servedBy: string, blobArray: boolean): Reply => {
  const headers = { "X-Rqlite-Served-By": servedBy }
  const infinity = infinityOf(results)
  if (infinity === undefined) {
    return json(`{"results":${list(results.map((result) => writeResult(result, blobArray)))}}`, headers)
  }
  const value = infinity > 0 ? "+Inf" : "-Inf"
  const refused = textError(
    500,
    `json: error calling MarshalJSON for type *http.DBResults: json: unsupported value: ${value}`
  )
  return { ...refused, headers: { ...refused.headers, ...headers } }
}
