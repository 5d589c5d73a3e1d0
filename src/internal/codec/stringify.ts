import * as Either from "effect/Either"
import { exceeds, type Limit, tooLarge } from "../util/limits.js"
import { isPlainNumber, isTooLong, maxDigits, numberText } from "./number.js"

/** How deep a row nests that harel still reads; SQLite's JSON functions stop at 1,000. */
export const mostLevels = 200

/** How deep a row nests whose parts become parts of others: an event that is deferred lies three levels down in an execution's row. */
const usualLevels = 190

/** The part of a value that JSON cannot carry, and why. */
export interface Unserializable {
  readonly path: string
  readonly problem: string
}

/** What a text was made of and parses to, and how many objects and arrays that is. */
export interface Copy {
  readonly value: unknown
  readonly parts: number
}

/**
 * The JSON text of a value, and whether it reads back as the value: a `bigint` that a double can hold comes back as a number. With the copy that it was
 * made of, where that was asked for and the value is plain.
 */
export interface Written {
  readonly text: string
  readonly readsBack: boolean
  readonly copy?: Copy | undefined
}

/** The path of a part: `a.b[2]["not a name"]`. */
export const at = (path: string, key: string | number): string => {
  if (typeof key === "number") return `${path}[${key}]`
  if (!/^[A-Za-z_$][\w$]*$/.test(key)) return `${path}[${JSON.stringify(key)}]`
  return path === "" ? key : `${path}.${key}`
}

const hasToJSON = (value: object): boolean => "toJSON" in value && typeof value.toJSON === "function"

const hasSymbols = (value: object): boolean => Object.getOwnPropertySymbols(value).length > 0

/** How large a text may be, how deep a value may nest, itself included, and whether the text is to be made of a copy, which comes with it. */
export interface Bounds {
  readonly limit?: Limit | undefined
  readonly levels?: number | undefined
  readonly copied?: boolean | undefined
}

/** What a look at a value saw. */
interface Look {
  /** How much the text may still have: each part takes what it has at least, so that nothing looks at a whole that is too large. */
  left: number
  /** Whether there are numbers that {@link write} must write. */
  numbers: boolean
  /** Whether all of it reads back as it is. */
  readsBack: boolean
  /** How many objects and arrays there are. */
  parts: number
}

const take = (look: Look, characters: number): boolean => {
  look.left -= characters
  return look.left >= 0
}

/**
 * Whether JSON carries the value as it is, except for lone surrogates; false also where only a closer look could tell. The whole of an
 * execution goes through this at each commit.
 */
const isPlain = (u: unknown, depth: number, look: Look): boolean => {
  switch (typeof u) {
    case "boolean":
      return take(look, 1)
    case "string":
      return take(look, u.length + 1)
    case "number":
      if (isPlainNumber(u)) return take(look, 1)
      look.numbers = true
      return Number.isFinite(u) && take(look, 1)
    case "bigint":
      look.numbers = true
      if (Number.isSafeInteger(Number(u))) look.readsBack = false
      return !isTooLong(u) && take(look, 1)
    case "object":
      if (!take(look, 1)) return false
      if (u === null) return true
      if (depth === usualLevels) return false
      look.parts++
      return Array.isArray(u) ? isPlainArray(u, depth, look) : isPlainObject(u, depth, look)
    default:
      return false
  }
}

const isPlainArray = (values: ReadonlyArray<unknown>, depth: number, look: Look): boolean => {
  if (Object.getPrototypeOf(values) !== Array.prototype || hasToJSON(values)) return false
  if (Object.keys(values).length !== values.length || hasSymbols(values)) return false
  for (let i = 0; i < values.length; i++) if (!isPlain(values[i], depth + 1, look)) return false
  return true
}

const isRecord = (u: object): u is { readonly [key: string]: unknown } => {
  const prototype: unknown = Object.getPrototypeOf(u)
  return prototype === Object.prototype || prototype === null
}

