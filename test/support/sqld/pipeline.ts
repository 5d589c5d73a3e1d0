import * as Effect from "effect/Effect"
import { split } from "../rqlite/sql.js"
import type { Connection } from "./database.js"
import {
  type Cond,
  Locked,
  ProtocolError,
  type Request,
  StatementError,
  type Step,
  type Stmt,
  type StmtResult
} from "./protocol.js"

/** A connection, and the texts that the client has stored with it. */
export interface Stream {
  readonly connection: Connection
  readonly texts: Map<number, string>
}

interface Outcome {
  readonly result: StmtResult | null
  readonly error: { readonly message: string; readonly code: string } | null
}

interface Text {
  readonly sql?: string | undefined
  readonly sql_id?: number | undefined
}

const textOf = (stream: Stream, { sql, sql_id }: Text): Effect.Effect<string, ProtocolError> => {
  const text = sql ?? (sql_id === undefined ? undefined : stream.texts.get(sql_id))
  return text === undefined
    ? Effect.fail(new ProtocolError({ message: `SQL text ${String(sql_id)} not found` }))
    : Effect.succeed(text)
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

const told = (error: unknown): StatementError | Locked =>
  error instanceof StatementError || error instanceof Locked
    ? error
    : new StatementError({ message: String(error), code: "UNKNOWN" })

/** Runs what a stream asks for. `released` is opened whenever a lock may have been given back. */
export const make = (released: Effect.Latch) => {
  const check = (stream: Stream, sql: string): Effect.Effect<void, StatementError> =>
    Effect.try({
      try: () => stream.connection.check(sql),
      catch: told
    }).pipe(Effect.catchTag("Locked", () => Effect.void))

  const run = (stream: Stream, sql: string, stmt: Stmt): Effect.Effect<StmtResult, StatementError> =>
    Effect.try({ try: () => stream.connection.run(sql, stmt), catch: told }).pipe(
      Effect.tap(released.open),
      Effect.catchAll((error) => {
        if (error instanceof StatementError) return Effect.fail(error)
        released.unsafeClose()
        return Effect.zipRight(released.await, run(stream, sql, stmt))
      })
    )

  const batch = (stream: Stream, steps: ReadonlyArray<Step>) =>
    Effect.gen(function* () {
      const texts = yield* Effect.forEach(steps, ({ stmt }) => textOf(stream, stmt))
      yield* Effect.forEach(texts, (sql) => check(stream, sql), { discard: true })
      const done: Array<Outcome> = []
      for (const [i, { condition, stmt }] of steps.entries()) {
        const skipped = condition !== undefined && !holds(condition, done)
        done.push(
          skipped
            ? { result: null, error: null }
            : yield* Effect.match(run(stream, texts[i] ?? "", stmt), {
                onSuccess: (result) => ({ result, error: null }),
                onFailure: ({ code, message }) => ({ result: null, error: { message, code } })
              })
        )
      }
      return {
        type: "batch",
        result: { step_results: done.map(({ result }) => result), step_errors: done.map(({ error }) => error) }
      }
    })

  const respond = (stream: Stream, request: Request): Effect.Effect<unknown, StatementError | ProtocolError> =>
    Effect.gen(function* () {
      switch (request.type) {
        case "close":
          return { type: "close" }
        case "store_sql":
          stream.texts.set(request.sql_id, request.sql)
          return { type: "store_sql" }
        case "close_sql":
          stream.texts.delete(request.sql_id)
          return { type: "close_sql" }
        case "execute": {
          const sql = yield* textOf(stream, request.stmt)
          yield* check(stream, sql)
          return { type: "execute", result: yield* run(stream, sql, request.stmt) }
        }
        case "batch":
          return yield* batch(stream, request.batch.steps)
        case "sequence": {
          for (const sql of split(yield* textOf(stream, request))) {
            yield* run(stream, sql, { args: [], named_args: [] })
          }
          return { type: "sequence" }
        }
      }
    })

  /** The results of a stream's requests, in order. One that fails does not keep the next from running. */
  return (stream: Stream, requests: ReadonlyArray<Request>): Effect.Effect<ReadonlyArray<unknown>, ProtocolError> =>
    Effect.forEach(requests, (request) =>
      respond(stream, request).pipe(
        Effect.map((response) => ({ type: "ok", response })),
        Effect.catchAll((error) =>
          error instanceof StatementError
            ? Effect.succeed({ type: "error", error: { message: error.message, code: error.code } })
            : Effect.fail(error)
        )
      )
    )
}
