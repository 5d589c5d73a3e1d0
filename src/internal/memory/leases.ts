import * as Effect from "effect/Effect"
import type { Encoded, EncodedRenewal } from "../../EncodedStore.js"
import type { Lease, Member } from "../../Lease.js"

interface Pool {
  readonly members: Map<string, Member>
  readonly leases: Map<string, Lease>
}

/** Leases on plain maps. */
export const make = (): Pick<Encoded, "leases" | "renewLeases" | "leaveLeases"> => {
  const pools = new Map<string, Pool>()

  const poolOf = (name: string): Pool => {
    const pool = pools.get(name) ?? { members: new Map(), leases: new Map() }
    pools.set(name, pool)
    return pool
  }

  const renew = ({ beat, claim, evict, holder, pool, release, renewedAt, ttl }: EncodedRenewal): void => {
    const { leases, members } = poolOf(pool)
    for (const { beat, holder } of evict) {
      if (members.get(holder)?.beat === beat) members.delete(holder)
    }
    members.set(holder, { holder, beat, ttl, renewedAt })
    for (const { fence, name } of release) {
      const lease = leases.get(name)
      if (lease?.holder === holder && lease.fence === fence) leases.set(name, { ...lease, holder: null })
    }
    for (const name of claim) {
      const lease = leases.get(name) ?? { name, holder: null, fence: 0 }
      if (lease.holder === null || !members.has(lease.holder))
        leases.set(name, { name, holder, fence: lease.fence + 1 })
    }
  }

  const leave = (pool: string, holder: string): void => {
    const { leases, members } = poolOf(pool)
    for (const lease of Array.from(leases.values())) {
      if (lease.holder === holder) leases.set(lease.name, { ...lease, holder: null })
    }
    members.delete(holder)
  }

  return {
    leases: (pool) =>
      Effect.sync(() => ({
        members: Array.from(poolOf(pool).members.values()),
        leases: Array.from(poolOf(pool).leases.values())
      })),

    renewLeases: (renewal) => Effect.sync(() => renew(renewal)),

    leaveLeases: (pool, holder) => Effect.sync(() => leave(pool, holder))
  }
}
