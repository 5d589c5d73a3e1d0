import { InvalidJson, Numeral, Reader } from "./json.js"

/** A value that is bound, as Go holds it: integers apart from doubles. */
export type Bound = null | bigint | number | string | Uint8Array

export interface Param {
  readonly name: string
  readonly value: Bound
}

export interface Statement {
  readonly sql: string
  readonly params: ReadonlyArray<Param>
}

/** A body that is refused with status 400. */
export class BadRequest extends Error {}

const goType = (value: unknown): string => {
  if (value === null) return "<nil>"
  if (typeof value === "string") return "string"
  if (typeof value === "boolean") return "bool"
  return Array.isArray(value) ? "[]interface {}" : "map[string]interface {}"
}

const int64 = 2n ** 63n
const integer = (text: string): bigint | undefined => {
  if (!/^-?\d+$/.test(text)) return undefined
  const value = BigInt(text)
  return value >= -int64 && value < int64 ? value : undefined
}

const number = ({ text }: Numeral): bigint | number => {
  const whole = integer(text)
  if (whole !== undefined) return whole
  const double = Number(text)
  if (!Number.isFinite(double)) throw new BadRequest(`invalid number ${text}`)
  return double
}

const byte = (item: unknown): number => {
  if (!(item instanceof Numeral)) throw new BadRequest(`unsupported type ${goType(item)}`)
  const value = integer(item.text)
  if (value === undefined || value < 0n || value > 255n) throw new BadRequest(`unsupported type ${item.text}`)
  return Number(value)
}

// Go trims the white space of Unicode, of which JavaScript's \s lacks U+0085.
const blobLiteral = /^[\s\u0085]*[xX]'((?:[0-9a-fA-F]{2})*)'[\s\u0085]*$/

const bound = (value: unknown): Bound => {
  if (value === null) return null
  if (typeof value === "boolean") return value ? 1n : 0n
  if (value instanceof Numeral) return number(value)
  if (Array.isArray(value)) return Uint8Array.from(value.map(byte))
  if (typeof value !== "string") throw new BadRequest(`unsupported type ${goType(value)}`)
  const hex = blobLiteral.exec(value)?.[1]
  return hex === undefined ? value : Uint8Array.from(Buffer.from(hex, "hex"))
}

const params = (item: unknown): ReadonlyArray<Param> =>
  item instanceof Map
    ? Array.from(item, ([name, value]) => ({ name: String(name), value: bound(value) }))
    : [{ name: "", value: bound(item) }]

const statement = (reader: Reader): Statement => {
  if (reader.peek() === '"') return { sql: String(reader.value()), params: [] }
  if (reader.peek() !== "[") {
    reader.value()
    throw new BadRequest("invalid request")
  }
  reader.skip("[")
  const items: Array<unknown> = []
  reader.items("]", () => items.push(reader.value()))
  const [sql, ...rest] = items
  if (typeof sql !== "string") throw new BadRequest("invalid request")
  return { sql, params: rest.flatMap(params) }
}

/** The statements of a body; what comes after the array is not looked at. */
export const parseStatements = (body: string): ReadonlyArray<Statement> => {
  const reader = new Reader(body)
  const statements: Array<Statement> = []
  try {
    if (reader.peek() !== "[") {
      if (reader.peek() !== "{") reader.value()
      throw new BadRequest("invalid request")
    }
    reader.skip("[")
    reader.items("]", () => statements.push(statement(reader)))
  } catch (error) {
    throw error instanceof InvalidJson ? new BadRequest("invalid JSON body") : error
  }
  if (statements.length === 0) throw new BadRequest("no statements")
  return statements
}
