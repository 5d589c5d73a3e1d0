import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Rows } from "../../EncodedStore.js"
import type { Imported } from "../../Transfer.js"
import { InvalidExport } from "../../TransferError.js"
import { hashing } from "./digest.js"
import { linesOf } from "./pieces.js"
import { Reader } from "./reader.js"

/** Reads an export, and does nothing with it: whether it is whole, and what it holds. */
export const check = <E, R>(
  text: Stream.Stream<string, E, R>,
  known: Pick<Rows, "schema" | "tables" | "anyText">
): Effect.Effect<Pick<Imported, "rows" | "tables" | "sha256">, E | InvalidExport, R> =>
  Effect.gen(function* () {
    const reader = new Reader(yield* hashing, known)
    yield* Stream.runForEach(linesOf(text), (batch) => {
      for (const line of batch) {
        const taken = reader.take(line)
        if (taken instanceof InvalidExport) return taken
      }
      return Effect.void
    })
    if (reader.missing !== undefined) return yield* reader.missing
    return { rows: reader.count, tables: reader.rowsOfTables, sha256: reader.sha256 }
  })
