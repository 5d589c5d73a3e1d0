import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { ReadRows, Rows, TransferTable } from "../../EncodedStore.js"
import type { StoreError } from "../../StoreError.js"
import { StoreChanged } from "../../TransferError.js"
import { Digester, type Hashing, hashing, limitOf, ofTable } from "./digest.js"
import * as lines from "./line.js"

/** What is written, with the hashes that end it. */
class Writer {
  private readonly all: Digester
  private table: Digester
  private rows = 0
  /** The hashes of the tables that were written. */
  readonly written = new Map<TransferTable, string>()

  constructor(private readonly hashing: Hashing) {
    this.all = new Digester(hashing)
    this.table = new Digester(hashing)
  }

  private line(text: string): string {
    this.all.add(text)
    return `${text}\n`
  }

  header(schema: number): string {
    return this.line(lines.header(schema))
  }

  row(row: Parameters<typeof lines.row>[0]): string {
    const text = lines.row(row)
    this.rows++
    this.table.add(text)
    return this.line(text)
  }

  endOf(table: TransferTable): string {
    const { rows, sha256 } = this.table.digest
    this.written.set(table, sha256)
    this.table = new Digester(this.hashing)
    return this.line(lines.end(table, rows, sha256))
  }

  end(): string {
    return `${lines.end(lines.whole, this.rows, this.all.digest.sha256)}\n`
  }
}

const tableText = (read: ReadRows, writer: Writer, table: TransferTable, pageSize: number) => {
  const pages = Stream.paginateEffect(undefined, (after: Parameters<ReadRows>[1]) =>
    Effect.map(
      read(table, after, limitOf(pageSize)),
      ({ next, rows }) => [rows.map((row) => writer.row(row)).join(""), Option.fromNullable(next)] as const
    )
  )
  return Stream.concat(
    Stream.filter(pages, (text) => text !== ""),
    Stream.sync(() => writer.endOf(table))
  )
}

/** Fails where a table is not any more what it was when it was read. */
const expectUnchanged = (hashing: Hashing, { read, tables }: Rows, writer: Writer, pageSize: number) =>
  Effect.gen(function* () {
    const changed: Array<string> = []
    for (const { name } of tables) {
      const { sha256 } = yield* ofTable(hashing, read, name, pageSize)
      if (sha256 !== writer.written.get(name)) changed.push(name)
    }
    if (changed.length > 0) return yield* new StoreChanged({ tables: changed })
  })

/**
 * The export of a store, in pieces that end with a line. Where there is no snapshot everything is read a second time before the end: rows
 * whose numbers and versions only grow, and which are the same both times, were there together between the two.
 */
export const make = (rows: Rows, pageSize: number): Stream.Stream<string, StoreError | StoreChanged> =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const makeHash = yield* hashing
      const writer = new Writer(makeHash)
      const read = rows.snapshot === undefined ? rows.read : yield* rows.snapshot
      const check = rows.snapshot === undefined ? expectUnchanged(makeHash, rows, writer, pageSize) : Effect.void
      return Stream.sync(() => writer.header(rows.schema)).pipe(
        Stream.concat(
          Stream.flatMap(Stream.fromIterable(rows.tables), ({ name }) => tableText(read, writer, name, pageSize))
        ),
        Stream.concat(Stream.fromEffect(Effect.map(check, () => writer.end())))
      )
    })
  )
