/**
 * `--verify`: are the stored states those of the plain fold, all of them, and nothing else?
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { ExecutionStore } from "holdfast/ExecutionStore"
import { fold } from "./fold.js"
import { type Log, rows } from "./log.js"
import { CaseState, CounterState, caseId, counterId, ImporterState, importerId } from "./machine.js"

export class VerifyError extends Schema.TaggedError<VerifyError>()("VerifyError", { problem: Schema.String }) {
  override get message(): string {
    return `the database is not what the log says: ${this.problem}`
  }
}

/** How many executions were compared: those of the cases, those of the counters, and the importer. */
export interface Compared {
  readonly executions: number
  readonly cases: number
  readonly counters: number
}

/** Fails with the first difference; gives how many executions it compared. */
export const verify = (log: Log) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const folded = yield* fold(rows(log))

    const compare = <A, I>(id: string, activePath: string, schema: Schema.Schema<A, I>, state: A) =>
      Effect.gen(function* () {
        const execution = yield* store.load(id)
        const stored = Option.filter(execution, (execution) => execution.activePath === activePath)
        const context = Option.flatMap(stored, ({ context }) => Schema.decodeUnknownOption(schema)(context))
        if (Option.exists(context, (context) => Schema.equivalence(schema)(context, state))) return
        const found = Option.match(execution, {
          onNone: () => "nothing",
          onSome: ({ activePath, context }) => `${activePath} ${JSON.stringify(context)}`
        })
        const problem = `${id} should be ${activePath} ${JSON.stringify(state)}, and is ${found}`
        return yield* new VerifyError({ problem })
      })

    const { digest } = log
    yield* compare(importerId(digest), "Sent", ImporterState, { digest, rows: log.rows, sent: log.rows })
    yield* Effect.forEach(
      folded.cases,
      ([name, state]) => compare(caseId(digest, name), "Ended", CaseState, { digest, ...state }),
      { discard: true }
    )
    yield* Effect.forEach(
      folded.counters,
      ([activity, state]) => compare(counterId(digest, activity), "Counting", CounterState, state),
      { discard: true }
    )
    const cases = folded.cases.size
    const counters = folded.counters.size
    const executions = 1 + cases + counters
    const stored = (yield* store.idsWithPrefix(importerId(digest))).length
    if (stored === executions) return { executions, cases, counters } satisfies Compared
    return yield* new VerifyError({ problem: `it has ${stored} executions, not ${executions}` })
  })
