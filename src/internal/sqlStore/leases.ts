import * as Effect from "effect/Effect"
import type { Encoded, EncodedRenewal } from "../../EncodedStore.js"
import type { Lease, Member } from "../../Lease.js"
import type { Param, Statement } from "../../SqlDriver.js"
import * as reader from "../codec/reader.js"
import type { Sql } from "../sql/statements.js"
import type { Database, Row } from "../sqlDatabase/database.js"
import * as pages from "../sqlDatabase/pages.js"
import * as repeatableWrite from "../sqlDatabase/repeatableWrite.js"
import { decodeRow } from "./rows.js"

const member = ([holder, beat, ttl, renewedAt]: Row): Member => ({
  holder: reader.string(holder, "holder"),
  beat: reader.string(beat, "beat"),
  ttl: reader.finite(ttl, "ttl"),
  renewedAt: reader.finite(renewedAt, "renewed_at")
})

const lease = ([name, holder, fence]: Row): Lease => ({
  name: reader.string(name, "name"),
  holder: reader.nullable(reader.string)(holder, "holder"),
  fence: reader.integerColumn(fence, "fence")
})

const load = (database: Database, pool: string) =>
  Effect.gen(function* () {
    const call = { operation: "leases" }
    const rows = yield* pages.rows(database, call, database.sql.leases.read, pool, pool)
    const decoded = <A>(kind: number, table: string, decode: (row: Row) => A) =>
      Effect.forEach(
        rows.filter((row) => row[0] === kind),
        ([, ...columns]) => decodeRow(call, table, [pool, ...columns], ([, ...columns]) => decode(columns))
      )
    return {
      members: yield* decoded(0, "holdfast_members", member),
      leases: yield* decoded(1, "holdfast_leases", lease)
    }
  })

const renewal = (sql: Sql["leases"], renewal: EncodedRenewal): ReadonlyArray<Statement> => {
  const { beat, claim, evict, holder, pool, release, renewedAt, ttl } = renewal
  const statements: Array<Statement> = []
  const add = (sql: string, ...params: ReadonlyArray<Param>): void => {
    statements.push({ sql, params })
  }
  if (evict.length > 0) add(sql.evict, pool, JSON.stringify(evict.map(({ beat, holder }) => [holder, beat])))
  add(sql.renew, pool, holder, beat, ttl, renewedAt)
  if (release.length > 0) {
    add(sql.release, pool, holder, JSON.stringify(release.map(({ fence, name }) => [name, fence])))
  }
  if (claim.length > 0) add(sql.claim, pool, holder, JSON.stringify(claim))
  return statements
}

/**
 * Leases. Their writes do the same when they are applied again; what arrives late, after others, at most seems a sign of life, or gives a
 * lease to a member that finds out with its next renewal.
 */
export const make = (database: Database): Pick<Encoded, "leases" | "renewLeases" | "leaveLeases"> => {
  const sql = database.sql.leases
  return {
    leases: (pool) => load(database, pool),

    renewLeases: (encoded) =>
      Effect.asVoid(repeatableWrite.run(database, { operation: "renewLeases" }, renewal(sql, encoded))),

    leaveLeases: (pool, holder) =>
      Effect.asVoid(
        repeatableWrite.run(database, { operation: "leaveLeases" }, [
          { sql: sql.releaseAll, params: [pool, holder] },
          { sql: sql.leave, params: [pool, holder] }
        ])
      )
  }
}
