import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Rows, TransferRow } from "../../EncodedStore.js"
import type { StoreError } from "../../StoreError.js"
import type { Imported } from "../../Transfer.js"
import { ImportDiffers, ImportRefused, InvalidExport } from "../../TransferError.js"
import { type Hashing, hashing, ofTable } from "./digest.js"
import { Ids } from "../../Ids.js"
import * as marks from "./mark.js"
import { linesOf } from "./pieces.js"
import { Reader } from "./reader.js"

export interface Settings {
  readonly pageSize: number
  readonly replace: boolean
  readonly onProgress: (rows: number) => Effect.Effect<void>
}

/**
 * Where an import begins: behind what is in the store of it already, and with what is to be removed before. `mark` is the one that the store
 * had then.
 */
interface Start {
  readonly mark: Option.Option<string>
  readonly before: Option.Option<marks.Mark>
  readonly clear: "all" | "numbers"
}

const notEmpty = new ImportRefused({ reason: "not-empty" })
const other = new ImportRefused({ reason: "other-import" })
const underWay = new ImportRefused({ reason: "under-way" })

const startOf = (rows: Rows, { replace }: Settings): Effect.Effect<Start, StoreError | ImportRefused> =>
  Effect.gen(function* () {
    const mark = yield* rows.mark
    if (replace) return { mark, before: Option.none(), clear: "all" }
    if (yield* rows.isEmpty) return { mark, before: Option.none(), clear: "numbers" }
    if (Option.isNone(mark)) return yield* notEmpty
    return { mark, before: Option.map(mark, marks.decode), clear: "numbers" }
  })

/** Compares the tables with what the export says of them. */
const verify = (hashing: Hashing, rows: Rows, reader: Reader, pageSize: number) =>
  Effect.gen(function* () {
    for (const { name } of rows.tables) {
      const found = yield* ofTable(hashing, rows.read, name, pageSize)
      const expected = reader.tables.get(name)
      const same = expected === undefined ? found.rows === 0 : expected.sha256 === found.sha256
      if (!same) return yield* new ImportDiffers({ table: name, expected: expected?.rows ?? 0, found: found.rows })
    }
  })

// A text takes twice as many bytes at most, once it is in a request.
const maxCharacters = 1_000_000

/** An import under way. */
class Importer {
  private page: Array<TransferRow> = []
  private characters = 0
  private start: Start = { mark: Option.none(), before: Option.none(), clear: "numbers" }
  private cleared = false
  private resumed = 0
  private ended = false

  constructor(
    private readonly rows: Rows,
    private readonly reader: Reader,
    private readonly settings: Settings,
    private readonly id: string
  ) {}

  /** How many lines are in the store from before. */
  private get skipped(): number {
    return Option.match(this.start.before, { onNone: () => 0, onSome: ({ lines }) => lines })
  }

  private write(done: boolean): Effect.Effect<void, StoreError | ImportRefused> {
    const { reader, rows } = this
    const clear = this.cleared || Option.isSome(this.start.before) ? "nothing" : this.start.clear
    // The last line is not one that is counted and hashed.
    const lines = this.ended ? reader.line - 1 : reader.line
    const mark = marks.encode({ lines, sha256: reader.sha256, done, by: this.id })
    const { mark: expected } = this.start
    return Effect.suspend(() => rows.write({ clear, rows: this.page, expected, mark })).pipe(
      Effect.filterOrFail(
        (written) => written,
        () => underWay
      ),
      Effect.flatMap(() => {
        this.start = { ...this.start, mark: Option.some(mark) }
        this.page = []
        this.characters = 0
        this.cleared = true
        return this.settings.onProgress(reader.count)
      })
    )
  }

  /** That what was imported before are the same lines. */
  private compare(): Effect.Effect<void, ImportRefused> {
    const { before } = this.start
    if (Option.isNone(before) || this.reader.sha256 === before.value.sha256) return Effect.void
    return before.value.done ? notEmpty : other
  }

  take(line: string): Effect.Effect<void, StoreError | InvalidExport | ImportRefused> | undefined {
    const { reader, settings } = this
    const taken = reader.take(line)
    if (taken instanceof InvalidExport) return taken
    if (taken._tag === "Header") return this.begin()
    if (taken._tag === "Whole") {
      this.ended = true
      return reader.line <= this.skipped
        ? Option.exists(this.start.before, ({ done }) => done)
          ? notEmpty
          : other
        : undefined
    }
    if (reader.line < this.skipped) return undefined
    if (reader.line === this.skipped) {
      this.resumed = reader.count
      return this.compare()
    }
    if (taken._tag !== "Row") return undefined
    this.page.push(taken.row)
    this.characters += line.length
    return this.page.length >= settings.pageSize || this.characters >= maxCharacters ? this.write(false) : undefined
  }

  private begin(): Effect.Effect<void, StoreError | ImportRefused> {
    return Effect.flatMap(startOf(this.rows, this.settings), (start) => {
      this.start = start
      return this.skipped === 1 ? this.compare() : Effect.void
    })
  }

  finish(hashing: Hashing): Effect.Effect<Imported, StoreError | InvalidExport | ImportDiffers | ImportRefused> {
    const { reader, resumed, rows, settings } = this
    const imported = { rows: reader.count, before: resumed, tables: reader.rowsOfTables, sha256: reader.sha256 }
    return Effect.gen(this, function* () {
      if (reader.missing !== undefined) return yield* reader.missing
      if (Option.exists(this.start.before, ({ done }) => done))
        return { ...imported, outcome: "there-already" as const }
      yield* this.write(false)
      yield* verify(hashing, rows, reader, settings.pageSize)
      yield* this.write(true)
      return { ...imported, outcome: resumed > 0 ? ("resumed" as const) : ("imported" as const) }
    })
  }
}

/** Puts the rows of an export into a store. */
export const run = <E, R>(
  rows: Rows,
  text: Stream.Stream<string, E, R>,
  settings: Settings
): Effect.Effect<Imported, E | StoreError | InvalidExport | ImportRefused | ImportDiffers, R> =>
  Effect.gen(function* () {
    const makeHash = yield* hashing
    const importer = new Importer(rows, new Reader(makeHash, rows), settings, yield* (yield* Ids).next)
    yield* Stream.runForEach(linesOf(text), (batch) =>
      Effect.gen(function* () {
        for (const line of batch) {
          const step = importer.take(line)
          if (step !== undefined) yield* step
        }
      })
    )
    return yield* importer.finish(makeHash)
  })
