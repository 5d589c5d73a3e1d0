// Whatever ends a line, moves a cursor, turns the direction of writing or is not seen: controls, formats, separators of lines, half
// surrogates.
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

const short: { readonly [character: string]: string } = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`

const escape = (character: string): string => short[character] ?? character.split("").map(escapeUnit).join("")

/**
 * A text that stays on its line and looks like what it is, in a terminal as in whatever reads logs: what is unprintable is escaped as in a
 * JSON string. Ids, kinds and errors are anybody's texts; no message, log line, annotation or attribute may have them as they are.
 */
export const printable = (text: string): string => text.replace(unprintable, escape)

/** A text in quotes, with what {@link printable} escapes and with its own quotes escaped. */
export const quoted = (text: string): string => printable(JSON.stringify(text))

/** {@link printable} for each text of an object's members. */
export const printableMembers = <A>(members: { readonly [name: string]: A }): { readonly [name: string]: A | string } =>
  Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name, typeof value === "string" ? printable(value) : value])
  )
