import type { Lease, Member, Pool } from "../../Lease.js"
import { compareUtf8 } from "../codec/utf8Order.js"

/** FNV-1a over UTF-16 units, and a final mix, without which texts that differ in their last character alone would stay together. */
const hash = (text: string): number => {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

/** The rows without a lane count as one lane. */
export const shardOf = (lane: string | null, count: number): number => hash(lane ?? "") % count

/**
 * Tells living members from others by this process's own clock: one is taken for dead when its beat has not changed for its `ttl`. What
 * other clocks say plays no part, so that a wrong one neither keeps a dead member nor buries a living one.
 */
export const makeObserver = () => {
  let seen: ReadonlyMap<string, { readonly beat: string; readonly since: number }> = new Map()
  /**
   * `sentAt` and `answeredAt`, in milliseconds, are about when the members were read. Gives those that are dead, and when the next one is,
   * where it does not move.
   */
  return (members: ReadonlyArray<Member>, sentAt: number, answeredAt: number) => {
    const before = seen
    const since = ({ beat, holder }: Member): number => {
      const known = before.get(holder)
      return known?.beat === beat ? known.since : answeredAt
    }
    seen = new Map(members.map((member) => [member.holder, { beat: member.beat, since: since(member) }]))
    const expiries = members.map((member) => ({ member, at: since(member) + member.ttl * 1000 }))
    return {
      dead: expiries.flatMap(({ at, member }) => (at <= sentAt ? [member] : [])),
      next: Math.min(...expiries.flatMap(({ at }) => (at > sentAt ? [at] : [])))
    }
  }
}

/** What a member has to do for each to have its share; `wanting` is whether it waits for others to give something back. */
export interface Shares {
  readonly evict: ReadonlyArray<Member>
  readonly release: ReadonlyArray<Lease>
  readonly claim: ReadonlyArray<string>
  readonly wanting: boolean
}

/**
 * Shares differ by one at most, and who has one more is decided by the order of the members' names: all that see the same members agree,
 * and one that comes or goes moves few leases. `evict` are the members that are dead.
 */
export const share = (
  holder: string,
  names: ReadonlyArray<string>,
  pool: Pool,
  evict: ReadonlyArray<Member>
): Shares => {
  const gone = new Set(evict.map((member) => member.holder))
  const living = new Set(pool.members.map((member) => member.holder).filter((name) => !gone.has(name))).add(holder)
  const rank = Array.from(living).sort(compareUtf8).indexOf(holder)
  const target = Math.floor(names.length / living.size) + (rank < names.length % living.size ? 1 : 0)
  // Each begins elsewhere, so that those that look at the same time want different ones.
  const start = Math.floor((rank * names.length) / living.size)
  const leases = new Map(pool.leases.map((lease) => [lease.name, lease]))
  const held: Array<Lease> = []
  const free: Array<string> = []
  for (const name of [...names.slice(start), ...names.slice(0, start)]) {
    const lease = leases.get(name)
    if (lease?.holder === holder) held.push(lease)
    else if (lease === undefined || lease.holder === null || !living.has(lease.holder)) free.push(name)
  }
  const claim = free.slice(0, Math.max(0, target - held.length))
  return { evict, release: held.slice(target), claim, wanting: held.length + claim.length < target }
}