const isPlainObject = (record: object, depth: number, look: Look): boolean => {
  // `in` takes as long as all the rest
  if (!isRecord(record) || typeof record["toJSON"] === "function" || hasSymbols(record)) return false
  // twice as fast as over a list of the members
  for (const key in record) {
    const member = record[key]
    if (member === undefined) continue
    // the key in its quotes, and a colon
    look.left -= key.length + 3
    if (!isPlain(member, depth + 1, look)) return false
  }
  return true
}

/**
 * What `JSON.parse` would make of the text of a value that is plain, in a quarter of the time. It shares nothing with the value that could change.
 */
export const copyOf = (u: unknown): unknown => {
  if (typeof u !== "object" || u === null) return u
  if (Array.isArray(u)) return u.map(copyOf)
  return isRecord(u) ? copyOfRecord(u) : u
}

const copyOfRecord = (record: { readonly [key: string]: unknown }): object => {
  // Members that are set one by one take three times as long, and make a dictionary of many.
  const copy: { [key: string]: unknown } = { ...record }
  let isFull = true
  for (const key in copy) {
    const member = copy[key]
    if (member === undefined) isFull = false
    else if (typeof member === "object" && member !== null && Object.hasOwn(copy, key)) put(copy, key, copyOf(member))
  }
  return isFull ? copy : Object.fromEntries(Object.entries(copy).filter(([, member]) => member !== undefined))
}

const put = (copy: { [key: string]: unknown }, key: string, value: unknown): void => {
  // An assignment would set the prototype.
  if (key === "__proto__") Object.defineProperty(copy, key, { value })
  else copy[key] = value
}

// So begins what JSON.stringify writes for a lone surrogate; a text that only looks so is found out by the closer look.
const surrogate = "\\ud"

/**
 * The JSON text of a value, or the first part of it that JSON cannot carry. Unlike `JSON.stringify` it changes nothing silently: what
 * would be dropped, coerced or turned into null is refused. A key whose value is `undefined` counts as absent.
 *
 * What would take more bytes than the limit is refused too, before the whole of it is looked at.
 *
 * A double beyond 2^53 is written with an exponent or a fraction, by which readers tell it from an integer, and so is negative zero.
 */
export const stringify = (
  value: unknown,
  path = "",
  { copied = false, levels = usualLevels, limit }: Bounds = {}
): Either.Either<Written, Unserializable> => {
  const most = limit?.most ?? Number.POSITIVE_INFINITY
  const look: Look = { left: most, numbers: false, readsBack: true, parts: 0 }
  if (isPlain(value, usualLevels - levels, look)) {
    const copy = copied && !look.numbers ? { value: copyOf(value), parts: look.parts } : undefined
    const text = look.numbers ? write(value) : JSON.stringify(copy === undefined ? value : copy.value)
    if (!text.includes(surrogate)) return within({ text, readsBack: look.readsBack, copy }, path, limit)
  }
  const examination = new Examination(most, levels)
  const found = examination.of(value)
  if (limit !== undefined && examination.left < 0) return Either.left({ path, problem: tooLarge(limit) })
  return found === undefined
    ? within({ text: write(value), readsBack: examination.readsBack }, path, limit)
    : Either.left({ path: found.keys.reduceRight(at, path), problem: found.problem })
}

const within = (written: Written, path: string, limit: Limit | undefined): Either.Either<Written, Unserializable> =>
  limit !== undefined && exceeds(written.text, limit.most)
    ? Either.left({ path, problem: tooLarge(limit) })
    : Either.right(written)

/** What was found, and the way to it from the leaf up: a path is put together only where there is something to report. */
interface Found {
  readonly keys: Array<string | number>
  readonly problem: string
}

const found = (problem: string): Found => ({ keys: [], problem })

/** A look at every part of a value, which finds the first that is in the way. */
class Examination {
  readonly #ancestors = new Set<object>()
  readonly #levels: number
  readsBack = true

  constructor(
    public left: number,
    levels: number
  ) {
    this.#levels = levels
  }

