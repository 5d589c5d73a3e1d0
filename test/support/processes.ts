import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as Shards from "holdfast/Shards"
import { type StoreError, StoreUnavailable } from "holdfast/StoreError"

export const outage = (operation: string): StoreUnavailable =>
  new StoreUnavailable({ operation, reason: "connection", outcome: "not-applied", detail: "the cable is out" })

/** A store whose leases can be cut off, and which counts what it is asked for. */
export const breakable = (store: ExecutionStore.ExecutionStore) => {
  let failure: ((operation: string) => StoreError) | undefined
  let asked = 0
  const unlessBroken = <A>(operation: string, effect: Effect.Effect<A, StoreError>): Effect.Effect<A, StoreError> =>
    Effect.suspend((): Effect.Effect<A, StoreError> => {
      asked++
      return failure === undefined ? effect : Effect.fail(failure(operation))
    })
  return {
    store: {
      ...store,
      leases: {
        load: (pool: string) => unlessBroken("leases", store.leases.load(pool)),
        pools: unlessBroken("leasePools", store.leases.pools),
        renew: (renewal: Parameters<typeof store.leases.renew>[0]) =>
          unlessBroken("renewLeases", store.leases.renew(renewal)),
        leave: (pool: string, holder: string) => unlessBroken("leaveLeases", store.leases.leave(pool, holder))
      }
    } satisfies ExecutionStore.ExecutionStore,
    breaks: (why: (operation: string) => StoreError = outage) =>
      Effect.sync(() => {
        failure = why
      }),
    heals: Effect.sync(() => {
      failure = undefined
    }),
    asked: () => asked
  }
}

/** A wall clock of its own: so many milliseconds beside the test's, and more when it is set. What passes is the same. */
export const wallClock = Effect.map(Effect.clock, (clock) => {
  let offset = 0
  const now = () => clock.unsafeCurrentTimeMillis() + offset
  const own: Clock.Clock = {
    [Clock.ClockTypeId]: Clock.ClockTypeId,
    unsafeCurrentTimeMillis: now,
    unsafeCurrentTimeNanos: () => clock.unsafeCurrentTimeNanos(),
    currentTimeMillis: Effect.sync(now),
    currentTimeNanos: clock.currentTimeNanos,
    sleep: (duration: Duration.Duration) => clock.sleep(duration)
  }
  return {
    clock: own,
    set: (millis: number) =>
      Effect.sync(() => {
        offset = millis
      })
  }
})

/** A process that shares lanes, with a connection of its own to the store. */
export interface Process {
  readonly shards: Shards.Shards
  readonly owned: () => ReadonlyArray<number>
  /** The changes that it was told of, in order, each with its time in milliseconds. */
  readonly changes: ReadonlyArray<Shards.Change & { readonly at: number }>
  /** It ends as it should. */
  readonly stop: Effect.Effect<void>
  /** Its connection breaks, for good where it has crashed. */
  readonly cutOff: Effect.Effect<void>
  readonly reconnect: Effect.Effect<void>
  readonly breaks: (why: (operation: string) => StoreError) => Effect.Effect<void>
  readonly asked: () => number
}

const all = Array.from({ length: 20_000 }, (_, i) => `lane-${i}`)

/** A lane of each shard. */
export const lanes = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, shard) => all.find((lane) => Shards.shardOf(lane, count) === shard) ?? "none")

export const start = (
  store: ExecutionStore.ExecutionStore,
  options: Shards.Options = {},
  clock?: Clock.Clock
): Effect.Effect<Process, unknown, Scope.Scope> =>
  Effect.gen(function* () {
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const connection = breakable(store)
    const changes: Array<Shards.Change & { readonly at: number }> = []
    const ownClock = clock ?? (yield* Effect.clock)
    const shards = yield* Shards.make(options).pipe(
      Effect.provideService(ExecutionStore.ExecutionStore, connection.store),
      Scope.extend(scope),
      Effect.withClock(ownClock)
    )
    yield* shards.onChange((change) => changes.push({ ...change, at: ownClock.unsafeCurrentTimeMillis() }))
    const ofEach = lanes(shards.count)
    return {
      shards,
      owned: () => ofEach.flatMap((lane, shard) => (shards.owns(lane) ? [shard] : [])),
      changes,
      stop: Scope.close(scope, Exit.void),
      cutOff: connection.breaks(),
      reconnect: connection.heals,
      breaks: connection.breaks,
      asked: connection.asked
    }
  })
