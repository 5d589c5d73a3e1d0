/**
 * Leases: which process works on what, kept in the store.
 *
 * A *pool* has members, which are processes, and leases, which are names that a member holds. A member renews itself with a *beat*, a text
 * that is another each time. No process reads the clock of another: a member that sees, by its own clock, that the beat of another has not
 * changed for that one's `ttl` may evict it, and then its leases are free.
 *
 * A process can lose a lease while it works under it, and learn of that only after the next holder has begun. So each write that settles a
 * piece of work carries the number of its lease, and is refused where the lease has another number by then: see {@link fencedBy}.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import * as Schema from "effect/Schema"
import * as internal from "./internal/util/fence.js"

/**
 * A process that may hold leases of a pool.
 *
 * - `beat`: a text that changes with each renewal.
 * - `ttl`: for how many seconds it keeps its leases without a renewal.
 * - `renewedAt`: when it renewed itself last, in seconds since the epoch by its own clock. It is for people, because the clocks of machines
 *   differ.
 *
 * @since 0.1.0
 * @category models
 */
export interface Member extends Schema.Schema.Type<typeof Member> {}

/**
 * The schema of a member.
 *
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
 * A lease and the member that holds it, or null. `fence` grows by one each time that the lease is taken: of two processes that believe to
 * hold it, the one with the greater number does. A lease whose holder is no member of the pool is free.
 *
 * @since 0.1.0
 * @category models
 */
export interface Lease extends Schema.Schema.Type<typeof Lease> {}

/**
 * The schema of a lease.
 *
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
 * A pool and its name.
 *
 * @since 0.1.0
 * @category models
 */
export interface NamedPool extends Pool {
  readonly name: string
}

/**
 * A renewal of a member, which joins the pool where it is no member yet, and what it does in the same transaction, in this order. `ttl` is
 * in seconds.
 *
 * - `evict`: removes members, each only where its beat is still this one. Never the member that renews.
 * - `release`: gives leases back, each only where this member holds it with this fence.
 * - `claim`: takes those of these leases that are free.
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
 * A lease as a process took it: its pool and name, who took it, and the number that it got. By the number the store knows whether the lease
 * was lost since.
 *
 * @since 0.1.0
 * @category models
 */
export interface FencingToken extends Schema.Schema.Type<typeof FencingToken> {}

/**
 * The schema of a fencing token.
 *
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
 * Runs an effect under a lease. Within it, each write that settles a piece of work is made only where the lease is still held, which the
 * database checks in the same transaction: a commit with its `ack`, `ackOutbox`, `ackSpawn`, `deleteTimer`, `deadLetters.recordFailure` and
 * `deadLetters.bury`. Where the lease is lost they fail with `StoreRejected` and the reason `"lease-lost"`, and nothing is written. Other
 * writes are not fenced. The workers do this by themselves.
 *
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import { ExecutionStore } from "holdfast/ExecutionStore"
 * import * as Lease from "holdfast/Lease"
 *
 * const token = { pool: "printers", name: "3rd floor", holder: "print-7", fence: 12 }
 *
 * const printed = (seq: number) =>
 *   Effect.flatMap(ExecutionStore, (store) => store.ackOutbox(seq)).pipe(Lease.fencedBy(token))
 * ```
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
