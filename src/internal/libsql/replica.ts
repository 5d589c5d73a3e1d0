import type { Client, Config } from "@libsql/client"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { Replica, ReplicaStatus } from "../../LibsqlStore.js"
import type { LazyDriver } from "../groupCommit/lazyDriver.js"
import type { Token } from "../hrana/token.js"
import * as log from "../telemetry/log.js"
import { Failure, ofHrana, ofLocal, toStoreError } from "./error.js"
import { makeRead } from "./nulSafeText.js"
import type { Remote } from "./remoteConnection.js"

/**
 * - `primary`: the primary, over HTTP.
 * - `patience`: for how long a primary that is compacting its log is waited for when the replica opens.
 * - `open`: what opens the local file with its connection to the primary.
 */
export interface Options {
  readonly url: string
  readonly syncUrl: string
  readonly token: Token
  readonly primary: Remote
  readonly syncInterval: Duration.Duration
  readonly patience: Duration.Duration
  readonly open: (config: Config) => Client
}

/** What an application may read from an old state of the database: nothing is decided by it. */
const monitoring = new Set(["listExecutions", "readTrace", "idsWithPrefix"])

/**
 * How long after a sync that failed writes go on without one, in milliseconds: where the replica's own connection is what does not work, the
 * process stands still for seconds each time.
 */
const pause = 10_000

/** What sqld says while it compacts its log: for a second or two under load. */
const isCompacting = ({ detail }: Failure): boolean => detail.includes("snapshot not found")

/** A copy of a primary in a local file, which is brought up to date now and then. */
export interface Copy {
  readonly replica: Replica
  /** A driver that reads from the copy what may be old, and brings it up to date after each write. */
  readonly driver: (primary: LazyDriver, readFrom: "primary" | "replica") => LazyDriver
}

export const make = (options: Options): Effect.Effect<Copy, Failure, Scope.Scope> =>
  Effect.gen(function* () {
    const alone = yield* Effect.makeSemaphore(1)
    const read = makeRead()
    let opened: { readonly client: Client; readonly token: string | undefined } | undefined
    let requested = 0
    let reached = 0
    let lastSync: number | undefined
    let frame: number | undefined
    let lastError: Failure | undefined
    /** Until when writes are not followed by a sync, in milliseconds since the epoch. */
    let pausedUntil = 0

    const close = Effect.sync(() => {
      opened?.client.close()
      opened = undefined
    })
    yield* Effect.addFinalizer(() => close)

    const hide = (detail: string, token: string | undefined): string =>
      token === undefined ? detail : detail.replaceAll(token, "<redacted>")

    /** The local file, with the token that is valid now: with another its connection to the primary only waits. */
    const current = Effect.gen(function* () {
      const token = yield* Effect.mapError(options.token.current, ofHrana)
      if (opened !== undefined && opened.token === token) return opened
      yield* close
      const config = {
        url: options.url,
        syncUrl: options.syncUrl,
        intMode: "bigint" as const,
        ...(token === undefined ? {} : { authToken: token })
      }
      const client = yield* Effect.try({ try: () => options.open(config), catch: ofLocal })
      opened = { client, token }
      return opened
    })

    // While the replica's own connection looks for a primary that is away, the whole process stands still for seconds: it is asked over
    // HTTP first, where nobody waits.
    const ping = options.primary.query({ sql: "SELECT 1", params: [] })

    const pull = Effect.gen(function* () {
      const { client, token } = yield* current
      const began = yield* Clock.currentTimeMillis
      const replicated = yield* Effect.tryPromise({
        try: () => client.sync(),
        catch: (cause) =>
          new Failure({
            reason: "connection",
            outcome: "not-applied",
            detail: hide(
              `the replica cannot be synced: ${cause instanceof Error ? cause.message : String(cause)}`,
              token
            )
          })
      })
      lastSync = began / 1000
      frame = replicated?.frame_no
    })

    /** One sync serves all who asked before it began. */
    const sync = (first: Effect.Effect<unknown, Failure>) =>
      Effect.suspend(() => {
        const mine = ++requested
        return alone.withPermits(1)(
          Effect.suspend(() => {
            if (reached >= mine) return Effect.void
            const upTo = requested
            // A server that is just compacting its log refuses, and takes it the next time.
            return Effect.zipRight(first, Effect.retry(pull, { times: 2 })).pipe(
              Effect.uninterruptible,
              Effect.tapBoth({
                onFailure: (failure) =>
                  Effect.map(Clock.currentTimeMillis, (now) => {
                    lastError = failure
                    pausedUntil = now + pause
                  }),
                onSuccess: () =>
                  Effect.sync(() => {
                    reached = upTo
                    lastError = undefined
                    pausedUntil = 0
                  })
              })
            )
          })
        )
      })

    const afterWrite = Effect.flatMap(Clock.currentTimeMillis, (now) =>
      now < pausedUntil ? Effect.void : Effect.ignore(sync(Effect.void))
    )

    const periodically = Effect.suspend(() => {
      const before = lastError
      return Effect.matchEffect(sync(ping), {
        onFailure: (failure) =>
          before === undefined ? log.warning(`the replica is getting old: ${failure.detail}`) : Effect.void,
        onSuccess: () => (before === undefined ? Effect.void : log.info("the replica is synced again"))
      })
    }).pipe(
      Effect.repeat(Schedule.spaced(options.syncInterval)),
      Effect.delay(options.syncInterval),
      log.annotate({ package: "holdfast", module: "LibsqlStore", fiber: "sync" }),
      Effect.withTracerEnabled(false)
    )

    yield* Effect.retry(sync(ping), {
      schedule: Schedule.spaced("100 millis").pipe(Schedule.upTo(options.patience)),
      while: isCompacting
    })
    yield* Effect.interruptible(Effect.forkScoped(periodically))

    const status = Effect.map(Clock.currentTimeMillis, (now): ReplicaStatus => {
      const since = Option.fromNullable(lastSync)
      return {
        lastSync: since,
        lag: Option.map(since, (seconds) => Duration.millis(Math.max(0, now - seconds * 1000))),
        frame: Option.fromNullable(frame),
        lastError: Option.map(Option.fromNullable(lastError), (failure) =>
          toStoreError({ operation: "sync" }, failure, false)
        )
      }
    })

    return {
      replica: {
        status: Effect.map(status, Option.some),
        sync: Effect.mapError(sync(ping), (failure) => toStoreError({ operation: "sync" }, failure, false))
      },
      driver: (primary, readFrom) => ({
        transaction: (call, statements) => Effect.zipLeft(primary.transaction(call, statements), afterWrite),
        query: (call, statement) => {
          if (readFrom === "primary" || !monitoring.has(call.operation)) return primary.query(call, statement)
          const local = Effect.flatMap(current, ({ client }) =>
            Effect.tryPromise({ try: () => read(client, statement), catch: ofLocal })
          )
          // A local file that cannot be read is no reason not to answer.
          return Effect.catchAll(local, () => Effect.zipRight(close, primary.query(call, statement)))
        }
      })
    }
  })
