import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ExecutionStore } from "../../ExecutionStore.js"
import type { Pool, Renewal } from "../../Lease.js"
import type { Health } from "../../Shards.js"
import { type StoreError, StoreUnavailable } from "../../StoreError.js"
import type { StoreMonitor } from "../supervision/storeMonitor.js"
import * as log from "../telemetry/log.js"
import { type makeObserver, type Shares, share } from "./assignment.js"
import type * as options_ from "./options.js"
import type { Ownership } from "./ownedShards.js"
import * as ownedShards from "./ownedShards.js"

/** Leases: they are taken, renewed, given back, and counted as lost where they were not renewed. */

/** A process's part in a pool. */
export interface Membership {
  readonly settings: options_.Settings
  readonly store: ExecutionStore
  readonly monitor: StoreMonitor
  readonly ownership: Ownership
  readonly observe: ReturnType<typeof makeObserver>
  /** When the next of the others is dead, if it does not renew itself. */
  nextExpiry: number
  members: number
  lastRenewal: Health["lastRenewal"]
}

const longestWait = Duration.seconds(1)

/** One renewal, and what it shows to be due; gives how long to wait until the next. */
export const renewAndRebalance = (membership: Membership): Effect.Effect<Duration.Duration, StoreError> =>
  Effect.gen(function* () {
    const { ownership, settings } = membership
    let shares = yield* renew(membership)
    if (shares.evict.length + shares.claim.length > 0) {
      shares = yield* renew(membership, { evict: shares.evict, claim: shares.claim })
    }
    const { release } = shares
    if (release.length > 0) {
      ownedShards.give(ownership, new Set(release.map((lease) => Number(lease.name))))
      yield* Effect.sleep(settings.handover)
      shares = yield* renew(membership, { release })
    }
    const wait = shares.wanting ? Duration.min(longestWait, settings.interval) : settings.interval
    const expiry = Math.max(1, Math.ceil(membership.nextExpiry - ownership.elapsed()))
    return Duration.min(wait, Duration.millis(expiry))
  })

/** What is held counts from before the renewal is sent: others count from after it has arrived. */
const renew = (
  membership: Membership,
  what: Omit<Renewal, "pool" | "holder" | "ttl"> = {}
): Effect.Effect<Shares, StoreError> =>
  Effect.gen(function* () {
    const { ownership, settings, store } = membership
    const { holder, pool, ttl } = settings
    const sentAt = ownership.elapsed()
    yield* store.leases.renew({ ...what, pool, holder, ttl: Duration.toSeconds(ttl) })
    const found = yield* store.leases.load(pool)
    membership.lastRenewal = Option.some((yield* Effect.clock).unsafeCurrentTimeMillis() / 1_000)
    return settle(membership, found, sentAt)
  }).pipe(
    Effect.withTracerEnabled(false),
    Effect.timeoutFail({ duration: membership.settings.ttl, onTimeout: () => noAnswer(membership.settings) })
  )

const noAnswer = ({ ttl }: options_.Settings): StoreUnavailable =>
  new StoreUnavailable({
    operation: "renewLeases",
    reason: "timeout",
    outcome: "unknown",
    detail: `no answer came within ${Duration.format(ttl)}`
  })

/** Takes note of what the pool was found to be; gives what this process has to do for each to have its share. */
const settle = (membership: Membership, found: Pool, sentAt: number): Shares => {
  const { observe, ownership, settings } = membership
  const { holder, names, ttl } = settings
  const others = found.members.filter((member) => member.holder !== holder)
  const { dead, next } = observe(others, sentAt, ownership.elapsed())
  membership.nextExpiry = next
  membership.members = found.members.length
  const held = found.leases.filter((lease) => lease.holder === holder)
  const owned = new Map(held.map(({ fence, name }) => [Number(name), fence]))
  ownedShards.change(ownership, owned, sentAt + Duration.toMillis(ttl))
  return share(holder, names, found, dead)
}

/** Gives all that is held back, so that others need not wait for it to expire. */
export const leave = ({ ownership, settings, store }: Membership): Effect.Effect<void> =>
  Effect.suspend(() => {
    ownedShards.giveAll(ownership)
    return store.leases.leave(settings.pool, settings.holder)
  }).pipe(
    Effect.interruptible,
    Effect.timeoutFail({ duration: settings.ttl, onTimeout: () => ({ message: "the store does not answer" }) }),
    Effect.catchAll(({ message }) =>
      log.warning(`the shards could not be given back and expire by themselves: ${message}`)
    )
  )
