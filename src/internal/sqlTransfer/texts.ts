import type { StoredValue } from "../../EncodedStore.js"

/** The form in which texts are read: as the client gives them, or as their bytes. */
export type Form = "text" | "bytes"

/** What a client puts in the place of what is no Unicode. It may also have been there. */
const replacement = "\uFFFD"

/** Whether the client may have given another text than is stored. */
export const isDoubtful = (value: StoredValue): boolean => typeof value === "string" && value.includes(replacement)

/** What the bytes of the letter `a` say of the encoding of all texts of a database. */
const encodings = { "61": "utf-8", "6100": "utf-16le", "0061": "utf-16be" } as const

export type Encoding = (typeof encodings)[keyof typeof encodings]

export const encodingOf = (letter: unknown): Encoding =>
  letter === "6100" || letter === "0061" ? encodings[letter] : "utf-8"

const decoded = (encoding: Encoding, hex: string): string | undefined => {
  try {
    // A mark at the beginning of a text belongs to it.
    return new TextDecoder(encoding, { fatal: true, ignoreBOM: true }).decode(Buffer.from(hex, "hex"))
  } catch {
    return undefined
  }
}

/** The text of these bytes; they themselves where they are no UTF-8, and undefined where they are nothing else either. */
export const ofBytes = (encoding: Encoding, hex: string): StoredValue | undefined => {
  const text = decoded(encoding, hex)
  if (text !== undefined) return text
  return encoding === "utf-8" ? { text: hex.toLowerCase() } : undefined
}
