/** Where a parameter is bound: the text `sql.slice(start, end)` stands for the parameter with this index. */
export interface Placeholder {
  readonly start: number
  readonly end: number
  readonly index: number
}

/** What the client must know of an SQL text. `verb` is the keyword that says what the statement does, in capitals. */
export interface Analysis {
  readonly sql: string
  readonly verb: string
  readonly placeholders: ReadonlyArray<Placeholder>
  readonly count: number
  readonly problem: string | undefined
}

const token =
  /'[^']*'|"[^"]*"|`[^`]*`|\[[^\]]*\]|--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*|\d[\w.]*|\?\d*|[:@$#][\w$\u0080-\uffff]+|[();]/g

const isComment = (text: string): boolean => text.startsWith("--") || text.startsWith("/*")
const isWord = (text: string): boolean => /^[A-Za-z_\u0080-\uffff]/.test(text)

const transactionControl = new Set(["BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE"])
const mainVerbs = new Set(["SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "VALUES"])

// SQLite's own limit of what ?NNN may say.
const maxParams = 32_766

const opensTrigger = ([first, second, third]: ReadonlyArray<string>): boolean =>
  first === "CREATE" && (second === "TRIGGER" || (third === "TRIGGER" && /^TEMP(ORARY)?$/.test(second ?? "")))

const analyze = (sql: string): Analysis => {
  const placeholders: Array<Placeholder> = []
  const head: Array<string> = []
  let verb = ""
  let count = 0
  let depth = 0
  let end = sql.length
  let ended = false
  let afterSemicolon = false
  let inTrigger = false
  let problem: string | undefined
  if (!sql.isWellFormed()) problem = "has a lone surrogate, which is not Unicode"
  for (const match of sql.matchAll(token)) {
    const text = match[0]
    if (isComment(text)) continue
    if (text === ";") {
      afterSemicolon = true
      if (!inTrigger && !ended) {
        ended = true
        end = match.index
      }
      continue
    }
    if (ended) {
      problem ??= "holds more than one statement: send each as a statement of its own"
      break
    }
    const word = isWord(text) ? text.toUpperCase() : ""
    if (head.length < 3 && word !== "") {
      head.push(word)
      inTrigger = opensTrigger(head)
    }
    // Inside a trigger only the END that follows a semicolon closes it; a CASE has one too.
    if (inTrigger && afterSemicolon && word === "END") inTrigger = false
    afterSemicolon = false
    if (text === "(") depth++
    else if (text === ")") depth--
    else if (verb === "" && word !== "") verb = word
    else if (verb === "WITH" && depth === 0 && mainVerbs.has(word)) verb = word
    else if (text.startsWith("?")) {
      const number = text === "?" ? count + 1 : Number(text.slice(1))
      if (number < 1 || number > maxParams) problem ??= `${text} is not a parameter's number (1 to ${maxParams})`
      count = Math.max(count, number)
      placeholders.push({ start: match.index, end: match.index + text.length, index: number - 1 })
    } else if (/^[:@$#]/.test(text)) problem ??= `binds ${text}: parameters are bound by ? or ?1, ?2`
  }
  if (verb === "") problem ??= "holds no statement"
  if (transactionControl.has(verb)) {
    problem ??= `is ${verb}: a request is a transaction of its own, and its statements may not end it`
  }
  // What follows the semicolon would count as one more statement, whose empty result rqlite gives instead.
  return { sql: ended ? sql.slice(0, end) : sql, verb, placeholders, count, problem }
}

// Texts are constant and few, so a bound is enough; a very long one holds literals and will not come again.
const known = new Map<string, Analysis>()
const maxKnown = 500
const maxKnownLength = 20_000

/** Finds what is bound in an SQL text, what kind of statement it is, and why it cannot be sent. */
export const analysisOf = (sql: string): Analysis => {
  const found = known.get(sql)
  if (found !== undefined) return found
  const analysis = analyze(sql)
  if (sql.length > maxKnownLength) return analysis
  if (known.size >= maxKnown) known.clear()
  known.set(sql, analysis)
  return analysis
}

/**
 * The text with the placeholders of the given parameters wrapped, so that hexadecimal digits bound to them are the text that they stand
 * for. The `+` takes away the affinity that the cast would bring: comparisons are those of a bare placeholder.
 */
export const withText = (analysis: Analysis, isText: (index: number) => boolean): string => {
  let text = ""
  let from = 0
  for (const { end, index, start } of analysis.placeholders) {
    if (!isText(index)) continue
    text += `${analysis.sql.slice(from, start)}(+CAST(unhex(${analysis.sql.slice(start, end)}) AS TEXT))`
    from = end
  }
  return text + analysis.sql.slice(from)
}
