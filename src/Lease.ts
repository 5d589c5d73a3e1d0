/**
 * Leases: which process works on what, kept in the store.
 *
 * A *pool* has members, which are processes, and leases, which are names that a member holds. A member renews itself by a beat that
 * changes each time. No clock of another machine is ever read: whoever sees that a member's beat has not changed for the member's `ttl`, by
 * its own clock, may evict it, and the leases of one that is evicted are free.
 *
 * A lease may be lost while work is done under it, and whoever lost it learns of that later than the next holder does its work. Therefore each
 * write that settles a piece of work carries the number of its lease, and is refused where that is not the lease's any more: see {@link fencedBy}.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Schema from "effect/Schema"
import * as internal from "./internal/util/fence.js"

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

/**
 * What tells a lease that is still held from one that was lost: the lease, who took it, and the number that it had then.
 *
 * @since 0.1.0
 * @category models
 */
export interface FencingToken extends Schema.Schema.Type<typeof FencingToken> {}

/**
 * @since 0.1.0
 * @category schemas
 */
export const FencingToken = Schema.Struct({
  pool: Schema.String,
  name: Schema.String,
  holder: Schema.String,
  fence: Schema.Int
}).annotations({ identifier: "FencingToken" })

/**
 * Runs what is done under a lease. Within it, whatever settles a piece of work is written only where the lease is still held, which the
 * database checks in the same transaction: a commit with its `ack`, `ackOutbox`, `ackSpawn`, `deleteTimer`, `deadLetters.recordFailure` and
 * `deadLetters.bury`. Where it is lost they fail with `StoreRejected` and the reason `"lease-lost"`, and nothing is written. Other writes are
 * not fenced. The workers do this by themselves.
 *
 * @example
 * import * as Effect from "effect/Effect"
 * import { ExecutionStore } from "holdfast/ExecutionStore"
 * import * as Lease from "holdfast/Lease"
 *
 * const token = { pool: "printers", name: "3rd floor", holder: "print-7", fence: 12 }
 *
 * const printed = (seq: number) =>
 *   Effect.flatMap(ExecutionStore, (store) => store.ackOutbox(seq)).pipe(Lease.fencedBy(token))
 *
 * @since 0.1.0
 * @category combinators
 */
export const fencedBy: {
  (token: FencingToken): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, token: FencingToken): Effect.Effect<A, E, R>
} = dual(
  2,
  <A, E, R>(self: Effect.Effect<A, E, R>, token: FencingToken): Effect.Effect<A, E, R> =>
    Effect.locally(self, internal.current, { _tag: "Lease", token })
)
