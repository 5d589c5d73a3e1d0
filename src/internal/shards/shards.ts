import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { ExecutionStore } from "../../ExecutionStore.js"
import * as Ids from "../../Ids.js"
import type { Pool, Renewal } from "../../Lease.js"
import type { Change, Health, Options, Shards } from "../../Shards.js"
import { type StoreError, StoreRejected, StoreUnavailable } from "../../StoreError.js"
import { leaseName, wholeNumber } from "../codec/validate.js"
import { describe } from "../supervision/storeOutage.js"
import * as telemetryContext from "../telemetry/context.js"
import * as duration from "../util/duration.js"
import { makeObserver, type Shares, shardOf, share } from "./assignment.js"

const maxCount = 1024
const nothing: ReadonlyMap<number, number> = new Map()
const longestWait = Duration.seconds(1)

const refuse = (path: string, problem: string | undefined): Effect.Effect<void, StoreRejected> =>
  problem === undefined
    ? Effect.void
    : new StoreRejected({ operation: "open", reason: "invalid-input", path, detail: problem })

const decodeOptions = (options: Options) =>
  Effect.gen(function* () {
    const count = options.count ?? 32
    yield* refuse("count", wholeNumber(count, 1, maxCount))
    const ttl = yield* duration.decode(options.ttl ?? "10 seconds", "ttl")
    yield* refuse("ttl", Duration.lessThan(ttl, "1 second") ? "expected at least 1 second" : undefined)
    const handover = yield* duration.decode(options.handover ?? "500 millis", "handover")
    yield* refuse("handover", Duration.lessThan(handover, ttl) ? undefined : "expected less than ttl")
    const holder = options.holder ?? (yield* Ids.next)
    yield* refuse("holder", leaseName(holder))
    return { count, handover, holder, ttl }
  })

const shardsOf = (owned: ReadonlyMap<number, number>): ReadonlyArray<number> =>
  Array.from(owned.keys()).sort((a, b) => a - b)

