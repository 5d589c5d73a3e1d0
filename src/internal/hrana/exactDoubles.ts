import type { Param, Statement } from "../../SqlDriver.js"

/** Powers of two whose product is the given one. None is larger than what a shift in SQL can make. */
const shifts = (exponent: number): ReadonlyArray<number> => {
  const most = 62
  return Array.from({ length: Math.ceil(exponent / most) }, (_, i) => Math.min(most, exponent - i * most))
}

interface Parts {
  readonly sql: string
  readonly params: ReadonlyArray<number>
}

/** A double as a whole number and the powers of two that it is multiplied with or divided by, each step of which is exact. */
const parts = (value: number): Parts => {
  let mantissa = value
  let exponent = 0
  while (!Number.isInteger(mantissa)) {
    mantissa *= 2
    exponent--
  }
  while (!Number.isSafeInteger(mantissa)) {
    mantissa /= 2
    exponent++
  }
  const by = shifts(Math.abs(exponent))
  const operator = exponent < 0 ? "/" : "*"
  return {
    sql: `(CAST(? AS REAL)${by.map(() => ` ${operator} (1 << ?)`).join("")})`,
    params: [mantissa, ...by]
  }
}

const isInexact = (param: Param): param is number =>
  typeof param === "number" && Number.isFinite(param) && !Number.isSafeInteger(param)

/**
 * The same statement without a double among its parameters. sqld reads one decimal in seven one bit off, where a timer's time must be the
 * very double that is stored. The text has no `?` but its placeholders.
 */
export const exact = (statement: Statement): Statement => {
  if (!statement.params.some(isInexact)) return statement
  const [head = "", ...tail] = statement.sql.split("?")
  const params: Array<Param> = []
  let sql = head
  for (const [i, text] of tail.entries()) {
    const param = statement.params[i] ?? null
    const { params: more, sql: placeholder } = isInexact(param) ? parts(param) : { sql: "?", params: [param] }
    params.push(...more)
    sql += placeholder + text
  }
  return { sql, params }
}
