import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { FencingToken } from "../../Lease.js"
import type { Health, Options, Shards } from "../../Shards.js"
import type { StoreRejected } from "../../StoreError.js"
import { elapsedOf } from "../clock/elapsed.js"
import * as storeMonitor from "../supervision/storeMonitor.js"
import * as supervised from "../supervision/supervised.js"
import * as log from "../telemetry/log.js"
import { makeObserver, shardOf } from "./assignment.js"
import { leave, type Membership, renewAndRebalance } from "./leases.js"
import * as options_ from "./options.js"
import * as ownedShards from "./ownedShards.js"

/** Renews this process's part in a pool and keeps it at its share; see `Shards`. */
export const make = (options: Options = {}): Effect.Effect<Shards, StoreRejected, ExecutionStore | Scope.Scope> =>
  Effect.gen(function* () {
    const settings = yield* options_.decode(options)
    const { count, holder, interval } = settings
    const clock = yield* Effect.clock
    const monitor = storeMonitor.make(Duration.toMillis(interval))
    const ownership = ownedShards.make(() => elapsedOf(clock))
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
      Effect.onExit(() => Effect.sync(() => ownedShards.giveAll(ownership)))
    )
    const awaitFatal = yield* supervised.run(monitor, loop, leave(membership))
    const fence = (lane: string | null) => Option.fromNullable(ownedShards.current(ownership).get(shardOf(lane, count)))
    return {
      holder,
      count,
      owns: (lane) => ownedShards.current(ownership).has(shardOf(lane, count)),
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
  owned: ownedShards.shardsOf(ownedShards.current(ownership)),
  members,
  lastRenewal,
  lastError: monitor.lastError,
  outage: storeMonitor.outage(monitor)
})

/** The store says that another process has the lease, before a renewal of this one has shown it. */
const forfeit = ({ ownership, settings }: Membership, { fence, holder, name, pool }: FencingToken): void => {
  const shard = Number(name)
  if (pool !== settings.pool || holder !== settings.holder || ownership.owned.get(shard) !== fence) return
  ownedShards.give(ownership, new Set([shard]))
}
