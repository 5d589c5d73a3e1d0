import * as Effect from "effect/Effect"
import type { Encoded, EncodedRenewal } from "../../EncodedStore.js"
import type { FencingToken, Lease, Member } from "../../Lease.js"
import type { StoreRejected } from "../../StoreError.js"
import { leaseLost } from "../util/fence.js"
import type { Tables } from "./tables.js"

interface Pool {
  readonly members: Map<string, Member>
  readonly leases: Map<string, Lease>
}

/** The pools of leases, by their names. */
export class Pools {
  private readonly pools = new Map<string, Pool>()

  /** Those that hold anything. */
  all(): ReadonlyArray<readonly [name: string, pool: Pool]> {
    return Array.from(this.pools).filter(([, { leases, members }]) => leases.size + members.size > 0)
  }

  get(name: string): Pool {
    const pool = this.pools.get(name) ?? { members: new Map(), leases: new Map() }
    this.pools.set(name, pool)
    return pool
  }

  renew({ beat, claim, evict, holder, pool, release, renewedAt, ttl }: EncodedRenewal): void {
    const { leases, members } = this.get(pool)
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

  isHeld({ fence, holder, name, pool }: FencingToken): boolean {
    const lease = this.pools.get(pool)?.leases.get(name)
    return lease?.holder === holder && lease.fence === fence
  }

  leave(pool: string, holder: string): void {
    const { leases, members } = this.get(pool)
    for (const lease of Array.from(leases.values())) {
      if (lease.holder === holder) leases.set(lease.name, { ...lease, holder: null })
    }
    members.delete(holder)
  }
}

/** Runs a write in one synchronous block, where the lease is held that it is fenced by. */
export const fenced = <A>(
  { pools }: Tables,
  call: { readonly operation: string; readonly executionId?: string | undefined },
  fence: FencingToken | undefined,
  write: () => A
): Effect.Effect<A, StoreRejected> =>
  Effect.suspend(() =>
    fence === undefined || pools.isHeld(fence) ? Effect.succeed(write()) : Effect.fail(leaseLost(call, fence))
  )

const contents = ({ leases, members }: Pool) => ({
  members: Array.from(members.values()),
  leases: Array.from(leases.values())
})

/** Leases. */
export const make = ({ pools }: Tables): Pick<Encoded, "leases" | "leasePools" | "renewLeases" | "leaveLeases"> => ({
  leases: (pool) => Effect.sync(() => contents(pools.get(pool))),

  leasePools: Effect.sync(() => pools.all().map(([name, pool]) => ({ name, ...contents(pool) }))),

  renewLeases: (renewal) => Effect.sync(() => pools.renew(renewal)),

  leaveLeases: (pool, holder) => Effect.sync(() => pools.leave(pool, holder))
})
