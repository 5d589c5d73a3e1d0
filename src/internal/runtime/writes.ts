import * as Effect from "effect/Effect"
import { AlreadyExists } from "../../DefinitionError.js"
import * as Event from "../../Event.js"
import type { ExecutionRuntime } from "../../ExecutionRuntime.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import { StoreRejected } from "../../StoreError.js"
import * as validate from "../codec/validate.js"
import { object, optional, plain, taking, text } from "../shapes/shape.js"
import { ack, commit, reservedIds, sending } from "../shapes/store.js"
import * as eventIds from "../util/eventIds.js"
import type { Process } from "./transitions.js"

type Writes = Pick<ExecutionRuntime, "create" | "start" | "send" | "process">

const anObject = object()
const newExecution = ["execution", object({ id: text })] as const

/** The same, which refuse what has another shape than they take, as code without types may give it. */
const shaped = (of: Writes): Writes => ({
  create: taking("commit", [newExecution, ["commit", commit]], of.create),
  start: taking("commit", [newExecution, ["data", optional(anObject)]], of.start),
  send: taking("enqueue", [plain, ["event", anObject], ["options", sending]], of.send),
  process: taking(
    "process",
    [plain, ["event", anObject], ["options", optional(object({ reservedIds, ack }))]],
    of.process
  )
})

/** What a runtime offers to write to its store. */
export const writes = (store: ExecutionStore, process: Process): Writes => {
  const create: ExecutionRuntime["create"] = (execution, commit) =>
    store
      .commit({ ...execution, version: 0 }, commit)
      .pipe(Effect.catchTag("StoreConflict", () => new AlreadyExists({ executionId: execution.id })))
  return shaped({
    create,
    start: (execution, data) =>
      create(execution, { emits: [{ targetId: execution.id, event: Event.start(execution.id, data) }] }),
    send: (targetId, event, options) =>
      Effect.flatMap(store.enqueue([{ targetId, event }], options), ([seq]) =>
        seq === undefined ? noSeq() : Effect.succeed(seq)
      ),
    process: (executionId, event, options) =>
      Effect.zipRight(refuseReserved(executionId, event, options), process(executionId, event, options))
  })
}

type ProcessOptions = Parameters<ExecutionRuntime["process"]>[2]

const refuseReserved = (
  executionId: string,
  event: Event.Event,
  options: ProcessOptions
): Effect.Effect<void, StoreRejected> => {
  if (options?.reservedIds === "accept" || options?.ack !== undefined) return Effect.void
  const { id, kind } = Event.start(executionId)
  if (event.id === id && event.kind === kind) return Effect.void
  return validate.refuse({ operation: "process", executionId }, "event.id", eventIds.reserved(event.id))
}

const noSeq = (): StoreRejected =>
  new StoreRejected({ operation: "enqueue", reason: "sql", detail: "the backend gave the event no seq" })
