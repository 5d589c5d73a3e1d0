import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Call, Statement } from "../../SqlDriver.js"
import { StoreRejected, StoreUnavailable } from "../../StoreError.js"
import type { Failure, Results } from "./lazyDriver.js"

export type Outcome = Exit.Exit<Results, Failure>

/** Where a member is: it waits, it is in a transaction that has begun, or its outcome is known. */
type State =
  | { readonly _tag: "Waiting" }
  | { readonly _tag: "Taken" }
  | { readonly _tag: "Settled"; readonly outcome: Outcome }

/** One caller's transaction, which shares one with those of others. */
export interface Member {
  readonly call: Call
  readonly statements: ReadonlyArray<Statement>
  readonly bytes: number
  /** Whether the caller's fiber makes spans. */
  readonly traced: boolean
  /** Counts the calls. */
  readonly number: number
  state: State
  /** Who waits for the outcome. */
  tell: ((outcome: Outcome) => void) | undefined
}

// Two bytes a character is enough for a bound; counting exactly would read every text once more.
const sizeOf = (statements: ReadonlyArray<Statement>): number => {
  let bytes = 0
  for (const statement of statements) {
    for (const param of statement.params) bytes += typeof param === "string" ? param.length * 2 : 8
  }
  return bytes
}

export const make = (
  call: Call,
  statements: ReadonlyArray<Statement>,
  { number, traced }: Pick<Member, "number" | "traced">
): Member => ({
  call,
  statements,
  bytes: sizeOf(statements),
  traced,
  number,
  state: { _tag: "Waiting" },
  tell: undefined
})

/** Ends when the outcome is known. */
export const outcomeOf = (member: Member): Effect.Effect<Results, Failure> =>
  Effect.async((resume) => {
    if (member.state._tag === "Settled") resume(member.state.outcome)
    else member.tell = resume
  })

/** Ends when the outcomes of all are known. */
export const outcomesOf = (members: ReadonlyArray<Member>): Effect.Effect<ReadonlyArray<Outcome>> =>
  Effect.async((resume) => {
    const outcomes: Array<Outcome> = []
    let left = members.length
    const told = (i: number, outcome: Outcome): void => {
      outcomes[i] = outcome
      if (--left === 0) resume(Effect.succeed(outcomes))
    }
    for (const [i, member] of members.entries()) {
      if (member.state._tag === "Settled") told(i, member.state.outcome)
      else member.tell = (outcome) => told(i, outcome)
    }
  })

export const settle = (member: Member, outcome: Outcome): Outcome => {
  member.state = { _tag: "Settled", outcome }
  member.tell?.(outcome)
  return outcome
}

/** The outcome of each member by its place, where all their statements ran one after the other. */
export const succeeded = (members: ReadonlyArray<Member>, results: Results): ReadonlyArray<Outcome> => {
  let end = 0
  return members.map((member) => {
    const start = end
    end += member.statements.length
    return Exit.succeed(results.slice(start, end))
  })
}

/** What befell all of them, for each member. */
export const failed = (members: ReadonlyArray<Member>, cause: Cause.Cause<Failure>): ReadonlyArray<Outcome> =>
  members.map((member) => Exit.failCause(Cause.map(cause, (error) => attribute(member.call, error))))

export const settleAll = (members: ReadonlyArray<Member>, outcomes: ReadonlyArray<Outcome>): void => {
  for (const [i, member] of members.entries()) {
    const outcome = outcomes[i]
    if (outcome !== undefined) settle(member, outcome)
  }
}

/** The error of a shared transaction, with the operation and execution of one caller. */
export const attribute = (call: Call, error: Failure): Failure => {
  const at = { operation: call.operation, executionId: call.executionId }
  const why = { detail: error.detail, cause: error.cause }
  return error._tag === "StoreUnavailable"
    ? new StoreUnavailable({ ...at, ...why, reason: error.reason, outcome: error.outcome })
    : new StoreRejected({ ...at, ...why, reason: error.reason })
}