  of(u: unknown): Found | undefined {
    this.left -= typeof u === "string" ? u.length + 1 : 1
    if (this.left < 0) return found("too large")
    switch (typeof u) {
      case "boolean":
        return undefined
      case "string":
        return u.isWellFormed() ? undefined : found("a string with a lone surrogate is not Unicode")
      case "number":
        return Number.isFinite(u) ? undefined : found(`${u} is not a JSON number`)
      case "bigint":
        if (isTooLong(u)) return found(`an integer of more than ${maxDigits} digits, which Python does not read`)
        if (Number.isSafeInteger(Number(u))) this.readsBack = false
        return undefined
      case "object":
        return u === null ? undefined : this.#parts(u)
      case "undefined":
        return found("JSON cannot carry undefined")
      default:
        return found(`JSON cannot carry a ${typeof u}`)
    }
  }

  #parts(whole: object): Found | undefined {
    if (this.#ancestors.has(whole)) return found("JSON cannot carry a cycle")
    if (this.#ancestors.size === this.#levels) return found(`more than ${this.#levels} levels deep`)
    this.#ancestors.add(whole)
    const problem = Array.isArray(whole) ? this.#array(whole) : this.#object(whole)
    this.#ancestors.delete(whole)
    return problem
  }

  #within(key: string | number, part: unknown): Found | undefined {
    const problem = this.of(part)
    problem?.keys.push(key)
    return problem
  }

  #array(values: ReadonlyArray<unknown>): Found | undefined {
    // the prototype of arrays is one itself, also where it is another realm's
    if (!Array.isArray(Object.getPrototypeOf(values))) {
      return found(`JSON cannot carry ${describe(values)}; convert it to a plain array first`)
    }
    if (hasToJSON(values)) return found("an array with a toJSON method is not plain data; convert it first")
    for (let i = 0; i < values.length; i++) {
      const problem = this.#within(i, values[i])
      if (problem !== undefined) return problem
    }
    const members: ReadonlyArray<readonly [string, unknown]> = Object.entries(values)
    const beside = members.find(([, member], i) => i >= values.length && member !== undefined)
    if (beside !== undefined)
      return { keys: [beside[0]], problem: "JSON carries an array's elements, not its other keys" }
    return hasSymbols(values) ? found("JSON cannot carry a key that is a symbol") : undefined
  }

  #object(record: object): Found | undefined {
    const prototype: unknown = Object.getPrototypeOf(record)
    if (prototype !== null && prototype !== Object.prototype && Object.getPrototypeOf(prototype) !== null) {
      return found(`JSON cannot carry ${describe(record)}; convert it to a plain object first`)
    }
    if (hasToJSON(record)) return found("an object with a toJSON method is not plain data; convert it first")
    if (hasSymbols(record)) return found("JSON cannot carry a key that is a symbol")
    for (const [key, member] of Object.entries(record)) {
      if (member === undefined) continue
      this.left -= key.length + 3
      if (!key.isWellFormed()) return { keys: [key], problem: "a key with a lone surrogate is not Unicode" }
      const problem = this.#within(key, member)
      if (problem !== undefined) return problem
    }
    return undefined
  }
}

/** `JSON.stringify` of what JSON carries, with the digits of a `bigint` and with doubles that read back as such. */
const write = (u: unknown): string => {
  if (typeof u === "number") return numberText(u)
  if (typeof u === "bigint") return String(u)
  if (typeof u !== "object" || u === null) return JSON.stringify(u)
  return Array.isArray(u) ? writeArray(u) : writeObject(u)
}

const writeArray = (values: ReadonlyArray<unknown>): string => {
  let text = ""
  for (let i = 0; i < values.length; i++) text += (i === 0 ? "" : ",") + write(values[i])
  return `[${text}]`
}

const writeObject = (record: object): string => {
  let text = ""
  for (const [key, member] of Object.entries(record)) {
    if (member === undefined) continue
    text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${write(member)}`
  }
  return `{${text}}`
}

const describe = (value: object): string => {
  const name: unknown = value.constructor?.name
  return typeof name === "string" && name !== "" ? `an instance of ${name}` : "this object"
}
