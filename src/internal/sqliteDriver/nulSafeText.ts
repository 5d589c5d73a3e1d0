/**
 * Which texts come as bytes, with a mark in front that tells them from what is stored as bytes.
 *
 * - `cut`: those with U+0000, for a library that gives a text no further than that.
 * - `all`: for one that ends the process at a text which is no Unicode.
 */
export type Marked = "cut" | "all"

const conditions: { readonly [Which in Marked]: (name: string) => string } = {
  cut: (name) => `instr(${name}, char(0)) > 0`,
  all: (name) => `typeof(${name}) = 'text'`
}

// The colon is there for the encoding of the database's texts, which shows in where the zeros of these two letters are.
const column = (marked: Marked, name: string): string =>
  `CASE WHEN typeof(${name}) = 'blob' THEN CAST('B:' || ${name} AS BLOB) WHEN ${conditions[marked](name)} THEN CAST('T:' || ${name} AS BLOB) ELSE ${name} END`

/** Whether a statement can be wrapped: it gives rows, and may stand where a query may. */
export const canWrap = (sql: string): boolean => /^\s*(SELECT|WITH|VALUES)\b/i.test(sql)

/** A query of so many columns that gives texts as bytes where the library cannot give them whole. */
export const wrap = (marked: Marked, sql: string, columns: number): string => {
  const names = Array.from({ length: columns }, (_, i) => `c${i}`)
  return `WITH r (${names.join(", ")}) AS (${sql}) SELECT ${names.map((name) => column(marked, name)).join(", ")} FROM r`
}

// A mark of the order of bytes at the beginning of a text belongs to it.
const decoderOf = (encoding: string) => new TextDecoder(encoding, { ignoreBOM: true })

const utf8 = { bytesOfMark: 2, decoder: decoderOf("utf-8") }
const utf16le = { bytesOfMark: 4, decoder: decoderOf("utf-16le") }
const utf16be = { bytesOfMark: 4, decoder: decoderOf("utf-16be") }

/** What the bytes from a wrapped query stand for. */
export const unwrap = (bytes: Uint8Array): string | Uint8Array => {
  const { bytesOfMark, decoder } = bytes[0] === 0 ? utf16be : bytes[1] === 0 ? utf16le : utf8
  const isText = bytes[0] === 0x54 || bytes[1] === 0x54
  return isText ? decoder.decode(bytes.subarray(bytesOfMark)) : bytes.slice(bytesOfMark)
}
