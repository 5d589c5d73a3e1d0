import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { NoSuchExecution } from "../../ControlError.js"
import { resumed, runnable, strictly, suspended, where } from "./change.js"
import * as executionTree from "./executionTree.js"
import { addCorrupt, change, changeBelow, changeOther, type Run } from "./run.js"

const suspendRunnable = where(runnable, suspended)

export const suspend = (run: Run, executionId: string) =>
  Effect.zipRight(
    change(run, executionId, strictly(run.command, runnable, ["SUSPENDED"], suspendRunnable)),
    changeBelow(run, executionId, (id) => changeOther(run, id, suspendRunnable))
  )

const resumeSuspended = where(["SUSPENDED"], resumed)

export const resume = (run: Run, executionId: string) =>
  Effect.gen(function* () {
    const { command, store } = run
    const checked = strictly(command, ["SUSPENDED"], [], resumeSuspended)
    const found = yield* store.load(executionId)
    if (Option.isNone(found)) return yield* new NoSuchExecution({ command, executionId })
    yield* checked(found.value)
    // The root comes last: while it is suspended, the command can be repeated.
    yield* executionTree.walk(store, executionId, {
      order: "after",
      corrupt: (row) => addCorrupt(run, row),
      visit: (id) => changeOther(run, id, resumeSuspended)
    })
    yield* change(run, executionId, checked)
  })
