import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Encoded } from "../../EncodedStore.js"
import type { PublishedDefinition } from "../../PublishedDefinition.js"
import * as reader from "../codec/reader.js"
import type { Database, Row } from "../sqlDatabase/database.js"
import * as pages from "../sqlDatabase/pages.js"
import * as repeatableWrite from "../sqlDatabase/repeatableWrite.js"
import { decodeRow } from "./rows.js"

const decode = (row: Row): PublishedDefinition => ({
  definitionId: reader.string(row[0], "definition_id"),
  version: reader.integerColumn(row[1], "version"),
  digest: reader.string(row[2], "digest"),
  source: reader.string(row[3], "source"),
  publishedAt: reader.nullable(reader.finite)(row[4], "published_at")
})

/** The published texts of definitions. */
export const make = (database: Database): Pick<Encoded, "publishDefinition" | "loadDefinition"> => {
  const sql = database.sql.definitions
  return {
    publishDefinition: ({ definitionId, digest, publishedAt, source, version }) => {
      const columns = [definitionId, version, digest, source, publishedAt]
      return repeatableWrite.write(database, { operation: "publishDefinition" }, sql.publish, ...columns)
    },

    loadDefinition: (definitionId, version) =>
      Effect.gen(function* () {
        const call = { operation: "loadDefinition" }
        const row =
          version === undefined
            ? yield* pages.first(database, call, sql.loadLatest, definitionId)
            : yield* pages.first(database, call, sql.load, definitionId, version)
        return Option.isNone(row)
          ? Option.none()
          : Option.some(yield* decodeRow(call, "definitions", row.value, decode))
      })
  }
}
