import * as Effect from "effect/Effect"
import { printable } from "../util/printable.js"
import { toText } from "./json.js"
import { Screen } from "./screen.js"

export type Color = "bold" | "dim" | "red" | "green" | "yellow" | "cyan"

const codes: { readonly [color in Color]: number } = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 }

export const paint = (colors: boolean, text: string, color: Color | undefined): string =>
  colors && color !== undefined ? `\u001b[${codes[color]}m${text}\u001b[0m` : text

/** A column of a table: its name, what it shows of a row, and in which colour. */
export interface Column<A> {
  readonly name: string
  readonly show: (row: A) => string
  readonly color?: ((row: A) => Color | undefined) | undefined
}

const gap = "  "
const narrowest = 6

const characters = (text: string): number => Array.from(text).length

const total = (widths: ReadonlyArray<number>): number =>
  widths.reduce((sum, each) => sum + each + gap.length, -gap.length)

/** Takes from the widest columns until all of them fit, or none has more than it needs. The first one says which row it is: it needs more. */
const narrowed = (widths: ReadonlyArray<number>, width: number): ReadonlyArray<number> => {
  const fit = [...widths]
  const least = (i: number): number => (i === 0 ? Math.max(narrowest, Math.floor(width / 3)) : narrowest)
  for (let over = total(fit) - width; over > 0; over--) {
    const widest = Math.max(...fit.filter((each, i) => each > least(i)))
    const at = fit.findIndex((each, i) => each === widest && each > least(i))
    if (at < 0) break
    fit[at] = widest - 1
  }
  return fit
}

/** The widths of the columns that are shown. Where there is no room for all, the last ones are left out. */
const fitted = (widths: ReadonlyArray<number>, width: number): ReadonlyArray<number> => {
  for (let count = widths.length; count > 1; count--) {
    const fit = narrowed(widths.slice(0, count), width)
    if (total(fit) <= width) return fit
  }
  return widths.slice(0, 1).map((each) => Math.min(each, width))
}

const cut = (text: string, width: number): string =>
  characters(text) > width
    ? `${Array.from(text)
        .slice(0, width - 1)
        .join("")}…`
    : text

const pad = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - characters(text)))

interface Style {
  readonly colors: boolean
  /** None where lines may be as long as they are. */
  readonly width: number | undefined
  readonly header: boolean
}

/** The lines of a table. */
export const lines = <A>(
  columns: ReadonlyArray<Column<A>>,
  rows: ReadonlyArray<A>,
  { colors, header, width }: Style
): ReadonlyArray<string> => {
  const names = columns.map(({ name }) => name.toUpperCase())
  const cells = rows.map((row) => columns.map(({ show }) => printable(show(row))))
  const widths = names.map((name, i) => Math.max(characters(name), ...cells.map((row) => characters(row[i] ?? ""))))
  const fit = width === undefined ? widths : fitted(widths, width)
  const line = (texts: ReadonlyArray<string>, color: (i: number) => Color | undefined): string =>
    fit
      .map((room, i) => {
        const shown = cut(texts[i] ?? "", room)
        // Nothing follows the last column.
        return paint(colors, i === fit.length - 1 ? shown : pad(shown, room), color(i))
      })
      .join(gap)
      .trimEnd()
  const body = cells.map((texts, index) =>
    line(texts, (i) => {
      const row = rows[index]
      return row === undefined ? undefined : columns[i]?.color?.(row)
    })
  )
  return header ? [line(names, () => "bold"), ...body] : body
}

/** Prints rows: as JSON a line each, else as a table. */
export const print = <A>(json: boolean, columns: ReadonlyArray<Column<A>>, rows: ReadonlyArray<A>, header = true) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const texts = json ? yield* Effect.forEach(rows, toText) : lines(columns, rows, { ...screen, header })
    for (const text of texts) yield* screen.out(text)
  })

export interface Field {
  readonly name: string
  readonly value: string
  readonly color?: Color | undefined
}

/** Prints one thing: as JSON in a line, else a field a line. A value may have lines of its own. */
export const printOne = (json: boolean, value: unknown, fields: ReadonlyArray<Field>) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    if (json) return yield* screen.out(yield* toText(value))
    const width = Math.max(...fields.map(({ name }) => name.length)) + gap.length
    for (const { color, name, value } of fields) {
      const shown = value.split("\n").map((text) => paint(screen.colors, printable(text), color))
      yield* screen.out(`${paint(screen.colors, pad(name, width), "dim")}${shown.join(`\n${" ".repeat(width)}`)}`)
    }
  })
