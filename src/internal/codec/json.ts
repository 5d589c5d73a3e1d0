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

/** The path of a part: `a.b[2]["not a name"]`. */
export const at = (path: string, key: string | number): string => {
  if (typeof key === "number") return `${path}[${key}]`
  if (!/^[A-Za-z_$][\w$]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`
  return path === "" ? key : `${path}.${key}`
}

/** What was found, and the way to it from the leaf up: a path is put together only where there is something to report. */
interface Found {
  readonly keys: Array<string | number>
  readonly problem: string
}

const hasToJSON = (value: object): boolean => "toJSON" in value && typeof value.toJSON === "function"

/**
 * Whether `JSON.stringify` writes the value as it is, except for lone surrogates; false also where only a closer look could tell. The whole
 * of an execution goes through this at each commit.
 */
const isPlain = (u: unknown, depth: number): boolean => {
  switch (typeof u) {
    case "boolean":
    case "string":
      return true
    case "number":
      return Number.isFinite(u)
    case "object":
      break
    default:
      return false
  }
  if (u === null) return true
  if (depth === maxDepth || hasToJSON(u)) return false
  if (Array.isArray(u)) {
    for (let i = 0; i < u.length; i++) if (!isPlain(u[i], depth + 1)) return false
    return true
  }
  const prototype: unknown = Object.getPrototypeOf(u)
  if ((prototype !== Object.prototype && prototype !== null) || Object.getOwnPropertySymbols(u).length > 0) return false
  const members: ReadonlyArray<unknown> = Object.values(u)
  for (let i = 0; i < members.length; i++) {
    const member = members[i]
    if (member !== undefined && !isPlain(member, depth + 1)) return false
  }
  return true
}

// So begins what JSON.stringify writes for a lone surrogate; a text that only looks so is found out by the closer look.
const surrogate = "\\ud"

/**
 * The JSON text of a value, or the first part of it that JSON cannot carry. Unlike `JSON.stringify` it changes nothing silently: what
 * would be dropped, coerced or turned into null is refused. A key whose value is `undefined` counts as absent, negative zero is zero.
 */
export const stringify = (value: unknown, path = ""): Either.Either<string, Unserializable> => {
  if (isPlain(value, 0)) {
    const text = JSON.stringify(value)
    if (!text.includes(surrogate)) return Either.right(text)
  }
  return examine(value, path)
}

/** {@link stringify} with a look at every part, which finds the first that is in the way. */
const examine = (value: unknown, path: string): Either.Either<string, Unserializable> => {
  const ancestors = new Set<object>()
  let hasBigInt = false
  const found = (problem: string): Found => ({ keys: [], problem })
  const check = (u: unknown): Found | undefined => {
    switch (typeof u) {
      case "boolean":
        return undefined
      case "string":
        return u.isWellFormed() ? undefined : found("a string with a lone surrogate is not Unicode")
      case "number":
        return Number.isFinite(u) ? undefined : found(`${u} is not a JSON number`)
      case "bigint":
        hasBigInt = true
        return undefined
      case "object":
        return u === null ? undefined : checkParts(u)
      case "undefined":
        return found("JSON cannot carry undefined")
      default:
        return found(`JSON cannot carry a ${typeof u}`)
    }
  }
  const checkParts = (whole: object): Found | undefined => {
    if (ancestors.has(whole)) return found("JSON cannot carry a cycle")
    if (ancestors.size === maxDepth) return found(`more than ${maxDepth} levels deep`)
    ancestors.add(whole)
    const problem = Array.isArray(whole) ? checkArray(whole) : checkObject(whole)
    ancestors.delete(whole)
    return problem
  }
  const within = (key: string | number, part: unknown): Found | undefined => {
    const problem = check(part)
    problem?.keys.push(key)
    return problem
  }
  const checkArray = (values: ReadonlyArray<unknown>): Found | undefined => {
    if (hasToJSON(values)) return found("an array with a toJSON method is not plain data; convert it first")
    for (let i = 0; i < values.length; i++) {
      const problem = within(i, values[i])
      if (problem !== undefined) return problem
    }
    return undefined
  }
  const checkObject = (record: object): Found | undefined => {
    const prototype: unknown = Object.getPrototypeOf(record)
    if (prototype !== null && prototype !== Object.prototype && Object.getPrototypeOf(prototype) !== null) {
      return found(`JSON cannot carry ${describe(record)}; convert it to a plain object first`)
    }
    if (hasToJSON(record)) return found("an object with a toJSON method is not plain data; convert it first")
    if (Object.getOwnPropertySymbols(record).length > 0) return found("JSON cannot carry a key that is a symbol")
    for (const [key, member] of Object.entries(record)) {
      if (member === undefined) continue
      if (!key.isWellFormed()) return { keys: [key], problem: "a key with a lone surrogate is not Unicode" }
      const problem = within(key, member)
      if (problem !== undefined) return problem
    }
    return undefined
  }
  const problem = check(value)
  return problem === undefined
    ? Either.right(hasBigInt ? write(value) : JSON.stringify(value))
    : Either.left({ path: problem.keys.reduceRight(at, path), problem: problem.problem })
}

/** `JSON.stringify` of what has been checked, with the digits of a `bigint`. */
const write = (u: unknown): string => {
  if (typeof u === "bigint") return String(u)
  if (typeof u !== "object" || u === null) return JSON.stringify(u)
  if (Array.isArray(u)) return `[${u.map(write).join(",")}]`
  const members = Object.entries(u).filter(([, member]) => member !== undefined)
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${write(member)}`).join(",")}}`
}

const describe = (value: object): string => {
  const name: unknown = value.constructor?.name
  return typeof name === "string" && name !== "" ? `an instance of ${name}` : "this object"
}