/** Renews this process's part in a pool and keeps it at its share; see `Shards`. */
export const make = (options: Options = {}): Effect.Effect<Shards, StoreRejected, ExecutionStore | Scope.Scope> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const { count, handover, holder, ttl } = yield* decodeOptions(options)
    const clock = yield* Effect.clock
    const fatal = yield* Deferred.make<never, StoreError>()
    const pool = `shards/${count}`
    const names = Array.from({ length: count }, (_, i) => String(i))
    const interval = Duration.times(ttl, 1 / 3)
    const observe = makeObserver()
    const listeners = new Set<(change: Change) => void>()

    let owned: ReadonlyMap<number, number> = new Map()
    let ownedUntil = Number.NEGATIVE_INFINITY
    let nextExpiry = Number.POSITIVE_INFINITY
    let members = 0
    let lastRenewal: Health["lastRenewal"] = Option.none()
    let lastError: Health["lastError"] = Option.none()
    let outage: string | undefined

    // Milliseconds that only go forward: the wall clock may be set.
    const elapsed = (): number => Number(clock.unsafeCurrentTimeNanos() / 1_000n) / 1_000
    const seconds = (): number => clock.unsafeCurrentTimeMillis() / 1_000
    const current = (): ReadonlyMap<number, number> => (elapsed() < ownedUntil ? owned : nothing)

    const change = (next: ReadonlyMap<number, number>, until: number): void => {
      const before = current()
      const gained = shardsOf(next).filter((shard) => before.get(shard) !== next.get(shard))
      const lost = shardsOf(owned).filter((shard) => !next.has(shard))
      owned = next
      ownedUntil = until
      if (gained.length + lost.length === 0) return
      for (const listener of listeners) listener({ gained, lost })
    }

    const without = (shards: ReadonlyArray<string>): ReadonlyMap<number, number> => {
      const left = new Set(shards.map(Number))
      return new Map(Array.from(owned).filter(([shard]) => !left.has(shard)))
    }

    const settle = (found: Pool, sentAt: number): Shares => {
      const others = found.members.filter((member) => member.holder !== holder)
      const { dead, next } = observe(others, sentAt, elapsed())
      nextExpiry = next
      const held = found.leases.filter((lease) => lease.holder === holder)
      members = found.members.length
      lastRenewal = Option.some(seconds())
      change(new Map(held.map(({ fence, name }) => [Number(name), fence])), sentAt + Duration.toMillis(ttl))
      return share(holder, names, found, dead)
    }

    /** What is held counts from before the renewal is sent: others count from after it has arrived. */
    const renew = (what: Omit<Renewal, "pool" | "holder" | "ttl"> = {}): Effect.Effect<Shares, StoreError> =>
      Effect.gen(function* () {
        const sentAt = elapsed()
        yield* store.leases.renew({ ...what, pool, holder, ttl: Duration.toSeconds(ttl) })
        return settle(yield* store.leases.load(pool), sentAt)
      }).pipe(
        Effect.withTracerEnabled(false),
        Effect.timeoutFail({
          duration: ttl,
          onTimeout: () =>
            new StoreUnavailable({
              operation: "renewLeases",
              reason: "timeout",
              outcome: "unknown",
              detail: `no answer came within ${Duration.format(ttl)}`
            })
        })
      )

    /** One renewal, and what it shows to be due; gives how long to wait until the next. */
    const turn = Effect.gen(function* () {
      let shares = yield* renew()
      if (shares.evict.length + shares.claim.length > 0) {
        shares = yield* renew({ evict: shares.evict, claim: shares.claim })
      }
      const { release } = shares
      if (release.length > 0) {
        change(without(release.map((lease) => lease.name)), ownedUntil)
        yield* Effect.sleep(handover)
        shares = yield* renew({ release })
      }
      if (outage !== undefined) yield* Effect.logInfo("the shards are renewed again")
      outage = undefined
      const wait = shares.wanting ? Duration.min(longestWait, interval) : interval
      return Duration.min(wait, Duration.millis(Math.max(1, Math.ceil(nextExpiry - elapsed()))))
    })

    const report = (message: string) =>
      Effect.sync(() => {
        lastError = Option.some({ time: seconds(), message })
      })

    const failed = (error: StoreError) =>
      Effect.gen(function* () {
        yield* report(error.message)
        if (error.message === outage) return
        outage = error.message
        yield* Effect.logWarning(`the shards could not be renewed: ${error.message}`, error)
      })

    const backoff = Schedule.exponential("200 millis", 1.5).pipe(
      Schedule.union(Schedule.spaced(interval)),
      Schedule.jittered
    )

    const loop = turn.pipe(
      Effect.tapError(failed),
      Effect.retry({ schedule: backoff, while: (error) => error._tag !== "StoreRejected" }),
      Effect.flatMap(Effect.sleep),
      Effect.forever
    )

    const onExit = (exit: Exit.Exit<never, StoreError>) =>
      Effect.gen(function* () {
        if (Exit.isSuccess(exit) || Cause.isInterruptedOnly(exit.cause)) return
        const message = `sharing ended: ${describe(exit.cause)}`
        change(nothing, Number.NEGATIVE_INFINITY)
        yield* report(message)
        yield* Effect.logFatal(message, exit.cause)
        yield* Deferred.failCause(fatal, exit.cause)
      })

    const leave = Effect.gen(function* () {
      change(nothing, Number.NEGATIVE_INFINITY)
      yield* store.leases.leave(pool, holder)
    }).pipe(
      Effect.interruptible,
      Effect.timeoutFail({ duration: ttl, onTimeout: () => "the store does not answer" }),
      Effect.catchAll((error) =>
        Effect.logWarning(
          `the shards could not be given back and expire by themselves: ${typeof error === "string" ? error : error.message}`
        )
      )
    )

    yield* Effect.acquireRelease(
      loop.pipe(Effect.interruptible, Effect.onExit(onExit), telemetryContext.unparented, Effect.forkDaemon),
      (fiber) => Effect.zipRight(Fiber.interrupt(fiber), leave)
    )

    return {
      holder,
      count,
      owns: (lane) => current().has(shardOf(lane, count)),
      fence: (lane) => Option.fromNullable(current().get(shardOf(lane, count))),
      onChange: (listener) =>
        Effect.acquireRelease(
          Effect.sync(() => void listeners.add(listener)),
          () => Effect.sync(() => listeners.delete(listener))
        ),
      health: Effect.sync(() => ({
        owned: shardsOf(current()),
        members,
        lastRenewal,
        lastError
      })),
      awaitFatal: Deferred.await(fatal)
    } satisfies Shards
  }).pipe(Effect.annotateLogs({ package: "holdfast", module: "Shards" }))
