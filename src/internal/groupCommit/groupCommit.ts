import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import type * as Scope from "effect/Scope"
import type { Call, SqlDriver, Statement, Transaction } from "../../SqlDriver.js"
import { StoreUnavailable } from "../../StoreError.js"
import * as group from "./group.js"
import * as insertTogether from "./insertTogether.js"
import type { Failure, LazyDriver, Results } from "./lazyDriver.js"
import * as member from "./member.js"

/** For a database within the process: one sync serves so many, beyond that a group only makes its first members wait. */
export const embedded: group.Limits = { maxCommits: 128, maxBytes: 8_000_000 }

const closed = (call: Call): Failure =>
  member.attribute(
    call,
    new StoreUnavailable({
      operation: call.operation,
      reason: "shutdown",
      outcome: "not-applied",
      detail: "the store is closed"
    })
  )

/** Runs a transaction together with those of others, or alone where nobody else is about to. */
const transaction = (
  state: group.Group,
  call: Call,
  statements: ReadonlyArray<Statement>
): Effect.Effect<Results, Failure> =>
  Effect.withFiberRuntime((fiber) => {
    if (state.closed) return Effect.fail(closed(call))
    const { id } = fiber.id()
    const alone = id === state.lastCaller && state.phase._tag === "Idle"
    state.lastCaller = id
    const attempted = alone ? state.driver.attempt?.(call, () => statements) : undefined
    if (attempted !== undefined) {
      group.measure(state, 1)
      return attempted
    }
    const traced = fiber.getFiberRef(FiberRef.currentTracerEnabled)
    return joinAlone(state, member.make(call, statements, { traced, number: ++state.calls }))
  })

/**
 * Lets a transaction share one with those of others. It joins and waits in one step: who is interrupted before has written nothing, and who is
 * later waits for what becomes of it. `Effect.async` with an effect for interruptions does the same, in twice as many steps.
 */
const joinAlone = (state: group.Group, joining: member.Member): Effect.Effect<Results, Failure> =>
  Effect.uninterruptibleMask((restore) => {
    let joined = false
    const waiting = Effect.async<Results, Failure>((resume) => {
      if (state.closed) {
        resume(Effect.fail(closed(joining.call)))
        return
      }
      joined = true
      joining.tell = resume
      group.enqueue(state, joining)
    })
    return Effect.catchAllCause(restore(waiting), (cause) =>
      joined && Cause.isInterruptedOnly(cause)
        ? Effect.zipRight(interrupted(state, joining), Effect.failCause(cause))
        : Effect.failCause(cause)
    )
  })

/** What became of transactions that ran on the spot as one; none where that cannot be, and nothing is written then. */
const attemptAll = (
  state: group.Group,
  members: ReadonlyArray<member.Member>
): ReadonlyArray<member.Outcome> | undefined => {
  const [first] = members
  if (first === undefined || !group.fits(state, members)) return undefined
  const attempted = state.driver.attempt?.(first.call, () => members.flatMap(({ statements }) => statements))
  if (attempted === undefined) return undefined
  group.measure(state, members.length)
  return group.outcomesOf(members, attempted)
}

/** Runs transactions of one caller together, and with those of others; each is applied or fails by itself. */
const transactions = (
  state: group.Group,
  given: ReadonlyArray<Transaction>
): Effect.Effect<ReadonlyArray<member.Outcome>> =>
  Effect.withFiberRuntime((fiber) => {
    if (given.length === 0) return Effect.succeed([])
    if (state.closed) return Effect.succeed(given.map(({ call }) => Exit.fail(closed(call))))
    const traced = fiber.getFiberRef(FiberRef.currentTracerEnabled)
    const members = given.map(({ call, statements }) =>
      member.make(call, statements, { traced, number: ++state.calls })
    )
    const { id } = fiber.id()
    const alone = id === state.lastCaller && state.phase._tag === "Idle"
    state.lastCaller = id
    const attempted = alone ? attemptAll(state, members) : undefined
    return attempted === undefined ? join(state, members) : Effect.succeed(attempted)
  })

/** Lets transactions of one caller share one with those of others. */
const join = (
  state: group.Group,
  members: ReadonlyArray<member.Member>
): Effect.Effect<ReadonlyArray<member.Outcome>> =>
  Effect.uninterruptibleMask((restore) => {
    if (state.closed) return Effect.succeed(members.map(({ call }) => Exit.fail(closed(call))))
    for (const each of members) group.enqueue(state, each)
    return Effect.onInterrupt(restore(member.outcomesOf(members)), () =>
      Effect.forEach(members, (each) => interrupted(state, each), { discard: true })
    )
  })

/** Ends when it is certain what became of the member of a caller that was interrupted. */
const interrupted = (state: group.Group, left: member.Member): Effect.Effect<unknown> =>
  Effect.suspend((): Effect.Effect<unknown> => {
    if (left.state._tag !== "Waiting") return Effect.exit(member.outcomeOf(left))
    const unneeded = group.leave(state, left)
    return unneeded === undefined
      ? Effect.void
      : Effect.fiberIdWith((id) => Effect.sync(() => unneeded.unsafeInterruptAsFork(id)))
  })

/**
 * A driver whose concurrent transactions share one: transactions that wait at the same time run as one list, in the order in which they
 * came, and each caller gets its own results. A lone transaction waits for nobody, and a fiber that calls twice in a row, with no other
 * in between, is alone: it runs on the spot where the driver can.
 *
 * - The statements of a transaction are guarded by what they expect, so one that does not apply writes nothing and disturbs nobody.
 * - Where the shared transaction is rejected, its members run again each by itself: the poisoned one fails alone.
 * - Who shares a transaction is decided when it has begun: what comes while it waits for a lock is in it, and a caller that is interrupted
 *   by then is not, and has written nothing. One that is interrupted later is so when the outcome is known.
 * - When the scope closes, what waits is still run; later calls fail with `StoreUnavailable` (`reason: "shutdown"`).
 */
export const make = (driver: LazyDriver, limits: group.Limits): Effect.Effect<SqlDriver, never, Scope.Scope> =>
  Effect.gen(function* () {
    const state = yield* group.make(insertTogether.make(driver), limits)
    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        state.closed = true
        return state.drained.await
      })
    )
    return {
      ...driver,
      transaction: (call, statements) => transaction(state, call, statements),
      transactions: (given) => transactions(state, given)
    }
  })
