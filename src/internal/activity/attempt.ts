import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { CurrentRun as CurrentRunService, Run } from "../../Activity.js"
import { ActivityDied, ActivityTimedOut, InvalidActivityHandler } from "../../ActivityError.js"
import type { JsonObject } from "../../Json.js"
import type { Problem } from "../processor/parseProblem.js"
import { bounded } from "../processor/transitionTimeout.js"
import * as telemetryContext from "../telemetry/context.js"
import { describe } from "../util/causeText.js"
import { describe as errorText } from "../util/errorText.js"
import { printable } from "../util/printable.js"
import * as retrySchedule from "../worker/retrySchedule.js"
import type { Contract, Limits } from "./contract.js"
import { CurrentRun } from "./currentRun.js"
import type { Ending } from "./outcome.js"

/**
 * What an attempt came to: its payload is none, the activity has ended, or the attempt failed: then it is to be run again at the time that
 * `retryAt` gives, in milliseconds since the epoch, or has ended with `ending` where that gives none.
 */
export type Verdict =
  | { readonly _tag: "Refused"; readonly problem: string }
  | { readonly _tag: "Ended"; readonly ending: Ending }
  | {
      readonly _tag: "Failed"
      readonly error: string
      readonly cause: Cause.Cause<unknown>
      readonly ending: Ending
      readonly retryAt: (now: number) => Effect.Effect<Option.Option<number>>
    }

/** An activity as a worker runs it. */
export interface Implementation {
  readonly name: string
  readonly concurrency: number
  readonly limits: Limits | undefined
  readonly attempt: (payload: JsonObject, run: Run) => Effect.Effect<Verdict>
}

type AnyHandler<R> = (payload: unknown, run: Run) => Effect.Effect<unknown, unknown, R>

const isHandler = <R>(u: unknown): u is AnyHandler<R> => typeof u === "function"

const found = (u: unknown): string =>
  u === null ? "null" : Effect.isEffect(u) ? "an effect" : `a value of type ${typeof u}`

const at = (subject: string, { path, problem }: Problem): string =>
  path === "" ? `the ${subject} is wrong: ${problem}` : `the ${subject} is wrong at ${path}: ${problem}`

const succeeded = ({ success }: Contract, value: unknown): Verdict =>
  Either.match(success.encode(value), {
    // It has been done, and doing it again would give no other value.
    onLeft: (problem) => ({ _tag: "Ended", ending: { outcome: "died", message: at("value", problem) } }),
    onRight: (value) => ({ _tag: "Ended", ending: { outcome: "success", value } })
  })

const endingOf = ({ error: codec }: Contract, error: unknown, message: string): Ending => {
  if (error instanceof ActivityTimedOut) return { outcome: "timeout", after: error.after }
  if (error instanceof ActivityDied) return { outcome: "died", message: error.reason }
  return Either.match(codec.encode(error), {
    onLeft: (problem) => ({ outcome: "died", message: `${message}; ${at("error", problem)}` }),
    onRight: (error) => ({ outcome: "failure", error, message })
  })
}

const failed = (contract: Contract, run: Run, cause: Cause.Cause<unknown>): Verdict => {
  const failure = Cause.failureOption(cause)
  const message = Option.match(failure, {
    onNone: () => describe(cause),
    onSome: (error) => printable(errorText(error))
  })
  const { attempt, executionId, key } = run
  const error = Option.getOrElse(
    failure,
    () => new ActivityDied({ activity: contract.name, executionId, key, attempt, reason: message })
  )
  return {
    _tag: "Failed",
    error: message,
    cause,
    ending: endingOf(contract, error, message),
    retryAt: (now) => Effect.map(retrySchedule.next(contract.retry, error, attempt, now, undefined), ({ at }) => at)
  }
}

/** What runs attempts of an activity. The services that its handler needs are taken once. */
export const implement = <R>(
  contract: Contract,
  handler: unknown
): Effect.Effect<Implementation, InvalidActivityHandler, Exclude<R, CurrentRunService>> =>
  Effect.flatMap(Effect.context<Exclude<R, CurrentRunService>>(), (context) => {
    const { concurrency, limits, name, payload: codec, timeout } = contract
    const provide = telemetryContext.provide(context)
    // The compiler finds that first, where there is one.
    if (!isHandler<R>(handler)) {
      const problem = `expected a function of the payload that gives an effect, found ${found(handler)}`
      return new InvalidActivityHandler({ activity: name, problem })
    }

    const attempted = (payload: unknown, run: Run): Effect.Effect<unknown, unknown> => {
      const effect = Effect.provideService(
        Effect.suspend(() => handler(payload, run)),
        CurrentRun,
        run
      )
      const late = (after: Duration.Duration) => {
        const { attempt, executionId, key } = run
        return new ActivityTimedOut({ activity: name, executionId, key, attempt, after: Duration.toSeconds(after) })
      }
      return bounded(provide(effect), timeout, late)
    }

    return Effect.succeed<Implementation>({
      name,
      concurrency,
      limits,
      attempt: (stored, run) =>
        Either.match(codec.decode(stored), {
          onLeft: (problem) => Effect.succeed<Verdict>({ _tag: "Refused", problem: at("payload", problem) }),
          onRight: (payload) =>
            Effect.map(Effect.exit(attempted(payload, run)), (exit) =>
              Exit.isSuccess(exit) ? succeeded(contract, exit.value) : failed(contract, run, exit.cause)
            )
        })
    })
  })
