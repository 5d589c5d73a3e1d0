/** How large something may be, and the option that says so. */
export interface Limit {
  readonly option: string
  readonly most: number
}

/** How large what a store is given may be: bytes of UTF-8, except for `items`, which are counted. */
export interface Limits {
  readonly id: Limit
  readonly event: Limit
  readonly context: Limit
  readonly result: Limit
  readonly commit: Limit
  readonly items: Limit
}

// What keeps the event loop busy for a tenth of a second or two at most, and what all backends can keep: sqld refuses a value over 5 MB.
const defaults = {
  maxIdBytes: 1024,
  maxEventBytes: 2 ** 20,
  maxContextBytes: 2 ** 22,
  maxResultBytes: 2 ** 20,
  maxCommitBytes: 2 ** 23,
  maxCommitItems: 10_000
}

/** The options, each a whole number of 1 or more. */
export type Options = { readonly [K in keyof typeof defaults]?: number | undefined }

export const make = (options: Options): Limits => {
  const limit = (option: keyof typeof defaults): Limit => ({ option, most: options[option] ?? defaults[option] })
  return {
    id: limit("maxIdBytes"),
    event: limit("maxEventBytes"),
    context: limit("maxContextBytes"),
    result: limit("maxResultBytes"),
    commit: limit("maxCommitBytes"),
    items: limit("maxCommitItems")
  }
}

/** How many attributes an execution has at most: each is a row, and an entry in an index. */
export const mostAttributes = 32

/** Whether a text is longer than this many bytes of UTF-8. It stops reading as soon as that is known. */
export const exceeds = (text: string, maxBytes: number): boolean => {
  if (text.length * 3 <= maxBytes) return false
  let bytes = 0
  for (let i = 0; i < text.length && bytes <= maxBytes; i++) {
    const unit = text.charCodeAt(i)
    // half of a pair is two of its four bytes
    bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3
  }
  return bytes > maxBytes
}

const advice = "keep what is large elsewhere and refer to it, or raise the limit"

/** What is wrong with something over a limit of bytes. */
export const tooLarge = ({ most, option }: Limit): string => `takes more than ${most} bytes (${option}): ${advice}`

/** What is wrong with a list over a limit, or nothing. */
export const tooMany = ({ most, option }: Limit, count: number): string | undefined =>
  count > most
    ? `${count} are more than ${most} (${option}): write them in several commits, or raise the limit`
    : undefined

/** What is wrong with a text of more bytes than a limit allows, or nothing. */
export const size = (limit: Limit, text: unknown): string | undefined =>
  typeof text === "string" && exceeds(text, limit.most) ? tooLarge(limit) : undefined
