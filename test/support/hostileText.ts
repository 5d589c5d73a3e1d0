/**
 * A text that forges a line of a log, drives a terminal and turns what is written behind it, with each kind of character that does so: C0,
 * DEL, C1, zero widths, bidi controls, separators of lines and paragraphs, a byte order mark, a language tag.
 */
export const hostile =
  'x\n\r\ttimestamp=2026-01-01T00:00:00Z level=INFO message="all is well" \u0000\u001b[2J\u007f\u0085\u009b31m\u00ad\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202e\u2066\u2069\ufeff\u{e0041}y'

/** {@link hostile} with half of a character, which no id may have. */
export const halved = `${hostile}\ud800`

/** What of a text a log must not have as it is. */
export const unprintable = (text: string): ReadonlyArray<string> =>
  Array.from(text).filter((character) => /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u.test(character))
