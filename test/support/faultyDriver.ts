/**
 * A driver around another that loses answers: it applies a transaction never, once, twice or late, and answers or does not.
 */
import * as Effect from "effect/Effect"
import type { Call, SqlDriver, Statement, StatementResult } from "holdfast/SqlDriver"
import { type StoreRejected, StoreUnavailable } from "holdfast/StoreError"

/** When a late transaction is applied: before or after what the store does next, or at the end of the test. */
export type Moment = "before a look" | "before a sending" | "after a sending" | "at the end"

/**
 * What happens to a transaction.
 *
 * - `apply`: how often it is applied before the answer, by default once.
 * - `late`: that it is applied once more, and when.
 * - `before`, `after`: what else happens before it is applied, and after.
 * - `answer`: by default the true one; `"refused"` says that nothing was applied.
 */
export interface Fault {
  readonly apply?: 0 | 1 | 2
  readonly late?: Moment
  readonly before?: Effect.Effect<void>
  readonly after?: Effect.Effect<void>
  readonly answer?: "lost" | "refused"
}

type Failure = StoreUnavailable | StoreRejected

export interface FaultyDriver extends SqlDriver {
  /** The driver beneath, without faults. */
  readonly true: SqlDriver
  /** Faults for the next transactions, one after the other. */
  readonly inject: (...faults: ReadonlyArray<Fault>) => void
  /** How many queries fail next. */
  readonly blind: (queries: number) => void
  /** How many transactions were sent. */
  readonly sent: () => number
  /** Applies the late transactions that are left. */
  readonly end: Effect.Effect<void>
}

const unavailable = (call: Call, outcome: "not-applied" | "unknown", detail: string) =>
  new StoreUnavailable({ ...call, reason: "connection", outcome, detail })

export const make = (driver: SqlDriver): FaultyDriver => {
  const faults: Array<Fault> = []
  let onTheirWay: Array<{ readonly moment: Moment; readonly arrive: Effect.Effect<unknown> }> = []
  let blind = 0
  let sent = 0

  const arrive = (...moments: ReadonlyArray<Moment>) =>
    Effect.suspend(() => {
      const now = onTheirWay.filter(({ moment }) => moments.includes(moment))
      onTheirWay = onTheirWay.filter(({ moment }) => !moments.includes(moment))
      return Effect.forEach(now, ({ arrive }) => arrive, { discard: true })
    })

  const transaction = (
    call: Call,
    statements: ReadonlyArray<Statement>
  ): Effect.Effect<ReadonlyArray<StatementResult>, Failure> =>
    Effect.gen(function* () {
      yield* arrive("before a sending")
      sent++
      const { after = Effect.void, answer, apply = 1, before = Effect.void, late } = faults.shift() ?? {}
      yield* before
      const apart = driver.transaction(call, statements)
      const applied = apply > 0 ? yield* Effect.either(apart) : undefined
      const again = apply > 1 ? yield* Effect.either(apart) : applied
      yield* arrive("after a sending")
      if (late !== undefined) onTheirWay.push({ moment: late, arrive: Effect.ignore(apart) })
      yield* after
      if (answer === "refused") return yield* unavailable(call, "not-applied", "nothing was sent")
      if (answer === "lost" || again === undefined) {
        return yield* unavailable(call, "unknown", "the connection broke")
      }
      return yield* again
    })

  return {
    true: driver,
    transaction,
    query: (call, statement) =>
      Effect.gen(function* () {
        yield* arrive("before a look")
        if (blind === 0) return yield* driver.query(call, statement)
        blind--
        return yield* unavailable(call, "not-applied", "the server is away")
      }),
    inject: (...more) => void faults.push(...more),
    blind: (queries) => {
      blind = queries
    },
    sent: () => sent,
    end: arrive("before a look", "before a sending", "after a sending", "at the end")
  }
}

const tables = {
  executions: "id, definition_id, data, version",
  outbox: "seq, target_id, event",
  processed_events: "execution_id, event_id",
  timers: "execution_id, path, fire_at",
  spawns: "seq, parent_id, child_id, root_path, context",
  trace: "execution_id, idx, entry",
  definitions: "definition_id, version, digest, source, published_at",
  holdfast_outbox_failures: "seq, attempts, error, failed_at, retry_at",
  holdfast_spawn_failures: "seq, attempts, error, failed_at, retry_at",
  holdfast_timer_failures: "execution_id, path, fire_at, attempts, error, failed_at, retry_at",
  holdfast_dead_letters: "id, kind, seq, execution_id, child_id, path, fire_at, body, reason, attempts, error, died_at",
  holdfast_delayed: "seq, due_at, target_id, event",
  holdfast_members: "pool, holder, beat, ttl, renewed_at",
  holdfast_leases: "pool, name, holder, fence"
}

/** All rows of all tables. */
export const dump = (driver: SqlDriver) =>
  Effect.all(
    Object.entries(tables).map(([table, columns]) =>
      Effect.map(
        driver.query({ operation: "dump" }, { sql: `SELECT ${columns} FROM harel_${table} ORDER BY 1, 2`, params: [] }),
        (rows) => ({ table, rows })
      )
    )
  )
