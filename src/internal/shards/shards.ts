import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { FencingToken, Pool, Renewal } from "../../Lease.js"
import type { Health, Options, Shards } from "../../Shards.js"
import { type StoreError, type StoreRejected, StoreUnavailable } from "../../StoreError.js"
import type { StoreMonitor } from "../supervision/storeMonitor.js"
import * as storeMonitor from "../supervision/storeMonitor.js"
import * as supervised from "../supervision/supervised.js"
import * as log from "../telemetry/log.js"
import { makeObserver, type Shares, shardOf, share } from "./assignment.js"
import * as options_ from "./options.js"
import type { Ownership } from "./ownership.js"
import * as ownership_ from "./ownership.js"

/** A process's part in a pool. */
interface Membership {
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

/** Renews this process's part in a pool and keeps it at its share; see `Shards`. */
export const make = (options: Options = {}): Effect.Effect<Shards, StoreRejected, ExecutionStore | Scope.Scope> =>
  Effect.gen(function* () {
    const settings = yield* options_.decode(options)
    const { count, holder, interval } = settings
    const clock = yield* Effect.clock
    const monitor = storeMonitor.make(Duration.toMillis(interval))
    const ownership = ownership_.make(() => Number(clock.unsafeCurrentTimeNanos() / 1_000n) / 1_000)
    const membership: Membership = {
      settings,
      store: yield* ExecutionStore,
      monitor,
      ownership,
      observe: makeObserver(),
      nextExpiry: Number.POSITIVE_INFINITY,
      members: 0,
      lastRenewal: Option.none()
    }
    const loop = storeMonitor.waitOut(monitor, renewAndRebalance(membership)).pipe(
      Effect.flatMap(Effect.sleep),
      Effect.forever,
      Effect.onExit(() => Effect.sync(() => ownership_.giveAll(ownership)))
    )
    const awaitFatal = yield* supervised.run(monitor, loop, leave(membership))
    const fence = (lane: string | null) => Option.fromNullable(ownership_.current(ownership).get(shardOf(lane, count)))
    return {
      holder,
      count,
      owns: (lane) => ownership_.current(ownership).has(shardOf(lane, count)),
      fence,
      token: (lane) =>
        Option.map(fence(lane), (fence) => ({
          pool: settings.pool,
          name: String(shardOf(lane, count)),
          holder,
          fence
        })),
      forfeit: (token) => Effect.sync(() => forfeit(membership, token)),
      onChange: (listener) =>
        Effect.acquireRelease(
          Effect.sync(() => void ownership.listeners.add(listener)),
          () => Effect.sync(() => ownership.listeners.delete(listener))
        ),
      health: Effect.sync(() => health(membership)),
      awaitFatal
    } satisfies Shards
  }).pipe(log.annotate({ package: "holdfast", module: "Shards" }))

const health = ({ lastRenewal, members, monitor, ownership }: Membership): Health => ({
  owned: ownership_.shardsOf(ownership_.current(ownership)),
  members,
  lastRenewal,
  lastError: monitor.lastError,
  outage: storeMonitor.outage(monitor)
})

/** The store says that another process has the lease, before a renewal of this one has shown it. */
const forfeit = ({ ownership, settings }: Membership, { fence, holder, name, pool }: FencingToken): void => {
  const shard = Number(name)
  if (pool !== settings.pool || holder !== settings.holder || ownership.owned.get(shard) !== fence) return
  ownership_.give(ownership, new Set([shard]))
}

/** One renewal, and what it shows to be due; gives how long to wait until the next. */
const renewAndRebalance = (membership: Membership): Effect.Effect<Duration.Duration, StoreError> =>
  Effect.gen(function* () {
    const { ownership, settings } = membership
    let shares = yield* renew(membership)
    if (shares.evict.length + shares.claim.length > 0) {
      shares = yield* renew(membership, { evict: shares.evict, claim: shares.claim })
    }
    const { release } = shares
    if (release.length > 0) {
      ownership_.give(ownership, new Set(release.map((lease) => Number(lease.name))))
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
  ownership_.change(ownership, owned, sentAt + Duration.toMillis(ttl))
  return share(holder, names, found, dead)
}

const leave = ({ ownership, settings, store }: Membership): Effect.Effect<void> =>
  Effect.suspend(() => {
    ownership_.giveAll(ownership)
    return store.leases.leave(settings.pool, settings.holder)
  }).pipe(
    Effect.interruptible,
    Effect.timeoutFail({ duration: settings.ttl, onTimeout: () => ({ message: "the store does not answer" }) }),
    Effect.catchAll(({ message }) =>
      log.warning(`the shards could not be given back and expire by themselves: ${message}`)
    )
  )
