import type { StoredValue, TransferRow } from "../../EncodedStore.js"

/** The version of the lines' form. */
export const format = 1

/** What a line of an export says. */
export type Line =
  | { readonly _tag: "Header"; readonly format: unknown; readonly schema: unknown }
  | { readonly _tag: "Row"; readonly table: string; readonly columns: TransferRow["columns"] }
  | { readonly _tag: "End"; readonly of: string; readonly rows: number; readonly sha256: string }

/** What ends the whole export, rather than a table. */
export const whole = "export"

export const header = (schema: number): string => JSON.stringify({ holdfast: whole, format, schema })

export const row = ({ columns, table }: TransferRow): string => JSON.stringify({ [table]: columns })

export const end = (of: string, rows: number, sha256: string): string => JSON.stringify({ end: of, rows, sha256 })

const isObject = (u: unknown): u is { readonly [key: string]: unknown } =>
  typeof u === "object" && u !== null && !Array.isArray(u)

const isHex = (u: unknown): u is string => typeof u === "string" && /^([0-9a-f]{2})*$/.test(u)

const isUtf8 = (hex: string): boolean => {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(
      Uint8Array.from(hex.match(/../g) ?? [], (byte) => Number.parseInt(byte, 16))
    )
    return true
  } catch {
    return false
  }
}

const isTagged = (u: { readonly [key: string]: unknown }): boolean => {
  const [entry, another] = Object.entries(u)
  if (entry === undefined || another !== undefined) return false
  const [tag, value] = entry
  switch (tag) {
    case "integer":
      return typeof value === "string" && /^-?\d{1,19}$/.test(value)
    case "real":
      return typeof value === "number" || value === "Infinity" || value === "-Infinity"
    case "bytes":
      return isHex(value)
    case "text":
      return isHex(value) && !isUtf8(value)
    default:
      return false
  }
}

const isValue = (u: unknown): u is StoredValue => {
  if (u === null || typeof u === "string") return true
  return typeof u === "number" ? Number.isSafeInteger(u) : isObject(u) && isTagged(u)
}

const isColumns = (u: { readonly [key: string]: unknown }): u is TransferRow["columns"] =>
  Object.values(u).every(isValue)

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Reads a line, or says what is wrong with it. */
export const decode = (text: string): Line | string => {
  const value = parse(text)
  if (value === undefined) return "it is no JSON"
  if (!isObject(value)) return "it is no JSON object"
  const { end: of, holdfast, rows, sha256 } = value
  if (holdfast === whole) return { _tag: "Header", format: value["format"], schema: value["schema"] }
  if (typeof of === "string") {
    return typeof rows === "number" && typeof sha256 === "string"
      ? { _tag: "End", of, rows, sha256 }
      : "it ends a table without saying how many rows that has, and their hash"
  }
  const [entry, another] = Object.entries(value)
  if (entry === undefined || another !== undefined) return "it is no row of one table"
  const [table, columns] = entry
  if (!isObject(columns)) return `the row of ${table} is no object`
  return isColumns(columns) ? { _tag: "Row", table, columns } : `a column of ${table} holds what no column can`
}
