import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Event from "../../Event.js"
import type { Execution } from "../../Execution.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import type { StoreError } from "../../StoreError.js"
import * as eventIds from "../util/eventIds.js"
import { type Change, ended, listening, strictly, unfinished, where } from "./change.js"
import { change, changeBelow, changeOther, type Run } from "./run.js"

const terminated = (execution: Execution): Change => ({ execution: ended(execution, "CANCELLED") })

/** Ends an execution whose parent goes on: the parent waits for it to finish, and nobody else would say that it did. */
export const terminatedAlone = (store: ExecutionStore, execution: Execution): Effect.Effect<Change, StoreError> =>
  Effect.gen(function* () {
    const { id, parentId } = execution
    const change = terminated(execution)
    if (parentId === null) return change
    const parent = yield* store.load(parentId)
    if (!Option.exists(parent, ({ status }) => listening.includes(status))) return change
    const data = { child_id: id, outcome: "cancelled" }
    // One that is created again under this id must be able to finish again.
    const eventId = eventIds.derived("finished", id, execution.createdAt ?? 0, execution.version)
    const event = Event.make({ id: eventId, kind: Event.WellKnownKind.Finished, data })
    return { ...change, commit: { emits: [{ targetId: parentId, event }] } }
  })

const terminateUnfinished = where(unfinished, terminated)

const dropSpawns = ({ store }: Run, executionId: string) =>
  Effect.flatMap(store.spawns.isParent(executionId), (any) => (any ? store.spawns.drop(executionId) : Effect.void))

/** Ends those below an execution, and what it and they have asked to be created. */
export const terminateBelow = (run: Run, executionId: string) =>
  Effect.zipRight(
    dropSpawns(run, executionId),
    changeBelow(run, executionId, (id) =>
      Effect.zipLeft(changeOther(run, id, terminateUnfinished), dropSpawns(run, id))
    )
  )

/** Ends an execution that the command does not name, and those below it; its parent is told nothing. */
export const terminateOther = (run: Run, executionId: string) =>
  Effect.zipRight(changeOther(run, executionId, terminateUnfinished), terminateBelow(run, executionId))

export const terminate = (run: Run, executionId: string) =>
  Effect.zipRight(
    change(
      run,
      executionId,
      strictly(run.command, unfinished, ["CANCELLED"], (execution) =>
        execution.status === "CANCELLED" ? Effect.succeed(undefined) : terminatedAlone(run.store, execution)
      )
    ),
    terminateBelow(run, executionId)
  )
