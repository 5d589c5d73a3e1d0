/**
 * A store as text, and back: every row, exactly, from one database to another.
 *
 * The text is one JSON value a line: a header, the rows of each table with their number and hash behind them, and the end, with the hash of
 * all lines. Two stores with the same rows have the same text. Processes that work on the target must begin when the import has ended.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Rows } from "./EncodedStore.js"
import { ExecutionStore } from "./ExecutionStore.js"
import * as exports_ from "./internal/transfer/exportText.js"
import * as imports_ from "./internal/transfer/importText.js"
import * as settings from "./internal/transfer/settings.js"
import type { StoreError } from "./StoreError.js"
import {
  type ImportDiffers,
  type ImportRefused,
  type InvalidExport,
  type StoreChanged,
  TransferUnsupported
} from "./TransferError.js"

/**
 * - `pageSize`: how many rows are read at once, 1 to 10,000, by default 1,000. A page also ends where it has a megabyte.
 *
 * @since 0.1.0
 * @category models
 */
export interface ExportOptions {
  readonly pageSize?: number | undefined
}

/**
 * - `pageSize`: how many rows are written in one transaction, 1 to 10,000, by default 1,000. A page also ends where it has a megabyte.
 * - `replace`: whether all rows that are in the store are removed first, in the transaction that writes the first page; by default false.
 * - `onProgress`: is run after each page, with how many rows of the export are in the store by then.
 *
 * @since 0.1.0
 * @category models
 */
export interface ImportOptions {
  readonly pageSize?: number | undefined
  readonly replace?: boolean | undefined
  readonly onProgress?: ((rows: number) => Effect.Effect<void>) | undefined
}

/**
 * What an import came to.
 *
 * - `outcome`: `"imported"`; `"resumed"` where an import that had been interrupted was brought to its end; `"there-already"` where this
 *   very export had been imported to its end before, and nothing was done.
 * - `rows`: how many rows the export has; `before`: how many of them were in the store when the import began.
 * - `tables`: how many rows each table has. `sequences` has a row for each table that has numbered rows.
 * - `sha256`: the hash of the export's lines, as its end has it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Imported {
  readonly outcome: "imported" | "resumed" | "there-already"
  readonly rows: number
  readonly before: number
  readonly tables: { readonly [table: string]: number }
  readonly sha256: string
}

const rowsOf: Effect.Effect<Rows, TransferUnsupported, ExecutionStore> = Effect.flatMap(ExecutionStore, ({ rows }) =>
  Effect.mapError(rows, () => new TransferUnsupported())
)

/**
 * The rows of the store as text, in pieces, each of whole lines. No more than a page is held at once.
 *
 * It is the state of one moment. A file of SQLite's is read in one read transaction, beside which others may write; its log cannot be
 * emptied meanwhile. Everything else is read twice: where a row was written meanwhile the stream fails with `StoreChanged` rather than end.
 * Leases and the memberships of processes are not in it.
 *
 * A text that is no UTF-8 is in it as its bytes; only where SQLite keeps all texts of a file as UTF-16, one that is no Unicode is
 * `StoreCorrupt`. Fails with `TransferUnsupported` on a store in memory, and with `StoreRejected` where `pageSize` is none.
 *
 * @since 0.1.0
 * @category transfer
 */
export const exportText = (
  options: ExportOptions = {}
): Stream.Stream<string, StoreError | StoreChanged | TransferUnsupported, ExecutionStore> =>
  Stream.unwrap(
    Effect.gen(function* () {
      const { pageSize } = yield* settings.forExport(options)
      return exports_.make(yield* rowsOf, pageSize)
    })
  )

/**
 * Puts the rows of an export into the store, in the order that they had, and compares them with it at the end. The text may be cut anywhere
 * into pieces.
 *
 * The store must be empty, unless `replace` says otherwise. An import that was interrupted goes on when it is run again with the same text,
 * from its beginning.
 *
 * Of imports into one store at the same time one goes on, and the others stop with `ImportRefused`: the one that was begun last, where another
 * was under way.
 *
 * Fails with `InvalidExport` where the text is no export or not a whole one, with `ImportRefused` where the store has other rows, and with
 * `ImportDiffers` where something else has written to the store meanwhile.
 *
 * @example
 * ```ts
 * import * as assert from "node:assert"
 * import { Effect, Stream } from "effect"
 * import { Execution, ExecutionStore, Transfer } from "holdfast"
 * import * as SqliteStore from "holdfast/SqliteStore"
 *
 * const from = SqliteStore.make({ filename: ":memory:" })
 * const to = SqliteStore.make({ filename: ":memory:" })
 *
 * const program = Effect.gen(function* () {
 *   const source = yield* from
 *   yield* source.save(Execution.make({ id: "order-17", definitionId: "order" }))
 *
 *   const text = Stream.provideService(Transfer.exportText(), ExecutionStore.ExecutionStore, source)
 *   const { rows } = yield* Transfer.importText(text).pipe(
 *     Effect.provideServiceEffect(ExecutionStore.ExecutionStore, to)
 *   )
 *   assert.strictEqual(rows, 1)
 * }).pipe(Effect.scoped)
 * ```
 *
 * @since 0.1.0
 * @category transfer
 */
export const importText = <E, R>(
  text: Stream.Stream<string, E, R>,
  options: ImportOptions = {}
): Effect.Effect<
  Imported,
  E | StoreError | InvalidExport | ImportRefused | ImportDiffers | TransferUnsupported,
  R | ExecutionStore
> =>
  Effect.gen(function* () {
    const decoded = yield* settings.forImport(options)
    return yield* imports_.run(yield* rowsOf, text, decoded)
  })
