import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ReadRows, Rows, StoredValue, TransferPage, TransferRow, TransferTable } from "../../EncodedStore.js"
import type { SqlDriver, Statement } from "../../SqlDriver.js"
import { StoreCorrupt, type StoreError, StoreRejected, type StoreUnavailable } from "../../StoreError.js"
import { schemaVersion } from "../schema/schema.js"
import type { Database, Row } from "../sqlDatabase/database.js"
import * as repeatableWrite from "../sqlDatabase/repeatableWrite.js"
import { makeStatements, type Statements } from "./statements.js"
import { numbered, tableOf, tables } from "./tables.js"
import * as texts from "./texts.js"

const reading = { operation: "export" }
const writing = { operation: "import" }

const infinity = (value: unknown): "Infinity" | "-Infinity" =>
  String(value).startsWith("-") ? "-Infinity" : "Infinity"

/** What makes a value of a column's type and of what the client gave; undefined of a text that cannot be moved. */
const valuesIn = (form: texts.Form, encoding: texts.Encoding) => (type: string | undefined, value: unknown) => {
  if (type !== "text") return valueOf(type, value)
  return form === "text" ? String(value) : texts.ofBytes(encoding, String(value))
}

/** What a column holds that is no text, from its type and what the client made of it. */
const valueOf = (type: string | undefined, value: unknown): StoredValue => {
  switch (type) {
    case "integer":
      return typeof value === "number" ? value : { integer: String(value) }
    case "real":
      return { real: typeof value === "number" ? value : infinity(value) }
    case "blob":
      return { bytes: String(value).toLowerCase() }
    default:
      return null
  }
}

const sizeOf = (value: StoredValue): number => {
  if (typeof value === "string") return Buffer.byteLength(value)
  return typeof value === "object" && value !== null && "bytes" in value ? value.bytes.length / 2 : 8
}

type RowTable = Exclude<TransferTable, "sequences">

const notUnicode = (table: RowTable, key: ReadonlyArray<StoredValue | undefined>): StoreCorrupt =>
  new StoreCorrupt({
    ...reading,
    table,
    key: key.map((part) => (typeof part === "object" ? JSON.stringify(part) : String(part))).join(" "),
    problem: "a text holds what is no Unicode, and the database is not one of UTF-8"
  })

/** A row, and its position. */
interface Decoded {
  readonly key: ReadonlyArray<StoredValue>
  readonly row: TransferRow
}

/**
 * A row. Undefined where a text may be another than the stored one: a client puts another character where it finds none, and says nothing,
 * or leaves a mark at the beginning out.
 */
const decode = (name: RowTable, form: texts.Form, row: Row): Effect.Effect<Decoded | undefined, StoreCorrupt> => {
  const table = tableOf(name)
  const [keyTypes, types, size, letter, ...values] = row
  const valueIn = valuesIn(form, texts.encodingOf(letter))
  const key = String(keyTypes)
    .split(" ")
    .map((type, i) => valueIn(type, values[i]))
  const names = Object.keys(table.columns)
  const kinds = String(types).split(" ")
  const stored = names.map((_, i) => valueIn(kinds[i], values[key.length + i]))
  const known = [...key, ...stored].filter((value) => value !== undefined)
  if (known.length < key.length + stored.length) return Effect.fail(notUnicode(name, stored.slice(0, 2)))
  const bytes = known.slice(key.length).reduce((sum: number, value) => sum + sizeOf(value), 0)
  if (form === "text" && (known.some(texts.isDoubtful) || bytes !== Number(size))) return Effect.succeed(undefined)
  const columns = Object.fromEntries(names.map((column, i) => [column, stored[i] ?? null]))
  return Effect.succeed({ key: known.slice(0, key.length), row: { table: name, columns } })
}

type Query = SqlDriver["query"]

const none: TransferPage = { rows: [], next: undefined }

const readNumbers = (query: Query, { numbers }: Statements): Effect.Effect<TransferPage, StoreError> =>
  Effect.map(query(reading, { sql: numbers.read, params: [] }), (found) => ({
    rows: found.map(([name, seq]) => ({
      table: "sequences",
      columns: { name: String(name), seq: valueOf("integer", seq) }
    })),
    next: undefined
  }))

