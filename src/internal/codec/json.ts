import * as Lossless from "lossless-json"
import { maxDigits } from "./number.js"
import { at } from "./stringify.js"

/** What a decoder throws; it never leaves this package. */
export class Invalid {
  constructor(
    readonly path: string,
    readonly problem: string
  ) {}
}

/** What `JSON.parse` makes of numbers: whether it would lose digits of an integer, or make an infinity of a number. */
interface Numbers {
  readonly long: boolean
  readonly large: boolean
}

const none: Numbers = { long: false, large: false }

// Hardly any text has these, or a long run of digits, outside of its strings, where ids have them often; and most have them nowhere. A number comes
// behind one of these signs: without them three tokens of commits in ten would look as if they were one.
const exponent = /(?:^|[[,:\s])-?\d+(?:\.\d+)?[eE]\+?\d{3}/

/** So many digits in a row may be more than a double holds. */
const longRun = 16

const isDigit = (code: number): boolean => code >= 48 && code <= 57

/** Whether there are so many digits in a row. One place in as many is enough to look at: five times as fast as a pattern, for each text that is read. */
const hasLongRun = (text: string): boolean => {
  for (let i = longRun - 1; i < text.length; i += longRun) {
    if (!isDigit(text.charCodeAt(i))) continue
    let start = i
    while (isDigit(text.charCodeAt(start - 1))) start--
    let end = i + 1
    while (isDigit(text.charCodeAt(end))) end++
    if (end - start >= longRun) return true
  }
  return false
}
// A double holds every integer of up to 15 digits. What has a fraction or an exponent is a double in any case.
const longInteger = /(?:^|[[,:\s])-?\d{16,}(?![\d.eE])/
// Only such texts can have a number beyond all doubles, which reads as an infinity.
const largeNumber = /[eE]\+?\d{3}|\d{309}/

/** Whether the quotation mark is one within its string, which begins at `start`: an odd number of backslashes is before it. */
const isEscaped = (text: string, start: number, mark: number): boolean => {
  let i = mark - 1
  while (i > start && text[i] === "\\") i--
  return (mark - i) % 2 === 0
}

/** Where the JSON string that begins at `start` ends; -1 where it does not. */
const endOfString = (text: string, start: number): number => {
  let end = text.indexOf('"', start + 1)
  while (end !== -1 && isEscaped(text, start, end)) end = text.indexOf('"', end + 1)
  return end
}

/** The text with nothing in its strings. */
const withoutStrings = (text: string): string => {
  let rest = ""
  let from = 0
  for (let start = text.indexOf('"'); start !== -1; start = text.indexOf('"', from)) {
    rest += text.slice(from, start)
    const end = endOfString(text, start)
    if (end === -1) return rest
    from = end + 1
  }
  return rest + text.slice(from)
}

const numbersOf = (text: string): Numbers => {
  if (!hasLongRun(text) && !exponent.test(text)) return none
  const rest = withoutStrings(text)
  return { long: longInteger.test(rest), large: largeNumber.test(rest) }
}

const parseNumber = (lexeme: string): number | bigint => {
  const number = Number(lexeme)
  if (Number.isSafeInteger(number) || !/^-?\d+$/.test(lexeme)) return number
  // as Python has it, and before a text of a megabyte becomes one integer
  const digits = lexeme.startsWith("-") ? lexeme.length - 1 : lexeme.length
  if (digits > maxDigits) throw new SyntaxError(`an integer of ${digits} digits, of which Python reads ${maxDigits}`)
  return BigInt(lexeme)
}

interface Part {
  readonly value: unknown
  readonly key: string | number
  readonly of: Part | undefined
}

const pathOf = (part: Part, root: string): string =>
  part.of === undefined ? root : at(pathOf(part.of, root), part.key)

/** Throws {@link Invalid} where a number is an infinity, which JSON has no other way to say. What is nested however deep is no matter. */
const demandFinite = (parsed: unknown, path: string): void => {
  const left: Array<Part> = [{ value: parsed, key: "", of: undefined }]
  for (let part = left.pop(); part !== undefined; part = left.pop()) {
    const { value } = part
    if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) {
      throw new Invalid(pathOf(part, path), "a number that is larger than any double")
    }
    if (typeof value !== "object" || value === null) continue
    if (Array.isArray(value)) {
      for (const [key, member] of value.entries()) left.push({ value: member, key, of: part })
    } else {
      for (const [key, member] of Object.entries(value)) left.push({ value: member, key, of: part })
    }
  }
}

/**
 * `JSON.parse`, save that integers which a double cannot hold come as `bigint`. Throws `SyntaxError`. A number that is larger than any double comes as
 * an infinity: for what is not written again.
 */
export const parseRounded = (text: string): unknown => parseWith(text, numbersOf(text))

const parseWith = (text: string, { long }: Numbers): unknown =>
  long ? Lossless.parse(text, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue }) : JSON.parse(text)

/** {@link parseRounded}, which throws {@link Invalid} where a number is larger than any double. `path` is where the text is. */
export const parse = (text: string, path = ""): unknown => {
  const numbers = numbersOf(text)
  const parsed = parseWith(text, numbers)
  if (numbers.large) demandFinite(parsed, path)
  return parsed
}

// Python's json.dumps writes these three; harel itself writes null for them where it can.
const pythonNumbers = ["NaN", "Infinity", "-Infinity"]

/** The text with null for the numbers of Python, in one pass. */
export const withoutPythonNumbers = (text: string): string => {
  let repaired = ""
  let kept = 0
  for (let i = 0; i < text.length; i++) {
    const character = text[i]
    if (character === '"') {
      const end = endOfString(text, i)
      if (end === -1) break
      i = end
    } else if (character === "N" || character === "I" || character === "-") {
      const number = pythonNumbers.find((name) => text.startsWith(name, i))
      if (number === undefined) continue
      repaired += `${text.slice(kept, i)}null`
      kept = i + number.length
      i = kept - 1
    }
  }
  return repaired + text.slice(kept)
}

/** {@link parse} for texts that Python's `json.dumps` wrote: `NaN`, `Infinity` and `-Infinity` are read as null. */
export const parsePython = (text: string, path = ""): unknown => {
  try {
    return parse(text, path)
  } catch (error) {
    const repaired = withoutPythonNumbers(text)
    if (repaired === text) throw error
    return parse(repaired, path)
  }
}
