// Characters that end a line, move a cursor, change the direction of writing or are invisible: controls, formats, separators of lines,
// lone surrogates.
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu

const short: { readonly [character: string]: string } = { "\n": "\\n", "\r": "\\r", "\t": "\\t" }

const escapeUnit = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`

const escape = (character: string): string => short[character] ?? character.split("").map(escapeUnit).join("")

/**
 * A text whose unprintable characters are escaped as in a JSON string, so that it cannot forge a line of a log or drive a terminal. Ids,
 * kinds and errors may hold any text: no message, log line, annotation or attribute may have them as they are.
 */
export const printable = (text: string): string => text.replace(unprintable, escape)

/** A text in quotes, with what {@link printable} escapes and with its own quotes escaped. */
export const quoted = (text: string): string => printable(JSON.stringify(text))

/** {@link printable} for each text of an object's members. */
export const printableMembers = <A>(members: { readonly [name: string]: A }): { readonly [name: string]: A | string } =>
  Object.fromEntries(
    Object.entries(members).map(([name, value]) => [name, typeof value === "string" ? printable(value) : value])
  )
