import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { ActivityRun, Encoded } from "../../../EncodedStore.js"
import type { ExecutionStore } from "../../../ExecutionStore.js"
import { activityPool } from "../../../internal/util/activityPool.js"
import type { Renewal } from "../../../Lease.js"
import type { Writing } from "./journal.js"
import type { Life } from "./processLife.js"

const now = <A, E>(effect: Effect.Effect<A, E>, otherwise: A): A =>
  Exit.getOrElse(Effect.runSyncExit(effect), () => otherwise)

/** When a member of the pool of activities last showed a sign of life that was acknowledged, and who it is. */
interface Sign {
  readonly life: Life
  readonly sentAt: number
}

/** Signs of life of those who run activities, of all processes. */
export type Signs = Map<string, Sign>

/** Whether a claim stands. */
const stands = (truth: Encoded, { claim, seq }: ActivityRun): boolean =>
  now(truth.activityOwners(1_000), []).some(({ owner }) =>
    now(truth.ownedActivities(owner), []).some((run) => run.seq === seq && run.claim === claim)
  )

interface Observed extends Writing {
  readonly truth: Encoded
}

/** Who has lost the claim of an activity writes nothing about it any more. */
const settled =
  ({ holdUp, journal, life, truth }: Observed) =>
  <Args extends ReadonlyArray<unknown>, E>(
    what: string,
    write: (run: ActivityRun, ...args: Args) => Effect.Effect<boolean, E>
  ) =>
  (run: ActivityRun, ...args: Args): Effect.Effect<boolean, E> =>
    Effect.zipRight(
      holdUp("outcome of an activity", () => !stands(truth, run)),
      Effect.suspend(() => {
        const lost = !stands(truth, run)
        return Effect.tap(write(run, ...args), (written) =>
          Effect.sync(() => {
            if (written && lost)
              journal.problem(`activity ${run.seq} was ${what} by ${life.name} after it had lost its claim`)
          })
        )
      })
    )

/** Whom others take for dead has shown no sign of life for its time to live, and has a reason for that. */
const tookForDead = ({ journal, life, truth }: Observed, { evict = [], pool, ttl }: Renewal, running: Set<string>) => {
  const { signs, world } = journal
  const members = new Set(now(truth.leases(pool), { leases: [], members: [] }).members.map(({ holder }) => holder))
  for (const { holder } of evict) {
    const sign = signs.get(holder)
    if (sign === undefined || members.has(holder)) continue
    const silent = (world.now - sign.sentAt) / 1_000_000
    const after = `was taken for dead by ${life.name} ${silent.toFixed(3)} s after its sign of life`
    if (silent < ttl) journal.problem(`${sign.life.name} ${after}`)
    // Who has failed waits a moment before it tries again.
    else if (running.has(holder) && sign.life.wellFor() > (silent + 3) * 1_000_000)
      journal.problem(`${sign.life.name} ran activities, was well, and ${after}`)
    signs.delete(holder)
  }
}

const renewed = (observed: Observed, renew: ExecutionStore["leases"]["renew"]): ExecutionStore["leases"]["renew"] => {
  const { journal, life, truth } = observed
  return (renewal) => {
    if (renewal.pool !== activityPool) return renew(renewal)
    return Effect.suspend(() => {
      const sentAt = journal.world.now
      const running = new Set(now(truth.activityOwners(1_000), []).map(({ owner }) => owner))
      return Effect.tap(renew(renewal), () =>
        Effect.sync(() => {
          journal.signs.set(renewal.holder, { life, sentAt })
          tookForDead(observed, renewal, running)
        })
      )
    })
  }
}

/** A store as a process has it, of which what it does with activities is watched. */
export const observed = (
  writing: Writing,
  { activities, leases }: ExecutionStore
): Pick<ExecutionStore, "activities" | "leases"> => {
  const watched = { ...writing, truth: writing.journal.truth }
  const watch = settled(watched)
  return {
    activities: {
      ...activities,
      complete: watch("ended", activities.complete),
      fail: watch("tried", activities.fail),
      release: watch("given back", activities.release),
      drop: watch("dropped", activities.drop)
    },
    leases: { ...leases, renew: renewed(watched, leases.renew) }
  }
}
