/**
 * Leases: which process works on what, kept in the store.
 *
 * A *pool* has members, which are processes, and leases, which are names that a member holds. A member renews itself by a beat that
 * changes each time. No clock of another machine is ever read: whoever sees that a member's beat has not changed for the member's `ttl`, by
 * its own clock, may evict it, and the leases of one that is evicted are free. A lease is a hint that spares work done twice. Nothing may
 * depend on it for being right.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * A process that may hold leases of a pool. `beat` is another with each renewal; `ttl` is for how many seconds it holds its leases
 * without one. `renewedAt` is when it last renewed itself, in seconds since the epoch by its own clock, which is for people: clocks of
 * machines differ.
 *
 * @since 0.1.0
 * @category models
 */
export interface Member extends Schema.Schema.Type<typeof Member> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Member = Schema.Struct({
  holder: Schema.String,
  beat: Schema.String,
  ttl: Schema.Positive,
  renewedAt: Schema.Finite
}).annotations({ identifier: "Member" })

/**
 * A lease and the member that holds it, or null. `fence` grows by one each time that it is taken: of two that believe they hold it, the
 * one with the greater number does. A lease whose holder is no member of the pool is free.
 *
 * @since 0.1.0
 * @category models
 */
export interface Lease extends Schema.Schema.Type<typeof Lease> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Lease = Schema.Struct({
  name: Schema.String,
  holder: Schema.NullOr(Schema.String),
  fence: Schema.Int
}).annotations({ identifier: "Lease" })

/**
 * The members and the leases of a pool, in the order of their names.
 *
 * @since 0.1.0
 * @category models
 */
export interface Pool {
  readonly members: ReadonlyArray<Member>
  readonly leases: ReadonlyArray<Lease>
}

/**
 * A renewal of a member, which makes it one where it is none, and what else it does, in this order and in one transaction.
 *
 * - `evict`: removes members, each only where its beat is still this one. Never the one that renews.
 * - `release`: gives leases back, each only where this member holds it with this fence.
 * - `claim`: takes those of these leases that are free, and no other.
 *
 * @since 0.1.0
 * @category models
 */
export interface Renewal {
  readonly pool: string
  readonly holder: string
  readonly ttl: number
  readonly evict?: ReadonlyArray<Pick<Member, "holder" | "beat">> | undefined
  readonly release?: ReadonlyArray<Pick<Lease, "name" | "fence">> | undefined
  readonly claim?: ReadonlyArray<string> | undefined
}
