/**
 * The event log: a CSV file with one row an event. It is read twice, as a stream, so that it may be larger than the memory: once to know
 * what is in it, once to replay it.
 */
import { createHash, type Hash } from "node:crypto"
import { createReadStream } from "node:fs"
import { stat } from "node:fs/promises"
import { pipeline, type Readable } from "node:stream"
import * as NodeStream from "@effect/platform-node/NodeStream"
import * as csv from "csv-parse"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as Delimiter from "./delimiter.js"

/** The names of the columns that matter; what else a log has is passed over. */
export interface Columns {
  readonly case: string
  readonly activity: string
  readonly timestamp: string
}

/** One event of the log. Rows with the same `id` are the same event, written down more than once. */
export interface Row {
  readonly id: string
  readonly case: string
  readonly activity: string
  readonly timestamp: string
}

/** How a file is read. */
export interface Format {
  readonly columns: Columns
  readonly delimiter: string
}

/** What the first reading finds out: the first and the last row of each case, by number from 0, and the first of each activity. */
export interface Log {
  readonly path: string
  readonly format: Format
  /** Tells this content, read by these columns, from any other. */
  readonly digest: string
  readonly rows: number
  readonly cases: ReadonlyMap<string, { readonly first: number; readonly last: number }>
  readonly activities: ReadonlyMap<string, number>
}

/** A row and its place in the log: the first or the last of its case, the first of its activity. */
export interface PlacedRow extends Row {
  readonly opens: boolean
  readonly closes: boolean
  readonly introduces: boolean
}

/** The log cannot be read, or it is not what it should be. */
export class LogError extends Schema.TaggedError<LogError>()("LogError", {
  path: Schema.String,
  problem: Schema.String
}) {
  override get message(): string {
    return `${this.path}: ${this.problem}`
  }
}

// The ids of executions and events are made of these texts, and a store bounds the length of ids.
const maxRowBytes = 900
// What a quote that is never closed may swallow before it is noticed.
const maxRecordBytes = 1_048_576

/**
 * The first reading. It checks every row, so that nothing is written before the whole log is known to be good. Where no delimiter is given
 * the header tells it.
 */
export const survey = (
  path: string,
  columns: Columns,
  delimiter: Option.Option<string> = Option.none()
): Effect.Effect<Log, LogError> =>
  Effect.gen(function* () {
    yield* requireFile(path)
    const format = {
      columns,
      delimiter: yield* Option.match(delimiter, { onNone: () => recognize(path, columns), onSome: Effect.succeed })
    }
    const hash = newHash(format)
    const cases = new Map<string, { readonly first: number; readonly last: number }>()
    const activities = new Map<string, number>()
    const rows = yield* Stream.runFold(read(path, format, hash), 0, (index, row) => {
      cases.set(row.case, { first: cases.get(row.case)?.first ?? index, last: index })
      if (!activities.has(row.activity)) activities.set(row.activity, index)
      return index + 1
    })
    if (rows === 0) return yield* new LogError({ path, problem: "it has no events" })
    return { path, format, digest: digestOf(hash), rows, cases, activities }
  })

/**
 * The second reading. Where the file is no longer the one that was surveyed it fails, and without having given the last row: a file that
 * changed in between is never replayed to its end.
 */
export const rows = (log: Log): Stream.Stream<PlacedRow, LogError> =>
  Stream.suspend(() => {
    const hash = newHash(log.format)
    const changed = new LogError({
      path: log.path,
      problem: "it changed while it was being replayed; start again to replay what it holds now"
    })
    const place = ([[row, next], index]: readonly [readonly [Row, Option.Option<Row>], number]) => {
      const ends = log.cases.get(row.case)
      const isLast = index === log.rows - 1
      // Without a next row the file has been read to its end, and the hash is that of the whole.
      if (ends === undefined || Option.isNone(next) !== isLast || (isLast && digestOf(hash) !== log.digest)) {
        return Effect.fail(changed)
      }
      return Effect.succeed<PlacedRow>({
        ...row,
        opens: ends.first === index,
        closes: ends.last === index,
        introduces: log.activities.get(row.activity) === index
      })
    }
    return read(log.path, log.format, hash).pipe(
      Stream.zipWithNext,
      Stream.zipWithIndex,
      Stream.mapChunksEffect((chunk) => Effect.map(Effect.forEach(chunk, place), Chunk.unsafeFromArray))
    )
  })

/** The rows of a file, in order. `hash` takes in its bytes on the way. */
const read = (path: string, format: Format, hash: Hash): Stream.Stream<Row, LogError> =>
  NodeStream.fromReadable<LogError, CsvRecord>(
    () => parseFile(path, format.delimiter, hash),
    (error) => new LogError({ path, problem: problemOf(error, format.delimiter) })
  ).pipe(
    // A block of the file may hold ten thousand short rows, and a fold goes through a chunk recursively.
    Stream.rechunk(512),
    Stream.mapAccumEffect(Option.none<Indices>(), (header, { record, info }) =>
      Option.match(header, {
        onNone: () =>
          Effect.map(findColumns(path, format, record), (indices) => [Option.some(indices), Option.none<Row>()]),
        onSome: (indices) =>
          Effect.map(toRow(path, info.lines, format.columns, indices, record), (row) => [header, Option.some(row)])
      })
    ),
    Stream.filterMap((row) => row)
  )

