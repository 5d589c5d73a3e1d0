import * as Effect from "effect/Effect"
import type { CancelOptions } from "../../Control.js"
import { type ControlConflict, type NoSuchExecution, WrongStatus } from "../../ControlError.js"
import * as Event from "../../Event.js"
import type { Execution } from "../../Execution.js"
import type { JsonObject } from "../../Json.js"
import type { StoreError } from "../../StoreError.js"
import * as eventIds from "../util/eventIds.js"
import { type Change, ended, unfinished } from "./change.js"
import * as executionTree from "./executionTree.js"
import { addCorrupt, change, type Run } from "./run.js"
import { terminateBelow, terminatedAlone, terminateOther } from "./terminate.js"

/** What becomes of those below an execution: nothing, all of them end, or those that were there before are cancelled. */
type Below =
  | { readonly _tag: "Leave" }
  | { readonly _tag: "Terminate" }
  | { readonly _tag: "Children"; readonly before: executionTree.Children }

interface Decision {
  readonly change: Change | undefined
  readonly below: Below
}

interface Options {
  readonly reason: JsonObject
  readonly children: NonNullable<CancelOptions["children"]>
}

/** Whether there may be something to clean up. */
const isStarted = ({ activePath, processedEvents, status }: Execution): boolean =>
  status === "RUNNING" || activePath !== null || processedEvents > 0

const asked = (execution: Execution, reason: JsonObject): Change => {
  const id = eventIds.derived("cancel", execution.id, execution.version)
  const event = Event.make({ id, kind: Event.WellKnownKind.Cancel, data: reason })
  return {
    execution: ended(execution, "CANCELLING"),
    commit: { emits: [{ targetId: execution.id, event }] },
    data: { reason }
  }
}

const decide = ({ store }: Run, execution: Execution, reason: JsonObject): Effect.Effect<Decision, StoreError> =>
  Effect.gen(function* () {
    const { id, status } = execution
    // It has been asked already, and what is below it now may be its clean-up.
    if (status === "CANCELLING" || status === "CANCELLED") return { change: undefined, below: { _tag: "Leave" } }
    if (status === "FAILED" || (status !== "DONE" && !isStarted(execution))) {
      return { change: yield* terminatedAlone(store, execution), below: { _tag: "Terminate" } }
    }
    const before = yield* executionTree.children(store, id)
    return { change: status === "DONE" ? undefined : asked(execution, reason), below: { _tag: "Children", before } }
  })

/** Cancels one execution, whose status `check` has accepted, and then its children as they were before. */
const cancelTree = <E>(
  run: Run,
  executionId: string,
  options: Options,
  check: (execution: Execution) => Effect.Effect<void, E>
): Effect.Effect<void, E | NoSuchExecution | ControlConflict | StoreError> =>
  Effect.gen(function* () {
    let below: Below = { _tag: "Leave" }
    yield* change(run, executionId, (execution) =>
      Effect.zipRight(
        check(execution),
        Effect.map(decide(run, execution, options.reason), (decision) => {
          below = decision.below
          return decision.change
        })
      )
    )
    yield* cancelBelow(run, executionId, options, below)
  })

const cancelBelow = (
  run: Run,
  executionId: string,
  options: Options,
  below: Below
): Effect.Effect<void, ControlConflict | StoreError> => {
  if (below._tag === "Leave") return Effect.void
  if (below._tag === "Terminate") return terminateBelow(run, executionId)
  const { ids, spawns } = below.before
  // One of the spawns may have been carried out before it was removed.
  const children = new Set([...ids, ...spawns.map(({ childId }) => childId)])
  return Effect.zipRight(
    Effect.forEach(spawns, ({ seq }) => run.store.ackSpawn(seq), { discard: true }),
    Effect.forEach(
      children,
      (id) => (options.children === "terminate" ? terminateOther(run, id) : cancelOther(run, id, options)),
      { discard: true }
    )
  )
}

const cancelOther = (run: Run, executionId: string, options: Options) =>
  cancelTree(run, executionId, options, () => Effect.void).pipe(
    Effect.catchTags({
      NoSuchExecution: () => Effect.void,
      StoreCorrupt: (row) => Effect.sync(() => addCorrupt(run, row))
    })
  )

export const cancel = (run: Run, executionId: string, { children = "terminate", reason = {} }: CancelOptions) =>
  cancelTree(run, executionId, { children, reason }, ({ status }) =>
    status === "DONE"
      ? new WrongStatus({ command: run.command, executionId, status, expected: unfinished })
      : Effect.void
  )
