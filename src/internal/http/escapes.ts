/** Texts that are written with escapes, as JSON, pages and URLs may write any character of a text, and where in them a text is. */

/** A part of a text, from `start` up to and without `end`. */
export interface Range {
  readonly start: number
  readonly end: number
}

/** An escape: where it is, and where what it stands for is in the plain text. */
interface Block {
  readonly escape: Range
  readonly plain: Range
}

/** What a text stands for, with the escapes that it had. Of none `of` is a view too, whose escapes stand for it. */
interface View {
  readonly plain: string
  readonly blocks: ReadonlyArray<Block>
  readonly of: View | undefined
}

interface Kind {
  readonly pattern: RegExp
  readonly decode: (escape: string) => string
}

const short: { readonly [letter: string]: string } = { b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" }

const named: { readonly [name: string]: string } = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" }

const json: Kind = {
  pattern: /\\(?:u[0-9a-f]{4}|["\\/bfnrt])/gi,
  decode: (escape) => {
    const [, letter = ""] = escape
    return escape.length > 2 ? String.fromCharCode(Number.parseInt(escape.slice(2), 16)) : (short[letter] ?? letter)
  }
}

const html: Kind = {
  pattern: /&(?:#\d{1,7}|#x[0-9a-f]{1,6}|amp|lt|gt|quot|apos);/gi,
  decode: (escape) => {
    const body = escape.slice(1, -1).toLowerCase()
    if (!body.startsWith("#")) return named[body] ?? escape
    const code = body.startsWith("#x") ? Number.parseInt(body.slice(2), 16) : Number(body.slice(1))
    return code > 0x10ffff ? escape : String.fromCodePoint(code)
  }
}

/** What is no UTF-8 stays as it is. */
const url: Kind = {
  pattern: /%[0-7][0-9a-f]|(?:%[89a-f][0-9a-f])+/gi,
  decode: (escape) => {
    try {
      return decodeURIComponent(escape)
    } catch {
      return escape
    }
  }
}

/** A text with its escapes of one kind taken away; none where it has none. */
const decoded = (of: View, { decode, pattern }: Kind): View | undefined => {
  const parts: Array<string> = []
  const blocks: Array<Block> = []
  let end = 0
  let length = 0
  for (const { 0: escape, index } of of.plain.matchAll(pattern)) {
    const before = of.plain.slice(end, index)
    const plain = decode(escape)
    const start = length + before.length
    end = index + escape.length
    length = start + plain.length
    parts.push(before, plain)
    blocks.push({ escape: { start: index, end }, plain: { start, end: length } })
  }
  if (blocks.length === 0) return undefined
  parts.push(of.plain.slice(end))
  return { plain: parts.join(""), blocks, of }
}

/** The last escape that stands for something at or before a place. */
const blockAt = (blocks: ReadonlyArray<Block>, place: number): Block | undefined => {
  let low = 0
  let high = blocks.length
  while (low < high) {
    const middle = (low + high) >>> 1
    const block = blocks[middle]
    if (block !== undefined && block.plain.start <= place) low = middle + 1
    else high = middle
  }
  return blocks[low - 1]
}

/** Where in the text is what is at one place of the plain one: an escape is there as a whole. */
const placeOf = (blocks: ReadonlyArray<Block>, place: number): Range => {
  const block = blockAt(blocks, place)
  if (block === undefined) return { start: place, end: place + 1 }
  if (place < block.plain.end) return block.escape
  const start = block.escape.end + (place - block.plain.end)
  return { start, end: start + 1 }
}

const inText = (view: View, { end, start }: Range): Range => {
  if (view.of === undefined) return { start, end }
  return inText(view.of, { start: placeOf(view.blocks, start).start, end: placeOf(view.blocks, end - 1).end })
}

const occurrences = (view: View, searched: ReadonlyArray<string>): ReadonlyArray<Range> =>
  searched.flatMap((text) => {
    const found: Array<Range> = []
    for (let start = view.plain.indexOf(text); start >= 0; start = view.plain.indexOf(text, start + text.length)) {
      found.push(inText(view, { start, end: start + text.length }))
    }
    return found
  })

// A page in JSON in a text of JSON in an answer in JSON.
const levels = 4

/** Where texts are in another one that writes them with escapes: of JSON, also of texts of JSON within JSON, and in these of pages or URLs. */
export const find = (text: string, searched: ReadonlyArray<string>): ReadonlyArray<Range> => {
  const found: Array<Range> = []
  let view: View | undefined = { plain: text, blocks: [], of: undefined }
  for (let level = 0; view !== undefined && level < levels; level++) {
    for (const seen of [level === 0 ? undefined : view, decoded(view, html), decoded(view, url)]) {
      if (seen !== undefined) found.push(...occurrences(seen, searched))
    }
    view = decoded(view, json)
  }
  return found
}

/** A text with something else in the place of some of its parts, which may lie over each other. */
export const replace = (text: string, ranges: ReadonlyArray<Range>, by: string): string => {
  const parts: Array<string> = []
  let done = 0
  for (const { end, start } of [...ranges].sort((a, b) => a.start - b.start)) {
    if (start >= done) parts.push(text.slice(done, start), by)
    done = Math.max(done, end)
  }
  return parts.join("") + text.slice(done)
}
