import * as Effect from "effect/Effect"
import type { Encoded, EncodedRenewal } from "../../EncodedStore.js"
import type { Lease, Member } from "../../Lease.js"
import type { Call, Param, SqlDriver, Statement } from "../../SqlDriver.js"
import { StoreCorrupt, type StoreError } from "../../StoreError.js"
import * as reader from "../codec/reader.js"
import type { Sql } from "./statements.js"

type Row = ReadonlyArray<unknown>

const member = ([, holder, beat, ttl, renewedAt]: Row): Member => ({
  holder: reader.string(holder, "holder"),
  beat: reader.string(beat, "beat"),
  ttl: reader.finite(ttl, "ttl"),
  renewedAt: reader.finite(renewedAt, "renewed_at")
})

const lease = ([, name, holder, fence]: Row): Lease => ({
  name: reader.string(name, "name"),
  holder: reader.nullable(reader.string)(holder, "holder"),
  fence: reader.integer(fence, "fence")
})

/**
 * Leases in SQL. `write` runs statements that do the same when they are applied again. What arrives late, after others, at most seems a sign
 * of life, or gives a lease to a member that finds out with its next renewal.
 */
export const make = (
  driver: SqlDriver,
  { leases: sql }: Sql,
  write: (call: Call, statements: ReadonlyArray<Statement>) => Effect.Effect<unknown, StoreError>
): Pick<Encoded, "leases" | "renewLeases" | "leaveLeases"> => {
  const renewal = ({ beat, claim, evict, holder, pool, release, renewedAt, ttl }: EncodedRenewal) => {
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

  return {
    leases: (pool) =>
      Effect.gen(function* () {
        const call = { operation: "leases" }
        const rows = yield* driver.query(call, { sql: sql.read, params: [pool, pool] })
        const decode = <A>(kind: number, table: string, decode: (row: Row) => A) =>
          Effect.forEach(
            rows.filter((row) => row[0] === kind),
            (row) =>
              Effect.try({
                try: () => decode(row),
                catch: (cause) =>
                  new StoreCorrupt({
                    operation: call.operation,
                    table,
                    key: `${pool} ${String(row[1])}`,
                    problem: cause instanceof reader.Invalid ? reader.describe(cause) : String(cause)
                  })
              })
          )
        return {
          members: yield* decode(0, "holdfast_members", member),
          leases: yield* decode(1, "holdfast_leases", lease)
        }
      }),

    renewLeases: (encoded) => Effect.asVoid(write({ operation: "renewLeases" }, renewal(encoded))),

    leaveLeases: (pool, holder) =>
      Effect.asVoid(
        write({ operation: "leaveLeases" }, [
          { sql: sql.releaseAll, params: [pool, holder] },
          { sql: sql.leave, params: [pool, holder] }
        ])
      )
  }
}
