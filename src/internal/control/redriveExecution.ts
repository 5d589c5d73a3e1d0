import * as Effect from "effect/Effect"
import type { RedriveOptions } from "../../Control.js"
import { ChildrenLive } from "../../ControlError.js"
import type { Execution } from "../../Execution.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import { type Change, live, strictly } from "./change.js"
import { change, type Run } from "./run.js"

/** The ids of children that an execution would lose if it went on elsewhere. */
const liveChildren = (store: ExecutionStore, { children, id }: Execution) =>
  Effect.map(store.listExecutions({ parentId: id, status: live, limit: 10 }), ({ items }) => {
    const known = Object.entries(children).flatMap(([id, child]) => (child.finished ? [] : [id]))
    return Array.from(new Set([...known, ...items.map(({ id }) => id)]))
  })

const redriven = (execution: Execution, { activePath, event }: RedriveOptions): Change => ({
  execution: {
    ...execution,
    status: "RUNNING",
    error: null,
    result: null,
    ...(activePath === undefined ? undefined : { activePath, history: {} })
  },
  commit: event === undefined ? {} : { emits: [{ targetId: execution.id, event }] }
})

export const redrive = (run: Run, executionId: string, options: RedriveOptions) =>
  change(
    run,
    executionId,
    strictly(run.command, ["FAILED"], [], (execution) =>
      Effect.gen(function* () {
        if (options.activePath !== undefined) {
          const lost = yield* liveChildren(run.store, execution)
          if (lost.length > 0) return yield* new ChildrenLive({ command: run.command, executionId, live: lost })
        }
        return redriven(execution, options)
      })
    )
  )
