const column = (name: string): string =>
  `CASE WHEN typeof(${name}) = 'blob' THEN CAST('B' || ${name} AS BLOB) WHEN instr(${name}, char(0)) > 0 THEN CAST('T' || ${name} AS BLOB) ELSE ${name} END`

/** Whether a statement can be wrapped: it gives rows, and may stand where a query may. */
export const canWrap = (sql: string): boolean => /^\s*(SELECT|WITH|VALUES)\b/i.test(sql)

/**
 * A query of so many columns for a library that gives a text no further than its first U+0000: one that has it comes as bytes, with a mark
 * in front that tells it from what is stored as bytes.
 */
export const wrap = (sql: string, columns: number): string => {
  const names = Array.from({ length: columns }, (_, i) => `c${i}`)
  return `WITH r (${names.join(", ")}) AS (${sql}) SELECT ${names.map(column).join(", ")} FROM r`
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true })

/** What the bytes from a wrapped query stand for. */
export const unwrap = (bytes: Uint8Array): string | Uint8Array =>
  bytes[0] === 0x54 ? utf8.decode(bytes.subarray(1)) : bytes.slice(1)
