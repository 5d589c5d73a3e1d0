import * as Clock from "effect/Clock"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Queue from "effect/Queue"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import type { Replica } from "../../LibsqlStore.js"
import type { Statement } from "../../SqlDriver.js"
import * as log from "../telemetry/log.js"
import type { Database, Rows } from "./driver.js"
import { at, Failure, toStoreError } from "./error.js"
import type { Remote } from "./remoteConnection.js"
import { type Copy, Damaged } from "./replicaFile.js"
import {
  failed,
  initial,
  isBehind,
  isCompacting,
  isJustRebuilt,
  isOtherHistory,
  markForRebuild,
  otherHistory,
  pauseLeft,
  pulled,
  removed,
  type State,
  serverAnswered,
  statusOf,
  succeeded,
  written
} from "./replicaState.js"

/**
 * - `primary`: the server, over HTTP.
 * - `busyTimeout`: for how long a server that is compacting its log is waited for when the replica opens.
 * - `readFrom`: who answers what may be old.
 */
export interface Options {
  readonly syncUrl: string
  readonly copy: Copy
  readonly primary: Remote
  readonly syncInterval: Duration.Duration
  readonly busyTimeout: Duration.Duration
  readonly readFrom: "primary" | "replica"
}

/** - `alone`: one sync at a time. - `wanted`: has something in it where the copy lacks what this store wrote. */
interface Syncing {
  readonly options: Options
  readonly state: State
  readonly alone: Effect.Semaphore
  readonly wanted: Queue.Queue<void>
}

/** The operations that may read an old state of the database: they are for people, and no write depends on them. */
const monitoring = new Set(["listExecutions", "readTrace", "idsWithPrefix"])

const failure = (detail: string): Failure => new Failure({ reason: "connection", outcome: "not-applied", detail })

const countTables: Statement = { sql: "SELECT count(*) FROM sqlite_master", params: [] }

/**
 * Asks the server, where nobody waits: while the replica's own connection looks for a server that is away, the whole process stands still.
 */
const ask = ({ options, state }: Syncing): Effect.Effect<number, Failure> =>
  Effect.suspend(() => {
    const known = state.frame
    return Effect.map(options.primary.query(countTables), ({ frame, value: [row] }) => {
      serverAnswered(state, known, frame)
      return Number(row?.[0])
    })
  })

/** Pulls once. `tables` is how many the server has, where it was asked. */
const pull = ({ options: { copy }, state }: Syncing, tables: number): Effect.Effect<void, Failure | Damaged> =>
  Effect.gen(function* () {
    const began = yield* Clock.currentTimeMillis
    const frame = yield* copy.pull
    if (tables > 0) {
      const [row] = yield* copy.read(countTables)
      if (Number(row?.[0]) === 0)
        return yield* new Damaged({ detail: `${copy.filename} has no tables, and the server has some` })
    }
    pulled(state, frame, began)
  })

/** Removes the copy, so that pulling makes another. */
const discard = ({ options: { copy }, state }: Syncing, why: string): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    state.rebuildReason = why
    if (isJustRebuilt(state, now))
      return yield* failure(`the copy was made again a moment ago, and is wrong again: ${why}`)
    yield* log.warning(`the copy is made again: ${why}`)
    yield* copy.remove
    removed(state, now)
  })

/** Brings the copy up to date, and makes another where it cannot be. */
const refresh = (syncing: Syncing, tables: number): Effect.Effect<void, Failure> =>
  Effect.gen(function* () {
    const { rebuildReason, shorterLogs } = syncing.state
    if (rebuildReason !== undefined) yield* discard(syncing, rebuildReason)
    else if (shorterLogs > 0) return yield* failure(otherHistory)
    // A server that is just compacting its log refuses, and takes it the next time.
    const patient = Effect.retry(pull(syncing, tables), { times: 2, while: ({ _tag }) => _tag === "LibsqlFailure" })
    yield* patient.pipe(
      Effect.catchTag("Damaged", ({ detail }) => Effect.zipRight(discard(syncing, detail), patient)),
      Effect.catchTag("Damaged", ({ detail }) => Effect.fail(failure(detail)))
    )
  })

