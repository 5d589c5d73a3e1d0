import * as Lossless from "lossless-json"
import { maxDigits } from "./number.js"

// A double holds every integer of up to 15 digits, so a text without a longer run of digits needs no lossless parser.
const longDigits = /\d{16}/

const parseNumber = (lexeme: string): number | bigint => {
  const number = Number(lexeme)
  if (Number.isSafeInteger(number) || !/^-?\d+$/.test(lexeme)) return number
  // as Python has it, and before a text of a megabyte becomes one integer
  const digits = lexeme.startsWith("-") ? lexeme.length - 1 : lexeme.length
  if (digits > maxDigits) throw new SyntaxError(`an integer of ${digits} digits, of which Python reads ${maxDigits}`)
  return BigInt(lexeme)
}

/** `JSON.parse`, save that integers which a double cannot hold come as `bigint`. Throws `SyntaxError`. */
export const parse = (text: string): unknown =>
  longDigits.test(text)
    ? Lossless.parse(text, null, { parseNumber, onDuplicateKey: ({ newValue }) => newValue })
    : JSON.parse(text)

/** Where the JSON string that begins at `start` ends; -1 where it does not. */
const endOfString = (text: string, start: number): number => {
  for (let i = start + 1; i < text.length; i++) {
    const character = text[i]
    if (character === '"') return i
    if (character === "\\") i++
  }
  return -1
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
export const parsePython = (text: string): unknown => {
  try {
    return parse(text)
  } catch (error) {
    const repaired = withoutPythonNumbers(text)
    if (repaired === text) throw error
    return parse(repaired)
  }
}
