import type { Rows, StoredValue, TransferRow, TransferTable } from "../../EncodedStore.js"
import { InvalidExport } from "../../TransferError.js"
import { type Digest, Digester, type Hashing } from "./digest.js"
import * as lines from "./line.js"

/** What a line was, to whoever takes the rows. */
export type Taken = { readonly _tag: "Row"; readonly row: TransferRow } | { readonly _tag: "Header" | "End" | "Whole" }

const isNoUtf8 = (value: StoredValue | undefined): boolean =>
  typeof value === "object" && value !== null && "text" in value

/** The line by line reading of an export, with all its checks. A store's tables say which rows there can be. */
export class Reader {
  private readonly columns: ReadonlyMap<string, { readonly name: TransferTable; readonly columns: ReadonlySet<string> }>
  private readonly all: Digester
  private table: Digester
  private open: string | undefined
  private rows = 0
  private ended = false
  /** How many lines were taken. */
  line = 0
  /** The tables that were read to their end. */
  readonly tables = new Map<string, Digest>()

  constructor(
    private readonly hashing: Hashing,
    private readonly known: Pick<Rows, "schema" | "tables" | "anyText">
  ) {
    this.columns = new Map(known.tables.map(({ columns, name }) => [name, { name, columns: new Set(columns) }]))
    this.all = new Digester(hashing)
    this.table = new Digester(hashing)
  }

  /** The hash of all lines but that of the end. */
  get sha256(): string {
    return this.all.digest.sha256
  }

  /** How many rows each table has. */
  get rowsOfTables(): { readonly [table: string]: number } {
    return Object.fromEntries(Array.from(this.tables, ([name, { rows }]) => [name, rows]))
  }

  /** How many rows there were. */
  get count(): number {
    return this.rows
  }

  private invalid(reason: InvalidExport["reason"], problem: string): InvalidExport {
    return new InvalidExport({ line: this.line, reason, problem })
  }

  take(text: string): Taken | InvalidExport {
    this.line++
    if (this.ended) return this.invalid("line", "the export has ended before")
    const line = lines.decode(text)
    if (this.line === 1) return this.header(text, line)
    if (typeof line === "string") return this.invalid("line", line)
    switch (line._tag) {
      case "Header":
        return this.invalid("line", "another export begins here")
      case "Row":
        return this.row(text, line)
      case "End":
        return line.of === lines.whole ? this.whole(line) : this.end(text, line)
    }
  }

  /** What is wrong with where the text ends, if anything. */
  get missing(): InvalidExport | undefined {
    if (this.ended) return undefined
    return this.line === 0
      ? new InvalidExport({ line: 1, reason: "truncated", problem: "it is empty" })
      : this.invalid("truncated", "the text ends here, and the export does not")
  }

  private header(text: string, line: lines.Line | string): Taken | InvalidExport {
    if (typeof line === "string" || line._tag !== "Header") {
      return this.invalid("line", "this is no export of a store: it does not begin as one")
    }
    if (line.format !== lines.format) {
      return this.invalid("version", `its format is ${String(line.format)}, and this version reads ${lines.format}`)
    }
    if (typeof line.schema !== "number" || line.schema > this.known.schema) {
      return this.invalid(
        "version",
        `its schema has version ${String(line.schema)}, and this version knows ${this.known.schema}: use a later one`
      )
    }
    this.all.add(text)
    return { _tag: "Header" }
  }

  private row(text: string, { columns, table }: lines.Line & { readonly _tag: "Row" }): Taken | InvalidExport {
    const found = this.columns.get(table)
    if (found === undefined) return this.invalid("line", `there is no table ${JSON.stringify(table)}`)
    if (this.tables.has(table)) return this.invalid("line", `the rows of ${table} have ended before`)
    if (this.open !== undefined && this.open !== table) {
      return this.invalid("line", `the rows of ${table} begin before those of ${this.open} have ended`)
    }
    const names = Object.keys(columns)
    const unknown = names.find((name) => !found.columns.has(name))
    if (unknown !== undefined) return this.invalid("line", `${table} has no column ${JSON.stringify(unknown)}`)
    if (names.length < found.columns.size) return this.invalid("line", `a column of ${table} is missing`)
    const unreadable = this.known.anyText ? undefined : names.find((name) => isNoUtf8(columns[name]))
    if (unreadable !== undefined) {
      const text = `the text ${JSON.stringify(unreadable)} of ${table} is no UTF-8`
      return this.invalid("text", `${text}, and this database's client cannot read one that is not`)
    }
    this.open = table
    this.rows++
    this.table.add(text)
    this.all.add(text)
    return { _tag: "Row", row: { table: found.name, columns } }
  }

  private end(text: string, { of, rows, sha256 }: lines.Line & { readonly _tag: "End" }): Taken | InvalidExport {
    if (!this.columns.has(of)) return this.invalid("line", `there is no table ${JSON.stringify(of)}`)
    if (this.tables.has(of) || (this.open !== undefined && this.open !== of)) {
      return this.invalid("line", `the rows of ${of} end where they have not begun`)
    }
    const digest = this.table.digest
    if (rows !== digest.rows) {
      return this.invalid("hash", `${of} was exported with ${rows} rows, and ${digest.rows} are here`)
    }
    if (sha256 !== digest.sha256) return this.invalid("hash", `the rows of ${of} are not those that were exported`)
    this.tables.set(of, digest)
    this.table = new Digester(this.hashing)
    this.open = undefined
    this.all.add(text)
    return { _tag: "End" }
  }

  private whole({ rows, sha256 }: lines.Line & { readonly _tag: "End" }): Taken | InvalidExport {
    if (this.open !== undefined) return this.invalid("line", `the export ends before the rows of ${this.open} do`)
    if (rows !== this.rows || sha256 !== this.sha256) {
      return this.invalid("hash", "the lines before are not those that were exported")
    }
    this.ended = true
    return { _tag: "Whole" }
  }
}
