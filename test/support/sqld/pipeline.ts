import * as Effect from "effect/Effect"
import { split } from "../rqlite/sql.js"
import type { Connection, Durability } from "./database.js"
import type { Log } from "./log.js"
import {
  type Answer,
  type Cond,
  Forbidden,
  Locked,
  ProtocolError,
  type Request,
  StatementError,
  type Step,
  type Stmt,
  type StmtResult
} from "./protocol.js"

/**
 * - `durability`: as the database is configured.
 * - `full`: whether the disk has no room.
 * - `maxResponseSize`: how many bytes the values of one answer may have.
 */
export interface Options {
  readonly durability: () => Durability
  readonly full: () => boolean
  readonly maxResponseSize: number
}

/** What a token allows. */
export type Access = "rw" | "ro"

/** What a whole request fails with. */
export type Failure = ProtocolError | Forbidden

/** A connection, the texts that the client has stored with it, and whether the client has closed it. */
export interface Stream {
  readonly connection: Connection
  readonly texts: Map<number, string>
  closed: boolean
}

interface Outcome {
  readonly result: StmtResult | null
  readonly error: { readonly message: string; readonly code: string } | null
}

interface Text {
  readonly sql?: string | undefined
  readonly sql_id?: number | undefined
}

const maxTexts = 50
const maxTextLength = 5000

const textOf = (stream: Stream, { sql, sql_id }: Text): Effect.Effect<string, ProtocolError> => {
  const text = sql ?? (sql_id === undefined ? undefined : stream.texts.get(sql_id))
  return text === undefined
    ? new ProtocolError({ message: `SQL text ${String(sql_id)} not found` })
    : Effect.succeed(text)
}

const storeText = (
  { texts }: Stream,
  id: number,
  sql: string
): Effect.Effect<{ readonly type: "store_sql" }, StatementError | ProtocolError> => {
  if (texts.has(id)) return new ProtocolError({ message: `SQL text ${id} already exists` })
  if (texts.size >= maxTexts) {
    const message = `The server already stores ${texts.size} SQL texts, it cannot store more`
    return new StatementError({ message, code: "SQL_STORE_TOO_MANY" })
  }
  if (sql.length > maxTextLength) {
    const message = `The statement is too large to be stored: ${(sql.length / 1000).toFixed(1)} KB/5.0 KB`
    return new StatementError({ message, code: "SQL_STORE_TOO_LARGE" })
  }
  texts.set(id, sql)
  return Effect.succeed({ type: "store_sql" })
}

const holds = (cond: Cond, done: ReadonlyArray<Outcome>): boolean => {
  switch (cond.type) {
    case "ok":
      return (done[cond.step]?.result ?? null) !== null
    // Of a step that was skipped too.
    case "error":
      return (done[cond.step]?.result ?? null) === null
    case "not":
      return !holds(cond.cond, done)
    case "and":
      return cond.conds.every((cond) => holds(cond, done))
    case "or":
      return cond.conds.some((cond) => holds(cond, done))
  }
}

const isKnown = (cond: Cond, step: number): boolean => {
  switch (cond.type) {
    case "ok":
    case "error":
      return cond.step < step
    case "not":
      return isKnown(cond.cond, step)
    default:
      return cond.conds.every((cond) => isKnown(cond, step))
  }
}

const sizeOf = (value: Answer): number =>
  value.type === "blob" ? Buffer.byteLength(value.base64, "base64") : Buffer.byteLength(JSON.stringify(value))

const sizeOfRows = ({ rows }: StmtResult): number =>
  rows.reduce((sum, row) => row.reduce((sum, value) => sum + sizeOf(value), sum), 0)

const tooLarge = () => new StatementError({ message: "Response is too large", code: "RESPONSE_TOO_LARGE" })

const told = (error: unknown): StatementError | Locked =>
  error instanceof StatementError || error instanceof Locked
    ? error
    : new StatementError({ message: String(error), code: "UNKNOWN" })

/** A stream, what its token allows, and what is opened whenever a lock may have been given back. */
interface Session {
  readonly stream: Stream
  readonly access: Access
  readonly released: Effect.Latch
  readonly options: Options
}

const check = (
  { access, stream: { connection } }: Session,
  sql: string
): Effect.Effect<void, StatementError | Forbidden> =>
  Effect.suspend(() => (access === "ro" && connection.writes(sql) ? new Forbidden() : Effect.void)).pipe(
    Effect.zipRight(Effect.try({ try: () => connection.check(sql), catch: told })),
    Effect.catchTag("Locked", () => Effect.void)
  )

