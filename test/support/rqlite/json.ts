/**
 * JSON as rqlite reads and writes it: numbers stay the text they are until a parameter is made of them, a body may go on after its
 * array, and text is written with Go's escapes.
 */

/** A number as it was written. */
export class Numeral {
  constructor(readonly text: string) {}
}

/** Text made of bytes that are not all UTF-8. */
export class Lossy {
  constructor(readonly text: string) {}
}

/** A value of a row: bytes that are no text are written as base64 or as an array. */
export type Cell = null | boolean | bigint | number | string | Lossy | Uint8Array

export class InvalidJson extends Error {}

const space = /[ \t\n\r]*/y
const numeral = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const literal = /true|false|null/y

/** Reads one token or value after the other from a text. */
export class Reader {
  private at = 0

  constructor(readonly text: string) {}

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at
    const match = pattern.exec(this.text)?.[0]
    if (match !== undefined) this.at += match.length
    return match
  }

  /** The character that comes next, which stays; empty at the end. */
  peek(): string {
    this.match(space)
    return this.text.charAt(this.at)
  }

  skip(character: string): boolean {
    if (this.peek() !== character) return false
    this.at++
    return true
  }

  expect(character: string): void {
    if (!this.skip(character)) throw new InvalidJson()
  }

  /** The items of an array or an object whose opening bracket was read, up to and with the closing one. */
  items(close: string, item: () => void): void {
    if (this.skip(close)) return
    do item()
    while (this.skip(","))
    this.expect(close)
  }

  value(): unknown {
    const next = this.peek()
    if (next === '"') return this.string()
    if (this.skip("[")) {
      const array: Array<unknown> = []
      this.items("]", () => array.push(this.value()))
      return array
    }
    if (this.skip("{")) {
      const object = new Map<string, unknown>()
      this.items("}", () => {
        this.peek()
        const key = this.string()
        this.expect(":")
        object.set(key, this.value())
      })
      return object
    }
    const word = this.match(literal)
    if (word !== undefined) return word === "null" ? null : word === "true"
    const number = this.match(numeral)
    if (number === undefined || number === "") throw new InvalidJson()
    return new Numeral(number)
  }

  private string(): string {
    const start = this.at
    if (this.text[start] !== '"') throw new InvalidJson()
    let end = start
    do {
      end = this.text.indexOf('"', end + 1)
      if (end < 0) throw new InvalidJson()
    } while (/(?:^|[^\\])(?:\\\\)*\\$/.test(this.text.slice(Math.max(start + 1, end - 200), end)))
    this.at = end + 1
    try {
      return String(JSON.parse(this.text.slice(start, end + 1))).toWellFormed()
    } catch {
      throw new InvalidJson()
    }
  }
}

const escapes: Readonly<Record<string, string>> = {
  "<": "\\u003c",
  ">": "\\u003e",
  "&": "\\u0026",
  "\u2028": "\\u2028",
  "\u2029": "\\u2029"
}

export const writeString = (text: string): string =>
  JSON.stringify(text).replace(/[<>&\u2028\u2029]/g, (character) => escapes[character] ?? character)

const writeNumber = (value: number): string => (Object.is(value, -0) ? "-0" : String(value))

export const writeCell = (cell: Cell, blobArray: boolean): string => {
  if (cell === null || typeof cell === "boolean" || typeof cell === "bigint") return String(cell)
  if (typeof cell === "number") return writeNumber(cell)
  if (typeof cell === "string") return writeString(cell)
  if (cell instanceof Lossy) return writeString(cell.text).replaceAll("\ufffd", "\\ufffd")
  return blobArray ? `[${cell.join(",")}]` : `"${Buffer.from(cell).toString("base64")}"`
}
