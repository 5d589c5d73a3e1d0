import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ReadRows, Rows, StoredValue, TransferPage, TransferRow, TransferTable } from "../../EncodedStore.js"
import type { SqlDriver, Statement } from "../../SqlDriver.js"
import { StoreCorrupt, type StoreError, StoreRejected } from "../../StoreError.js"
import { schemaVersion } from "../schema/schema.js"
import type { Database, Row } from "../sqlDatabase/database.js"
import * as repeatableWrite from "../sqlDatabase/repeatableWrite.js"
import { makeStatements, type Statements } from "./statements.js"
import { numbered, tableOf, tables } from "./tables.js"

const reading = { operation: "export" }
const writing = { operation: "import" }

const infinity = (value: unknown): "Infinity" | "-Infinity" =>
  String(value).startsWith("-") ? "-Infinity" : "Infinity"

/** What a column holds, from its type and what the client made of it. */
const valueOf = (type: string | undefined, value: unknown): StoredValue => {
  switch (type) {
    case "integer":
      return typeof value === "number" ? value : { integer: String(value) }
    case "real":
      return { real: typeof value === "number" ? value : infinity(value) }
    case "blob":
      return { bytes: String(value).toLowerCase() }
    case "text":
      return String(value)
    default:
      return null
  }
}

const sizeOf = (value: StoredValue): number => {
  if (typeof value === "string") return Buffer.byteLength(value)
  return typeof value === "object" && value !== null && "bytes" in value ? value.bytes.length / 2 : 8
}

const notUnicode = (table: string, key: ReadonlyArray<StoredValue>): StoreCorrupt =>
  new StoreCorrupt({
    ...reading,
    table,
    key: key.map((part) => (typeof part === "object" ? JSON.stringify(part) : String(part))).join(" "),
    problem: "a text holds bytes that are no UTF-8"
  })

/** A row, and its position. */
const decode = (name: Exclude<TransferTable, "sequences">, row: Row) => {
  const table = tableOf(name)
  const [keyTypes, types, size, ...values] = row
  const key = String(keyTypes)
    .split(" ")
    .map((type, i) => valueOf(type, values[i]))
  const names = Object.keys(table.columns)
  const kinds = String(types).split(" ")
  const stored = names.map((_, i) => valueOf(kinds[i], values[key.length + i]))
  // A client puts another character where it finds none, and says nothing.
  if (stored.reduce((sum: number, value) => sum + sizeOf(value), 0) !== Number(size)) {
    return Effect.fail(notUnicode(name, stored.slice(0, 2)))
  }
  const columns = Object.fromEntries(names.map((column, i) => [column, stored[i] ?? null]))
  return Effect.succeed({ key, row: { table: name, columns } })
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

const makeRead =
  (query: Query, statements: Statements): ReadRows =>
  (table, after, limit) =>
    Effect.gen(function* () {
      if (table === "sequences") return yield* readNumbers(query, statements)
      if (after === undefined) {
        const found = yield* query(reading, statements.hasTable(table))
        if (found.length === 0) return none
      }
      const found = yield* query(reading, statements.read(table, after, limit))
      const rows = yield* Effect.forEach(found, (row) => decode(table, row))
      return { rows: rows.map(({ row }) => row), next: rows.at(-1)?.key }
    })

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
export const described: Pick<Rows, "schema" | "tables"> = {
  schema: schemaVersion,
  tables: [
    ...tables.map(([name, { columns }]) => ({ name, columns: Object.keys(columns) })),
    { name: "sequences", columns: ["name", "seq"] }
  ]
}

/** The rows of a store on a database. */
export const make = (database: Database, prefix: string): Rows => {
  const { driver } = database
  const statements = makeStatements(prefix)
  return {
    ...described,

    read: makeRead(driver.query, statements),

    snapshot: driver.snapshot && Effect.map(driver.snapshot, (query) => makeRead(query, statements)),

    isEmpty: Effect.map(driver.query(writing, { sql: statements.any, params: [] }), ([row]) => row?.[0] === 0),

    mark: Effect.map(driver.query(writing, { sql: statements.mark, params: [] }), ([row]) =>
      typeof row?.[0] === "string" ? Option.some(row[0]) : Option.none()
    ),

    write: ({ clear, mark, rows }) =>
      Effect.asVoid(
        repeatableWrite.run(database, writing, [
          ...cleared(statements, clear),
          ...rows.flatMap((row) => insertions(statements, row)),
          { sql: statements.setMark, params: [mark] }
        ])
      )
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
