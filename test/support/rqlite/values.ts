import { type Cell, Lossy } from "./json.js"

const textTypes = ["varchar", "varying character", "nchar", "native character", "nvarchar", "clob"]

const isText = (type: string): boolean =>
  type === "" || type === "text" || type === "json" || textTypes.some((prefix) => type.startsWith(prefix))

const isTime = (type: string): boolean => type === "date" || type === "datetime" || type === "timestamp"

const rfc3339 = (time: Date): string => time.toISOString().replace(/\.?0*Z$/, "Z")

const timeOfText = (text: string): string => {
  const match = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?))?Z?$/.exec(text)
  const time = match === null ? undefined : new Date(`${match[1]}T${match[2] ?? "00:00:00"}Z`)
  return time === undefined || Number.isNaN(time.valueOf()) ? "0001-01-01T00:00:00Z" : rfc3339(time)
}

const timeOfInteger = (value: bigint): string => rfc3339(new Date(Number(value) * (Number(value) > 1e12 ? 1 : 1000)))

const decoder = new TextDecoder()

/** What becomes of a stored value in a column of this declared type. */
export const convert = (value: unknown, type: string): Cell => {
  if (typeof value === "bigint") {
    if (type === "boolean") return value > 0n
    return isTime(type) ? timeOfInteger(value) : value
  }
  if (typeof value === "string") return isTime(type) ? timeOfText(value) : value
  if (typeof value === "number") return value
  if (value instanceof Uint8Array) return isText(type) ? new Lossy(decoder.decode(value)) : value
  return null
}

/** The type that a value gives to a column that has none. */
export const typeOf = (cell: Cell): string => {
  if (cell === null) return ""
  if (typeof cell === "bigint") return "integer"
  if (typeof cell === "number") return "real"
  if (typeof cell === "boolean") return "boolean"
  return cell instanceof Uint8Array ? "blob" : "text"
}
