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

const call = { operation: "leases" }

/** What rows of members and leases say, of which each begins with its pool and which of the two it is. */
const decode = (rows: ReadonlyArray<Row>) => {
  const decoded = <A>(kind: number, table: string, decode: (row: Row) => A) =>
    Effect.forEach(
      rows.filter((row) => row[1] === kind),
      ([pool, , ...columns]) => decodeRow(call, table, [pool, ...columns], ([, ...columns]) => decode(columns))
    )
  return Effect.all({
    members: decoded(0, "holdfast_members", member),
    leases: decoded(1, "holdfast_leases", lease)
  })
}

const load = (database: Database, pool: string) =>
  Effect.flatMap(pages.rows(database, call, database.sql.leases.read, pool, pool), (rows) =>
    decode(rows.map((row) => [pool, ...row]))
  )

const loadPools = (database: Database) =>
  Effect.gen(function* () {
    const rows = yield* pages.rows(database, { operation: "leasePools" }, database.sql.leases.pools)
    const pools = new Map<string, Array<Row>>()
    for (const row of rows) {
      const name = String(row[0])
      const known = pools.get(name)
      if (known === undefined) pools.set(name, [row])
      else known.push(row)
    }
    return yield* Effect.forEach(pools, ([name, rows]) => Effect.map(decode(rows), (pool) => ({ name, ...pool })))
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
export const make = (database: Database): Pick<Encoded, "leases" | "leasePools" | "renewLeases" | "leaveLeases"> => {
  const sql = database.sql.leases
  return {
    leases: (pool) => load(database, pool),

    leasePools: loadPools(database),

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
