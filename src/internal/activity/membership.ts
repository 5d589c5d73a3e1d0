import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { ExecutionStore } from "../../ExecutionStore.js"
import type { Member } from "../../Lease.js"
import type { StoreError } from "../../StoreError.js"
import { elapsedOf } from "../clock/elapsed.js"
import { isTestClock } from "../clock/testClock.js"
import { makeObserver } from "../shards/assignment.js"
import type { StoreMonitor } from "../supervision/storeMonitor.js"
import * as storeMonitor from "../supervision/storeMonitor.js"
import * as supervised from "../supervision/supervised.js"
import * as log from "../telemetry/log.js"
import { activityPool } from "../util/activityPool.js"

/**
 * A worker's part in the pool of those who run activities: what is claimed by a member is run by nobody else. A member shows a sign of
 * life while
 * it runs anything, and watches the others while they do. Who shows none for its time to live is removed, and what it ran is free.
 */
export interface Membership {
  readonly store: ExecutionStore
  readonly owner: string
  readonly ttl: Duration.Duration
  readonly elapsed: () => number
  readonly observe: ReturnType<typeof makeObserver>
  /** Whether anything is run here. */
  readonly runs: () => boolean
  /** Under the clock of a test, the members of this process; else none. Who is the only one is taken for dead by nobody. */
  readonly members: Set<Membership> | undefined
  /** Open while there is reason for signs of life. */
  readonly needed: Effect.Latch
  /** Whether others run anything, as far as is known. */
  foreign: boolean
  /** When the last sign of life was sent, in milliseconds that only go forward. */
  renewedAt: number
  beats: number
}

export interface Options {
  readonly store: ExecutionStore
  readonly owner: string
  readonly ttl: Duration.Duration
  readonly runs: () => boolean
}

/** Those who go by the clock of a test. */
const inTests = new Set<Membership>()

export const make = (options: Options): Effect.Effect<Membership> =>
  Effect.zipWith(Effect.clock, Effect.makeLatch(true), (clock, needed) => ({
    ...options,
    members: isTestClock(clock) ? inTests : undefined,
    needed,
    elapsed: () => elapsedOf(clock),
    observe: makeObserver(),
    foreign: false,
    renewedAt: Number.NEGATIVE_INFINITY,
    beats: 0
  }))

/** Whether signs of life have to be shown or looked for: always, but where the time between them is a test's. */
const isNeeded = ({ foreign, members, runs }: Membership): boolean =>
  members === undefined || foreign || (members.size > 1 && runs())

/** Something runs, or others run something: then signs of life may be needed that were not. */
export const changed = (membership: Membership): void => {
  if (isNeeded(membership)) membership.needed.unsafeOpen()
}

const untilNeeded = (membership: Membership): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { needed } = membership
    if (isNeeded(membership)) return Effect.void
    needed.unsafeClose()
    return needed.await
  })

/** Is among the members of this process, where they are looked at. */
const enrol = (membership: Membership): Effect.Effect<void, never, Scope.Scope> => {
  const { members } = membership
  if (members === undefined) return Effect.void
  return Effect.acquireRelease(
    Effect.sync(() => {
      members.add(membership)
      for (const member of members) changed(member)
    }),
    () => Effect.sync(() => members.delete(membership))
  )
}

const intervalOf = ({ ttl }: Membership): number => Duration.toMillis(ttl) / 3

const renew = (membership: Membership, evict: ReadonlyArray<Member> = []): Effect.Effect<void, StoreError> =>
  Effect.suspend(() => {
    const { elapsed, owner, store, ttl } = membership
    const sentAt = elapsed()
    const renewal = { pool: activityPool, holder: owner, ttl: Duration.toSeconds(ttl), evict }
    return Effect.map(store.leases.renew(renewal), () => {
      membership.renewedAt = sentAt
    })
  })

/** Is a member now, and will be for long enough that the next sign of life comes in time. */
export const join = (membership: Membership): Effect.Effect<void, StoreError> =>
  Effect.suspend(() => {
    const { elapsed, renewedAt, store } = membership
    const isMember = store.exclusive
      ? renewedAt > Number.NEGATIVE_INFINITY
      : elapsed() - renewedAt < intervalOf(membership)
    return isMember ? Effect.void : renew(membership)
  })

/** How many signs of life come between two looks for what members left behind that are gone. */
const sweepEvery = 10

const beat = (membership: Membership): Effect.Effect<void, StoreError> =>
  Effect.gen(function* () {
    const { elapsed, observe, owner, runs, store } = membership
    if (!runs() && !membership.foreign) return
    if (runs()) yield* renew(membership)
    const sentAt = elapsed()
    const { members } = yield* store.leases.load(activityPool)
    const others = members.filter(({ holder }) => holder !== owner)
    const { dead } = observe(others, sentAt, elapsed())
    if (dead.length > 0) yield* renew(membership, dead)
    if (dead.length > 0 || membership.beats++ % sweepEvery === 0) yield* store.activities.releaseOrphans
  }).pipe(Effect.withTracerEnabled(false))

/** Shows signs of life, and looks for those of others, until the scope closes; `beaten` comes after each. */
export const start = (
  membership: Membership,
  monitor: StoreMonitor,
  beaten: Effect.Effect<void, StoreError>
): Effect.Effect<Effect.Effect<never>, never, Scope.Scope> => {
  if (membership.store.exclusive) return Effect.succeed(Effect.never)
  const loop = untilNeeded(membership).pipe(
    Effect.zipRight(Effect.sleep(Duration.millis(intervalOf(membership)))),
    Effect.zipRight(storeMonitor.waitOut(monitor, Effect.zipRight(beat(membership), beaten))),
    Effect.forever
  )
  return Effect.zipRight(enrol(membership), supervised.run(monitor, loop))
}

/** Gives back all that is claimed, and leaves the pool. */
export const leave = ({ owner, renewedAt, store, ttl }: Membership): Effect.Effect<void> => {
  if (renewedAt === Number.NEGATIVE_INFINITY) return Effect.void
  return Effect.zipRight(store.activities.releaseAll(owner), store.leases.leave(activityPool, owner)).pipe(
    Effect.interruptible,
    Effect.timeoutFail({ duration: ttl, onTimeout: () => ({ message: "the store does not answer" }) }),
    Effect.catchAll(({ message }) =>
      log.warning(`activities could not be given back, and are free when others take this process for dead: ${message}`)
    )
  )
}
