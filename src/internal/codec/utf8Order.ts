/**
 * The least text above every text that begins with the prefix, in the order of code points, which is the order of UTF-8 bytes; none where
 * there is no such text.
 */
export const prefixEnd = (prefix: string): string | undefined => {
  const points = Array.from(prefix, (character) => character.codePointAt(0) ?? 0)
  for (;;) {
    const last = points.pop()
    if (last === undefined) return undefined
    if (last === 0x10ffff) continue
    // surrogates are no characters
    const next = last === 0xd7ff ? 0xe000 : last + 1
    return String.fromCodePoint(...points, next)
  }
}

/** Orders texts as their UTF-8 bytes do; JavaScript's own order puts U+E000 to U+FFFF above the surrogates of higher planes. */
export const compareUtf8 = (a: string, b: string): number => {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return rank(x) - rank(y)
  }
  return a.length - b.length
}

const rank = (unit: number): number => (unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit)