/** One sync serves all who asked before it began. `first` gives how many tables the server has. */
const sync = (syncing: Syncing, first: Effect.Effect<number, Failure>): Effect.Effect<void, Failure> =>
  Effect.suspend(() => {
    const { alone, state } = syncing
    const mine = ++state.requested
    const once = Effect.suspend(() => {
      if (state.reached >= mine) return Effect.void
      const upTo = state.requested
      return Effect.flatMap(first, (tables) => refresh(syncing, tables)).pipe(
        Effect.mapError(at(syncing.options.syncUrl)),
        Effect.tapBoth({
          onFailure: (error) => Effect.map(Clock.currentTimeMillis, (now) => failed(state, error, now)),
          onSuccess: () => Effect.sync(() => succeeded(state, upTo))
        }),
        Effect.uninterruptible
      )
    })
    return alone.withPermits(1)(once)
  })

const asked = (syncing: Syncing): Effect.Effect<void, Failure> => sync(syncing, ask(syncing))

/** After a write that the server has answered: what it wrote is in the copy, or is known not to be. */
const afterWrite = (syncing: Syncing, frame: number | undefined): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { state, wanted } = syncing
    const now = yield* Clock.currentTimeMillis
    const synced = pauseLeft(state, now) > 0 ? false : yield* Effect.isSuccess(sync(syncing, Effect.succeed(0)))
    written(state, frame, synced)
    if (isBehind(state)) yield* Queue.offer(wanted, undefined)
  })

/** Until the next sync is due: the interval, or less where the copy lacks what this store wrote. */
const rest = ({ options, state, wanted }: Syncing): Effect.Effect<unknown> => {
  const soon = Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.sleep(Math.max(1000, pauseLeft(state, now))))
  return Effect.race(Effect.sleep(options.syncInterval), Effect.zipRight(Queue.take(wanted), soon))
}

const periodically = (syncing: Syncing): Effect.Effect<never> => {
  const { state } = syncing
  const turn = Effect.suspend(() => {
    const before = state.lastError
    return Effect.matchEffect(asked(syncing), {
      onFailure: (error) =>
        before === undefined ? log.warning(`the replica is getting old: ${error.detail}`) : Effect.void,
      onSuccess: () => (before === undefined ? Effect.void : log.info("the replica is synced again"))
    })
  })
  return Effect.zipRight(rest(syncing), turn).pipe(Effect.forever, Effect.withTracerEnabled(false))
}

const database = (syncing: Syncing): Database => {
  const { options, state } = syncing
  const { copy, primary } = options

  // A local file that cannot be read is no reason not to answer.
  const fromCopy = (statement: Statement, operation: string): Effect.Effect<Rows, Failure> =>
    Effect.catchAll(copy.read(statement), (error) => {
      if (error._tag === "Damaged") state.rebuildReason = error.detail
      return Effect.zipRight(copy.close, primary.read(statement, operation))
    })

  return {
    write: (statements) =>
      Effect.suspend(() => {
        const known = state.frame
        return Effect.flatMap(primary.transaction(statements), ({ frame, value }) => {
          if (isOtherHistory(known, frame)) markForRebuild(state)
          return Effect.as(afterWrite(syncing, frame), value)
        })
      }),
    read: (statement, operation) =>
      Effect.suspend(() =>
        options.readFrom === "primary" || !monitoring.has(operation) || isBehind(state)
          ? primary.read(statement, operation)
          : fromCopy(statement, operation)
      )
  }
}

/**
 * A replica: a copy of a server's database which is brought up to date now and then, and answers what may be old. Everything else is the
 * server's.
 */
export const make = (
  options: Options
): Effect.Effect<{ readonly replica: Replica; readonly database: Database }, Failure, Scope.Scope> =>
  Effect.gen(function* () {
    const alone = yield* Effect.makeSemaphore(1)
    const syncing: Syncing = { options, state: initial(), alone, wanted: yield* Queue.sliding<void>(1) }
    yield* Effect.retry(asked(syncing), {
      schedule: Schedule.spaced("100 millis").pipe(Schedule.upTo(options.busyTimeout)),
      while: isCompacting
    })
    // A server that was replaced by an older backup while nobody was looking shows only now.
    yield* Effect.ignore(ask(syncing))
    const fiber = log.annotate({ fiber: "sync" })(periodically(syncing))
    yield* Effect.interruptible(Effect.forkScoped(fiber))
    return {
      replica: {
        status: Effect.map(Clock.currentTimeMillis, (now) => Option.some(statusOf(syncing.state, now))),
        sync: Effect.mapError(asked(syncing), (error) => toStoreError({ operation: "sync" }, error, false))
      },
      database: database(syncing)
    }
  }).pipe(log.annotate({ package: "holdfast", module: "LibsqlStore" }))