/** Reads a page of texts as the client gives them, and again as bytes where one may be another. */
const makeRead = (query: Query, statements: Statements, readsAnyText: boolean): ReadRows => {
  const readAs = (
    form: texts.Form,
    table: RowTable,
    after: Parameters<ReadRows>[1],
    limit: Parameters<ReadRows>[2]
  ): Effect.Effect<ReadonlyArray<Decoded>, StoreError> =>
    Effect.gen(function* () {
      const found = yield* query(reading, statements.read(table, after, limit, form))
      const decoded = yield* Effect.forEach(found, (row) => decode(table, form, row))
      const rows = decoded.filter((row) => row !== undefined)
      return rows.length < decoded.length ? yield* readAs("bytes", table, after, limit) : rows
    })
  return (table, after, limit) =>
    Effect.gen(function* () {
      if (table === "sequences") return yield* readNumbers(query, statements)
      if (after === undefined) {
        const found = yield* query(reading, statements.hasTable(table))
        if (found.length === 0) return none
      }
      const rows = yield* readAs(readsAnyText ? "text" : "bytes", table, after, limit)
      return { rows: rows.map(({ row }) => row), next: rows.at(-1)?.key }
    })
}

/** {@link Rows.write}: the transaction as a whole fails where the mark is another one. */
const makeWrite =
  (database: Database, statements: Statements, mark: Rows["mark"]): Rows["write"] =>
  (page) => {
    const written = repeatableWrite.run(database, writing, [
      statements.expectMark(Option.getOrUndefined(page.expected), page.mark),
      ...cleared(statements, page.clear),
      ...page.rows.flatMap((row) => insertions(statements, row)),
      { sql: statements.setMark, params: [page.mark] }
    ])
    const isOther = (there: Option.Option<string>): boolean =>
      Option.exists(there, (text) => text !== page.mark && !Option.contains(page.expected, text))
    const look = (error: StoreUnavailable | StoreRejected) =>
      error._tag === "StoreRejected" && error.reason === "constraint"
        ? Effect.filterOrFail(mark, isOther, () => error)
        : Effect.fail(error)
    return Effect.matchEffect(written, {
      onSuccess: () => Effect.succeed(true),
      onFailure: (error) => Effect.as(look(error), false)
    })
  }

const insertions = (statements: Statements, { columns, table }: TransferRow): ReadonlyArray<Statement> => {
  if (table !== "sequences") return [statements.insert(table, columns)]
  const { name, seq = null } = columns
  const known = numbered.find((each) => each === name)
  return known === undefined ? [] : statements.numbers.raise(known, seq)
}

const cleared = (statements: Statements, clear: "all" | "numbers" | "nothing"): ReadonlyArray<Statement> => {
  if (clear === "nothing") return []
  return [...(clear === "all" ? statements.clear : []), ...statements.numbers.reset]
}

/** What rows there can be. */
export const described: Pick<Rows, "schema" | "tables" | "anyText"> = {
  anyText: true,
  schema: schemaVersion,
  tables: [
    ...tables.map(([name, { columns }]) => ({ name, columns: Object.keys(columns) })),
    { name: "sequences", columns: ["name", "seq"] }
  ]
}

/** The rows of a store on a database. */
export const make = (database: Database, prefix: string): Rows => {
  const { driver } = database
  const { readsAnyText = false } = driver
  const statements = makeStatements(prefix)
  const mark = Effect.map(driver.query(writing, { sql: statements.mark, params: [] }), ([row]) =>
    typeof row?.[0] === "string" ? Option.some(row[0]) : Option.none()
  )
  return {
    ...described,

    anyText: readsAnyText,

    read: makeRead(driver.query, statements, readsAnyText),

    snapshot: driver.snapshot && Effect.map(driver.snapshot, (query) => makeRead(query, statements, readsAnyText)),

    isEmpty: Effect.map(driver.query(writing, { sql: statements.any, params: [] }), ([row]) => row?.[0] === 0),

    mark,

    write: makeWrite(database, statements, mark)
  }
}

/** That there is a store of this prefix, of harel's alone too, of a version that is known. */
export const checkStore = (database: Database, prefix: string): Effect.Effect<void, StoreError> =>
  Effect.gen(function* () {
    const { hasTable } = makeStatements(prefix)
    const refuse = (path: string, detail: string) =>
      new StoreRejected({ operation: "open", reason: "schema", path, detail })
    const has = (table: string) =>
      Effect.map(database.driver.query(reading, hasTable(table)), (rows) => rows.length > 0)
    if (!(yield* has("executions"))) return yield* refuse("createSchema", "the tables are missing")
    if (!(yield* has("holdfast_meta"))) return
    const [row] = yield* database.driver.query(reading, { sql: database.sql.schemaVersion, params: [] })
    if (Number(row?.[0] ?? 0) > schemaVersion) {
      return yield* refuse(
        "schema_version",
        `the database's schema has version ${String(row?.[0])}, this library knows version ${schemaVersion}`
      )
    }
  })