/** What is read as UTF-8 and is none becomes replacement characters, and two cases get one name; so the bytes are looked at first. */
const parseFile = (path: string, delimiter: string, hash: Hash): Readable => {
  const checked = async function* (source: AsyncIterable<Uint8Array>) {
    const decoder = new TextDecoder("utf-8", { fatal: true })
    for await (const bytes of source) {
      decoder.decode(bytes, { stream: true })
      hash.update(bytes)
      yield bytes
    }
    decoder.decode()
  }
  const parser = csv.parse({
    bom: true,
    delimiter,
    info: true,
    skip_empty_lines: true,
    max_record_size: maxRecordBytes
  })
  // Whatever fails on the way destroys the parser with its error, which is where it is noticed.
  pipeline(createReadStream(path), checked, parser, () => {})
  return parser
}

interface CsvRecord {
  readonly record: ReadonlyArray<string>
  readonly info: { readonly lines: number }
}

interface Indices {
  readonly case: number
  readonly activity: number
  readonly timestamp: number
}

const goesOverLines = (field: string): boolean => /[\r\n]/.test(field)

const unclosed = "it began on a line before this one: a quote there may never be closed"

const findColumns = (
  path: string,
  { columns, delimiter }: Format,
  header: ReadonlyArray<string>
): Effect.Effect<Indices, LogError> => {
  const refuse = (problem: string) => Effect.fail(new LogError({ path, problem }))
  const find = (option: keyof Columns): Effect.Effect<number, LogError> => {
    const index = header.indexOf(columns[option])
    if (index >= 0 && header.indexOf(columns[option], index + 1) < 0) return Effect.succeed(index)
    const name = JSON.stringify(columns[option])
    if (index >= 0) return refuse(`the column ${name} is there more than once`)
    if (header.some(goesOverLines)) {
      return refuse("the header goes over several lines: a quote in the first of them is never closed there")
    }
    const [only = ""] = header
    return refuse(
      header.length === 1
        ? `the header has one column, ${JSON.stringify(only)}, where ${Delimiter.describe(delimiter)} are between the columns; say by --delimiter what is`
        : `there is no column ${name}, only ${header.map((name) => JSON.stringify(name)).join(", ")}; say by --${option} which one it is`
    )
  }
  return Effect.all({ case: find("case"), activity: find("activity"), timestamp: find("timestamp") })
}

const toRow = (
  path: string,
  line: number,
  columns: Columns,
  indices: Indices,
  record: ReadonlyArray<string>
): Effect.Effect<Row, LogError> => {
  const refuse = (problem: string) => Effect.fail(new LogError({ path, problem: `line ${line}: ${problem}` }))
  const row = {
    case: record[indices.case] ?? "",
    activity: record[indices.activity] ?? "",
    timestamp: record[indices.timestamp] ?? ""
  }
  for (const option of ["case", "activity", "timestamp"] as const) {
    if (row[option] === "") {
      const problem = `the column ${JSON.stringify(columns[option])} is empty`
      return refuse(record.some(goesOverLines) ? `${problem} in a row of several lines; ${unclosed}` : problem)
    }
  }
  const id = JSON.stringify([row.case, row.activity, row.timestamp])
  const bytes = Buffer.byteLength(id)
  return bytes > maxRowBytes
    ? refuse(`case, activity and timestamp are ${bytes} bytes long together; at most ${maxRowBytes} can be kept`)
    : Effect.succeed({ id, ...row })
}

/** It is read twice, so a pipe will not do. */
const requireFile = (path: string): Effect.Effect<void, LogError> =>
  Effect.gen(function* () {
    const stats = yield* Effect.tryPromise({
      try: () => stat(path),
      catch: (error) => new LogError({ path, problem: problemOf(error) })
    })
    if (stats.isFile()) return
    const found = stats.isDirectory() ? "a directory" : "not a regular file"
    return yield* new LogError({ path, problem: `it is ${found}; a log is a CSV file` })
  })

const recognize = (path: string, columns: Columns): Effect.Effect<string, LogError> =>
  Effect.tryPromise({
    try: () => Delimiter.recognize(path, Object.values(columns)),
    catch: (error) => new LogError({ path, problem: problemOf(error) })
  })

const fileProblem = (code: unknown, message: string): string => {
  switch (code) {
    case "ENOENT":
      return "there is no such file"
    case "EACCES":
    case "EPERM":
      return "it may not be read: permission denied"
    default:
      return `it cannot be read: ${message}`
  }
}

const problemOf = (error: unknown, delimiter = ","): string => {
  if (!(error instanceof Error)) return fileProblem(undefined, String(error))
  const code = "code" in error ? error.code : undefined
  if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") return "it is not UTF-8 text"
  if (!(error instanceof csv.CsvError)) return fileProblem(code, error.message)
  const line = `line ${String(error["lines"])}`
  switch (error.code) {
    case "CSV_QUOTE_NOT_CLOSED":
      return `${line}: the file ends inside a quoted field; it is cut off, or a quote in it is never closed`
    case "CSV_RECORD_INCONSISTENT_FIELDS_LENGTH":
      return Array.isArray(error["record"]) && error["record"].some(goesOverLines)
        ? `${line}: the row has not as many fields as the header; ${unclosed}`
        : `${line}: the row has not as many fields as the header, with ${Delimiter.describe(delimiter)} between them; the file is cut off, or it is no such log`
    case "CSV_MAX_RECORD_SIZE":
      return `${line}: the row here is longer than ${maxRecordBytes} bytes; a quote before it may never be closed`
    default:
      return `${line}: a quote is out of place: a field that has quotes in it is put in quotes, and each of them doubled`
  }
}

// The comma is left out: what was replayed before there was a choice goes on under its digest.
const newHash = ({ columns, delimiter }: Format): Hash =>
  createHash("sha256").update(
    JSON.stringify([columns.case, columns.activity, columns.timestamp, ...(delimiter === "," ? [] : [delimiter])])
  )

// A copy, because a hash gives its digest only once.
const digestOf = (hash: Hash): string => hash.copy().digest("hex").slice(0, 16)
