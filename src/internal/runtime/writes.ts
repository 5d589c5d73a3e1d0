import * as Effect from "effect/Effect"
import { AlreadyExists } from "../../DefinitionError.js"
import * as Event from "../../Event.js"
import type { ExecutionRuntime } from "../../ExecutionRuntime.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import { StoreRejected } from "../../StoreError.js"
import * as validate from "../codec/validate.js"
import * as eventIds from "../util/eventIds.js"
import type { Process } from "./transitions.js"

/** What a runtime offers to write to its store. */
export const writes = (
  store: ExecutionStore,
  process: Process
): Pick<ExecutionRuntime, "create" | "start" | "send" | "process"> => {
  const create: ExecutionRuntime["create"] = (execution, commit) =>
    store
      .commit({ ...execution, version: 0 }, commit)
      .pipe(Effect.catchTag("StoreConflict", () => new AlreadyExists({ executionId: execution.id })))
  return {
    create,
    start: (execution, data) =>
      create(execution, { emits: [{ targetId: execution.id, event: Event.start(execution.id, data) }] }),
    send: (targetId, event, options) =>
      Effect.flatMap(store.enqueue([{ targetId, event }], options), ([seq]) =>
        seq === undefined ? noSeq() : Effect.succeed(seq)
      ),
    process: (executionId, event, options) =>
      Effect.zipRight(refuseReserved(executionId, event, options), process(executionId, event, options))
  }
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
