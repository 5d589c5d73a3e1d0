/** A placeholder: `name` is empty for a bare `?`. */
interface Placeholder {
  readonly text: string
  readonly index: number
}

const token =
  /'[^']*'|"[^"]*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*|\d[\w.]*|\?\d*|[:@$][\w$\u0080-\uffff]+|;/g

/** The placeholders of one statement with the numbers that SQLite gives them. */
export const placeholders = (sql: string): ReadonlyArray<Placeholder> => {
  const found: Array<Placeholder> = []
  const known = new Map<string, number>()
  let last = 0
  for (const [text] of sql.matchAll(token)) {
    if (!/^[?:@$]/.test(text)) continue
    const index = known.get(text) ?? (/^\?\d/.test(text) ? Number(text.slice(1)) : last + 1)
    if (text !== "?") known.set(text, index)
    last = Math.max(last, index)
    found.push({ text, index })
  }
  return found
}

/** The statements of a text that holds several. */
export const split = (sql: string): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let start = 0
  for (const match of sql.matchAll(token)) {
    if (match[0] !== ";") continue
    parts.push(sql.slice(start, match.index + 1))
    start = match.index + 1
  }
  const rest = sql.slice(start)
  return rest.trim() === "" ? parts : [...parts, rest]
}
