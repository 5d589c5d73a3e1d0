import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import type { Param, Statement } from "../../RqliteClient.js"
import { RqliteRejected } from "../../RqliteError.js"
import { type Analysis, analysisOf, withText } from "./sqlText.js"

/** What is sent for a list of statements, and what each of them is. */
export interface Encoded {
  readonly body: string
  readonly statements: ReadonlyArray<Analysis>
}

const bytes = (values: Uint8Array): string => `[${values.join(",")}]`

// rqlite makes a blob of every string that looks like a blob literal, whatever white space surrounds it. Such a text is sent in hexadecimal
// digits, which releases before 8.31 take too; those refuse an array of bytes.
const looksLikeBlob = (param: Param | undefined): param is string =>
  typeof param === "string" && /^[\s\u0085]*[xX]'/.test(param)

const least = -(2n ** 63n)
const most = 2n ** 63n - 1n

const encodeParam = (param: Param): Either.Either<string, string> => {
  if (param === null || typeof param === "boolean") return Either.right(String(param))
  if (typeof param === "string") {
    if (!param.isWellFormed()) return Either.left("a string with a lone surrogate is not Unicode")
    return Either.right(JSON.stringify(looksLikeBlob(param) ? Encoding.encodeHex(param) : param))
  }
  if (typeof param === "number") {
    if (!Number.isFinite(param)) return Either.left(`${param} is not a number that SQLite can store`)
    if (Object.is(param, -0)) return Either.right("-0.0")
    // Written out, a large double is rounded to the digits that tell it from its neighbours: as an integer that is another number.
    const isDouble = Number.isInteger(param) && !Number.isSafeInteger(param)
    return Either.right(isDouble ? param.toExponential() : String(param))
  }
  if (typeof param === "bigint") {
    return param < least || param > most
      ? Either.left(`${param} does not fit the 64 bits of an SQLite integer`)
      : Either.right(String(param))
  }
  return param instanceof Uint8Array
    ? Either.right(bytes(param))
    : Either.left("not a string, a number, a bigint, a boolean, bytes or null")
}

/** The JSON of a request, `[[sql, ...params], ...]`, or the first part of it that rqlite would take for something else. */
export const encode = (
  operation: string,
  statements: ReadonlyArray<Statement>
): Either.Either<Encoded, RqliteRejected> => {
  const refuse = (path: string, detail: string) =>
    Either.left(new RqliteRejected({ operation, reason: "invalid-input", path, detail }))
  const analyses: Array<Analysis> = []
  const parts: Array<string> = []
  for (const [i, { params = [], sql }] of statements.entries()) {
    const analysis = analysisOf(sql)
    if (analysis.problem !== undefined) return refuse(`statements[${i}].sql`, analysis.problem)
    if (analysis.count !== params.length) {
      return refuse(`statements[${i}].params`, `${params.length} given, the statement binds ${analysis.count}`)
    }
    const items: Array<string> = [JSON.stringify(withText(analysis, (index) => looksLikeBlob(params[index])))]
    for (const [j, param] of params.entries()) {
      const item = encodeParam(param)
      if (Either.isLeft(item)) return refuse(`statements[${i}].params[${j}]`, item.left)
      items.push(item.right)
    }
    analyses.push(analysis)
    parts.push(`[${items.join(",")}]`)
  }
  return parts.length === 0
    ? refuse("statements", "there are none")
    : Either.right({ body: `[${parts.join(",")}]`, statements: analyses })
}
