import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { ExecutionStore } from "../../ExecutionStore.js"
import type { Lease, NamedPool } from "../../Lease.js"
import type { StoreError } from "../../StoreError.js"
import type * as models from "../monitorApi/models.js"
import { activityPool } from "../util/activityPool.js"

type Processes = Schema.Schema.Type<typeof models.Processes>
type Pool = Processes["pools"][number]
type Owners = Effect.Effect.Success<ExecutionStore["activities"]["owners"]>

/** How many processes of a pool are told, and how many leases of each are named. */
const mostMembers = 200
const mostNames = 64

/** What a pool shares, by its name: lanes in so many shards, among the processes of a service, or activities. */
const shareOf = (name: string): Pick<Pool, "shares" | "total" | "service"> => {
  if (name === activityPool) return { shares: "activities", total: null, service: null }
  const [, count, service] = /^shards\/(\d{1,4})(?:\/(.*))?$/s.exec(name) ?? []
  return count === undefined
    ? { shares: "other", total: null, service: null }
    : { shares: "lanes", total: Number(count), service: service ?? null }
}

/** Shards by their numbers, others by their names as they come. */
const inOrder = (leases: ReadonlyArray<Lease>): ReadonlyArray<string> =>
  leases.map(({ name }) => name).toSorted((one, other) => Number(one) - Number(other) || 0)

const poolOf = ({ leases, members, name }: NamedPool, owners: Owners): Pool => {
  const share = shareOf(name)
  const running = new Map(share.shares === "activities" ? owners.map(({ count, owner }) => [owner, count]) : [])
  const living = members.map(({ holder, renewedAt, ttl }) => {
    const own = leases.filter((lease) => lease.holder === holder)
    return {
      name: holder,
      renewedAt,
      ttl,
      held: own.length,
      leases: inOrder(own).slice(0, mostNames),
      running: running.get(holder) ?? 0
    }
  })
  const known = new Set(members.map(({ holder }) => holder))
  // What these hold goes to others as soon as they look.
  const gone = Array.from(running, ([owner, count]) => ({ owner, count })).filter(({ owner }) => !known.has(owner))
  const left = gone.map(({ count, owner }) => ({
    name: owner,
    renewedAt: null,
    ttl: null,
    held: 0,
    leases: [],
    running: count
  }))
  const taken = living.reduce((sum, { held }) => sum + held, 0)
  return {
    name,
    ...share,
    free: (share.total ?? leases.length) - taken,
    processes: [...living, ...left].slice(0, mostMembers),
    more: Math.max(0, living.length + left.length - mostMembers)
  }
}

/** Who shares the work of a store, as far as the store knows: pools that somebody is or was in. */
export const read = (store: ExecutionStore): Effect.Effect<Processes, StoreError> =>
  Effect.map(Effect.all([store.leases.pools, store.activities.owners]), ([pools, owners]) => {
    const named = pools.some(({ name }) => name === activityPool) || owners.length === 0
    const all = named ? pools : [...pools, { name: activityPool, members: [], leases: [] }]
    return {
      alone: store.exclusive,
      pools: all.map((pool) => poolOf(pool, owners)).filter(({ processes }) => processes.length > 0)
    }
  })
