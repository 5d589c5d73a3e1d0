import * as Effect from "effect/Effect"
import { type Commit, type TraceStep, traceStep } from "../../Commit.js"
import { type Command, WrongStatus } from "../../ControlError.js"
import type { Execution, Status } from "../../Execution.js"
import type { JsonObject } from "../../Json.js"

/** What a command makes of an execution: `commit` is written beside it, and `data` goes into the trace. */
export interface Change {
  readonly execution: Execution
  readonly commit?: Commit | undefined
  readonly data?: JsonObject | undefined
}

/** The change of an execution, or nothing where it is as it should be. */
export type Decide<E> = (execution: Execution) => Effect.Effect<Change | undefined, E>

export const runnable: ReadonlyArray<Status> = ["PENDING", "RUNNING"]

/**
 * Executions in these statuses take `Finished` events of their children. One that is being cancelled takes nothing but its `Cancel` event.
 */
export const listening: ReadonlyArray<Status> = [...runnable, "SUSPENDED"]

export const live: ReadonlyArray<Status> = [...listening, "CANCELLING"]

export const unfinished: ReadonlyArray<Status> = [...live, "FAILED"]

/** A change for executions in one of these statuses; those in others are left as they are. */
export const where =
  (expected: ReadonlyArray<Status>, change: (execution: Execution) => Change): Decide<never> =>
  (execution) =>
    Effect.succeed(expected.includes(execution.status) ? change(execution) : undefined)

/** A change for the execution that a command names: a failure where it is in none of the statuses expected, nor in one of `fine`. */
export const strictly =
  <E>(
    command: Command,
    expected: ReadonlyArray<Status>,
    fine: ReadonlyArray<Status>,
    decide: Decide<E>
  ): Decide<E | WrongStatus> =>
  (execution) => {
    const { id, status } = execution
    return expected.includes(status) || fine.includes(status)
      ? decide(execution)
      : new WrongStatus({ command, executionId: id, status, expected })
  }

/** What an execution was before it was suspended, where that was not `RUNNING`; other readers of the format pass over it. */
const suspendedFrom = "suspended_from"

const withoutOrigin = (extra: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(extra).filter(([name]) => name !== suspendedFrom))

export const suspended = (execution: Execution): Change => {
  const from = execution.status === "RUNNING" ? undefined : { [suspendedFrom]: execution.status }
  return {
    execution: { ...execution, status: "SUSPENDED", extra: { ...withoutOrigin(execution.extra), ...from } }
  }
}

export const resumed = (execution: Execution): Change => ({
  execution: {
    ...execution,
    status: execution.extra[suspendedFrom] === "PENDING" ? "PENDING" : "RUNNING",
    extra: withoutOrigin(execution.extra)
  }
})

export const ended = (execution: Execution, status: "CANCELLED" | "CANCELLING"): Execution => ({
  ...execution,
  status,
  extra: withoutOrigin(execution.extra)
})

/** The step that a command leaves in the trace. */
export const traceOf = (
  { command, reason }: { readonly command: Command; readonly reason: JsonObject | undefined },
  before: Execution,
  { data = {}, execution }: Change,
  timestamp: number
): TraceStep =>
  traceStep({
    eventKind: "Control",
    eventData: {
      ...(reason === undefined ? undefined : { reason }),
      ...data,
      command,
      from_status: before.status,
      to_status: execution.status
    },
    fromPath: before.activePath,
    toPath: execution.activePath,
    contextOut: execution.context,
    timestamp
  })
