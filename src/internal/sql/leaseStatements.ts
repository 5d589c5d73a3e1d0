import { lines } from "../util/lines.js"
import { exact, held } from "./expressions.js"

/** Leases. One is free where nobody holds it, or one that is no member of its pool. */
export const makeLeaseSql = (p: string) => {
  const members = `${p}holdfast_members`
  const leases = `${p}holdfast_leases`
  const pairs = "SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each(?)"
  return {
    read: lines`
      SELECT 0, holder, beat, ttl, renewed_at
      FROM ${members}
      WHERE pool = ?
      UNION ALL
      SELECT 1, name, holder, ${exact("fence")}, NULL
      FROM ${leases}
      WHERE pool = ?`,

    pools: lines`
      SELECT pool, 0, holder, beat, ttl, renewed_at
      FROM ${members}
      UNION ALL
      SELECT pool, 1, name, holder, ${exact("fence")}, NULL
      FROM ${leases}`,

    isHeld: `SELECT ${held(p)}`,

    evict: lines`
      DELETE FROM ${members}
      WHERE pool = ?
        AND (holder, beat) IN (${pairs})`,

    renew: lines`
      INSERT INTO ${members} (pool, holder, beat, ttl, renewed_at)
      VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (pool, holder) DO UPDATE
      SET beat = excluded.beat, ttl = excluded.ttl, renewed_at = excluded.renewed_at`,

    release: lines`
      UPDATE ${leases}
      SET holder = NULL
      WHERE pool = ? AND holder = ?
        AND (name, fence) IN (${pairs})`,

    claim: lines`
      INSERT INTO ${leases} (pool, name, holder, fence)
      SELECT ?, value, ?, 1
      FROM json_each(?)
      WHERE TRUE
      ORDER BY key
      ON CONFLICT (pool, name) DO UPDATE
      SET holder = excluded.holder, fence = fence + 1
      WHERE ${leases}.holder IS NULL
        OR NOT EXISTS (SELECT 1 FROM ${members} AS m WHERE m.pool = ${leases}.pool AND m.holder = ${leases}.holder)`,

    releaseAll: lines`
      UPDATE ${leases}
      SET holder = NULL
      WHERE pool = ? AND holder = ?`,

    leave: lines`
      DELETE FROM ${members}
      WHERE pool = ? AND holder = ?`
  }
}
