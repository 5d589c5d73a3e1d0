import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Timer, WorkItem } from "../../Commit.js"
import type { Failure } from "../../DeadLetter.js"
import type { BrokenTimer, Encoded, EncodedDeadLetter } from "../../EncodedStore.js"
import type { Call, Param, SqlDriver } from "../../SqlDriver.js"
import type { StoreError } from "../../StoreError.js"
import type { Once } from "./idempotentWrite.js"
import type { ReadPage } from "./pages.js"
import type { Sql } from "./statements.js"

type Row = ReadonlyArray<unknown>

/** What is recorded of a failure, from its four columns. */
export const failed = ([attempts, error, failedAt, retryAt]: Row): Omit<Failure, "work"> | undefined =>
  attempts === null || attempts === undefined
    ? undefined
    : {
        attempts: Number(attempts),
        error: String(error),
        failedAt: Number(failedAt),
        retryAt: Number(retryAt)
      }

/** Whether a row of due timers is a timer. The statement has looked at what the columns of the others hold. */
export const isTimer = (row: Row): boolean => Number(row[3]) !== -1

/** Sorts the rows of due timers into those that are timers and those that are none. */
export const dueTimers = (rows: ReadonlyArray<Row>) => {
  const timers: Array<Timer> = []
  const failures: Array<Failure> = []
  const broken: Array<BrokenTimer> = []
  for (const row of rows) {
    const timer = { executionId: String(row[0]), path: String(row[1]), fireAt: Number(row[2]) }
    if (!isTimer(row)) {
      broken.push({ ...timer, problem: String(row[4]) })
      continue
    }
    const failure = row[3] === null ? undefined : failed(row.slice(3))
    timers.push(timer)
    if (failure !== undefined) failures.push({ work: { _tag: "Timer", ...timer }, ...failure })
  }
  return { timers, failures, broken }
}

/** What names a row of work: a timer is found by the time it is armed for or, where it is none, by the texts of its columns. */
const keyOf = (work: WorkItem): ReadonlyArray<Param> =>
  work._tag === "Timer" ? [work.executionId, work.path, work.fireAt, work.executionId, work.path] : [work.seq]

/** Runs a write that does the same when it is applied again. */
type Write = (call: Call, sql: string, ...params: ReadonlyArray<Param>) => Effect.Effect<void, StoreError>

interface Means {
  readonly once: Once
  readonly write: Write
  readonly readPage: ReadPage
}

/** Work that failed and work that was given up, in SQL. */
export const make = (
  driver: SqlDriver,
  sql: Sql,
  { once, readPage, write }: Means
): Pick<Encoded, "isSpawning" | "recordFailure" | "bury" | "listDeadLetters" | "redrive" | "discard" | "stats"> => ({
  isSpawning: (childId) =>
    Effect.map(
      driver.query({ operation: "isSpawning" }, { sql: sql.isSpawning, params: [childId] }),
      (rows) => rows.length > 0
    ),

  recordFailure: ({ attempts, error, failedAt, retryAt, work }) => {
    const key = work._tag === "Timer" ? [work.executionId, work.path, work.fireAt] : [work.seq]
    return write({ operation: "recordFailure" }, sql.record[work._tag], attempts, error, failedAt, retryAt, ...key)
  },

  bury: (work, { attempts, diedAt, error, reason }) =>
    Effect.map(
      once({ operation: "bury" }, (key) => ({
        before: [{ sql: sql.bury[work._tag], params: [reason, attempts, error, diedAt, ...keyOf(work), key] }],
        main: { sql: sql.buried[work._tag], params: [...keyOf(work), key] }
      })),
      (result) => result.changes > 0
    ),

  listDeadLetters: ({ after = 0, executionId, kind, limit }) => {
    const [text, filter]: readonly [string, ReadonlyArray<string>] =
      executionId === undefined
        ? kind === undefined
          ? [sql.listDeadLetters, []]
          : [sql.listDeadLettersOfKind, [kind]]
        : kind === undefined
          ? [sql.listDeadLettersOf, [executionId]]
          : [sql.listDeadLettersOfBoth, [executionId, kind]]
    const statement = (row: Row | undefined, limit: number) => ({
      sql: text,
      params: [...filter, row === undefined ? after : Number(row[0]), limit]
    })
    return Effect.map(readPage({ operation: "listDeadLetters" }, limit, { statement }), (rows) => rows.map(deadLetter))
  },

  redrive: (id) =>
    Effect.gen(function* () {
      const call = { operation: "redrive" }
      const [row] = yield* driver.query(call, { sql: sql.deadLetter, params: [id] })
      const [kind, fireAt] = row ?? []
      if (kind !== "Outbox" && kind !== "Spawn" && kind !== "Timer") return Option.none()
      const { changes } = yield* once(call, (key) => ({
        before: [{ sql: sql.restore[kind], params: [id, key] }],
        main: { sql: kind === "Timer" ? sql.restoredTimer : sql.discard, params: [id, key] }
      }))
      return changes === 1 ? Option.some({ kind, fireAt }) : Option.none()
    }),

  discard: (id) =>
    Effect.map(
      once({ operation: "discard" }, (key) => ({ main: { sql: sql.discard, params: [id, key] } })),
      (result) => result.changes === 1
    ),

  stats: (now) =>
    Effect.map(driver.query({ operation: "stats" }, { sql: sql.stats, params: [now] }), ([row = []]) => {
      const [events, failingEvents, event, spawns, failingSpawns, timers, failingTimers, due, earliest, dead, diedAt] =
        row
      return {
        outbox: { count: Number(events), failing: Number(failingEvents), event },
        spawns: { count: Number(spawns), failing: Number(failingSpawns) },
        timers: { count: Number(timers), failing: Number(failingTimers), due: Number(due), earliest },
        deadLetters: { count: Number(dead), diedAt }
      }
    })
})

const deadLetter = ([id, kind, seq, ...columns]: Row): EncodedDeadLetter => {
  const [executionId, childId, path, fireAt, body, broken, reason, attempts, error, diedAt] = columns
  const row = { id: Number(id), kind, seq, executionId, childId, path, fireAt, body, broken: broken === 1 }
  return { ...row, reason, attempts, error, diedAt }
}