const run = (session: Session, sql: string, stmt: Stmt): Effect.Effect<StmtResult, StatementError> => {
  const { options, released, stream } = session
  const { run: runStatement, runOnFullDisk } = stream.connection
  return Effect.try({ try: () => (options.full() ? runOnFullDisk : runStatement)(sql, stmt), catch: told }).pipe(
    Effect.tap(released.open),
    Effect.catchAll((error) => {
      if (error instanceof StatementError) return Effect.fail(error)
      released.unsafeClose()
      return Effect.zipRight(released.await, run(session, sql, stmt))
    })
  )
}

const execute = (session: Session, stmt: Stmt) =>
  Effect.gen(function* () {
    const sql = yield* textOf(session.stream, stmt)
    yield* check(session, sql)
    const result = yield* run(session, sql, stmt)
    return sizeOfRows(result) > session.options.maxResponseSize ? yield* tooLarge() : result
  })

const batch = (session: Session, steps: ReadonlyArray<Step>) =>
  Effect.gen(function* () {
    const unknown = steps.some(({ condition }, i) => condition !== undefined && !isKnown(condition, i))
    if (unknown) return yield* new ProtocolError({ message: "Invalid reference to step in a batch condition" })
    const texts = yield* Effect.forEach(steps, ({ stmt }) => textOf(session.stream, stmt))
    yield* Effect.forEach(texts, (sql) => check(session, sql), { discard: true })
    const done: Array<Outcome> = []
    let size = 0
    for (const [i, { condition, stmt }] of steps.entries()) {
      const skipped = condition !== undefined && !holds(condition, done)
      const outcome: Outcome = skipped
        ? { result: null, error: null }
        : yield* Effect.match(run(session, texts[i] ?? "", stmt), {
            onSuccess: (result) => ({ result, error: null }),
            onFailure: ({ code, message }) => ({ result: null, error: { message, code } })
          })
      size += outcome.result === null ? 0 : sizeOfRows(outcome.result)
      if (size > session.options.maxResponseSize) return yield* tooLarge()
      done.push(outcome)
    }
    return { step_results: done.map(({ result }) => result), step_errors: done.map(({ error }) => error) }
  })

const sequence = (session: Session, text: Text) =>
  Effect.gen(function* () {
    for (const sql of split(yield* textOf(session.stream, text))) {
      yield* check(session, sql)
      yield* run(session, sql, { args: [], named_args: [] })
    }
  })

const closed = () => new ProtocolError({ message: "Stream for this baton was closed" })

const respond = (
  session: Session,
  { frame }: Log,
  request: Request
): Effect.Effect<unknown, StatementError | Failure> => {
  const { stream } = session
  const indexed = <A extends object>(result: A) => {
    const last = frame()
    return { ...result, replication_index: last === undefined ? null : String(last) }
  }
  switch (request.type) {
    case "close":
      stream.closed = true
      return Effect.succeed({ type: "close" })
    case "store_sql":
      return storeText(stream, request.sql_id, request.sql)
    case "close_sql":
      stream.texts.delete(request.sql_id)
      return Effect.succeed({ type: "close_sql" })
  }
  if (stream.closed) return closed()
  switch (request.type) {
    case "execute":
      return Effect.map(execute(session, request.stmt), (result) => ({ type: "execute", result: indexed(result) }))
    case "batch":
      return Effect.map(batch(session, request.batch.steps), (result) => ({ type: "batch", result: indexed(result) }))
    case "sequence":
      return Effect.as(sequence(session, request), { type: "sequence" })
  }
}

/**
 * Runs what streams ask for. Gives the results of a stream's requests, in order: one that fails does not keep the next from running.
 * `released` is opened whenever a lock may have been given back.
 */
export const make =
  (released: Effect.Latch, log: Log, options: Options) =>
  (stream: Stream, requests: ReadonlyArray<Request>, access: Access): Effect.Effect<ReadonlyArray<unknown>, Failure> =>
    Effect.forEach(requests, (request) =>
      respond({ stream, access, released, options }, log, request).pipe(
        Effect.map((response) => ({ type: "ok", response })),
        Effect.catchTag("StatementError", ({ code, message }) =>
          Effect.succeed({ type: "error", error: { message, code } })
        )
      )
    )
