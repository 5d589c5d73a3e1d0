import * as Either from "effect/Either"
import * as Lossless from "lossless-json"

// A double holds every integer of up to 15 digits, so a text without a longer run of digits needs no lossless parser.
const longDigits = /\d{16}/

const parseNumber = (lexeme: string): number | bigint => {
  const number = Number(lexeme)
  return Number.isSafeInteger(number) || !/^-?\d+$/.test(lexeme) ? number : BigInt(lexeme)
}

/** `JSON.parse`, save that integers which a double cannot hold come as `bigint`. Throws `SyntaxError`. */
export const parse = (text: string): unknown =>
  longDigits.test(text)
    ? Lossless.parse(text, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue })
    : JSON.parse(text)

// Python's json.dumps writes these three; harel itself writes null for them where it can.
const pythonNumbers = /"(?:[^"\\]|\\.)*"|-?Infinity|NaN/g

/** {@link parse} for texts that Python's `json.dumps` wrote: `NaN`, `Infinity` and `-Infinity` are read as null. */
export const parsePython = (text: string): unknown => {
  try {
    return parse(text)
  } catch (error) {
    const repaired = text.replace(pythonNumbers, (token) => (token.startsWith('"') ? token : "null"))
    if (repaired === text) throw error
    return parse(repaired)
  }
}

// harel's reader stops at 200 levels, SQLite's JSON functions at 1,000; an execution's context lies two levels down in its row.
const maxDepth = 190

/** The part of a value that JSON cannot carry, and why. */
export interface Unserializable {
  readonly path: string
  readonly problem: string
}

const at = (path: string, key: string): string =>
  /^[A-Za-z_$][\w$]*$/.test(key) ? (path === "" ? key : `${path}.${key}`) : `${path}[${JSON.stringify(key)}]`

/**
 * The JSON text of a value, or the first part of it that JSON cannot carry. Unlike `JSON.stringify` it changes nothing silently: what
 * would be dropped, coerced or turned into null is refused. A key whose value is `undefined` counts as absent.
 */
export const stringify = (value: unknown, path = ""): Either.Either<string, Unserializable> => {
  const ancestors = new Set<object>()
  let hasBigInt = false
  const refuse = (where: string, problem: string): Unserializable => ({ path: where, problem })
  const check = (u: unknown, where: string): Unserializable | undefined => {
    if (u === null || typeof u === "boolean") return undefined
    if (typeof u === "string")
      return u.isWellFormed() ? undefined : refuse(where, "a string with a lone surrogate is not Unicode")
    if (typeof u === "number") return Number.isFinite(u) ? undefined : refuse(where, `${u} is not a JSON number`)
    if (typeof u === "bigint") {
      hasBigInt = true
      return undefined
    }
    if (typeof u !== "object")
      return refuse(where, `JSON cannot carry ${u === undefined ? "undefined" : `a ${typeof u}`}`)
    if (ancestors.has(u)) return refuse(where, "JSON cannot carry a cycle")
    if (ancestors.size === maxDepth) return refuse(where, `more than ${maxDepth} levels deep`)
    ancestors.add(u)
    const problem = Array.isArray(u) ? checkArray(u, where) : checkObject(u, where)
    ancestors.delete(u)
    return problem
  }
  const checkArray = (values: ReadonlyArray<unknown>, where: string): Unserializable | undefined => {
    for (let i = 0; i < values.length; i++) {
      const problem = check(values[i], `${where}[${i}]`)
      if (problem !== undefined) return problem
    }
    return undefined
  }
  const checkObject = (record: object, where: string): Unserializable | undefined => {
    const prototype: unknown = Object.getPrototypeOf(record)
    if (prototype !== null && prototype !== Object.prototype && Object.getPrototypeOf(prototype) !== null) {
      return refuse(where, `JSON cannot carry ${describe(record)}; convert it to a plain object first`)
    }
    if ("toJSON" in record && typeof record.toJSON === "function") {
      return refuse(where, "an object with a toJSON method is not plain data; convert it first")
    }
    for (const [key, member] of Object.entries(record)) {
      if (member === undefined) continue
      if (!key.isWellFormed()) return refuse(at(where, key), "a key with a lone surrogate is not Unicode")
      const problem = check(member, at(where, key))
      if (problem !== undefined) return problem
    }
    return undefined
  }
  const problem = check(value, path)
  if (problem !== undefined) return Either.left(problem)
  const text = hasBigInt ? Lossless.stringify(value) : JSON.stringify(value)
  return text === undefined ? Either.left(refuse(path, "JSON cannot carry undefined")) : Either.right(text)
}

const describe = (value: object): string => {
  const name: unknown = value.constructor?.name
  return typeof name === "string" && name !== "" ? `an instance of ${name}` : "this object"
}
