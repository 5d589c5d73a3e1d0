import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { Control, Options } from "../../Control.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import { cancel } from "./cancel.js"
import { purge } from "./purgeTree.js"
import { redrive } from "./redrive.js"
import { type Environment, reporting } from "./run.js"
import { resume, suspend } from "./suspend.js"
import { terminate } from "./terminate.js"

const defaultConflictRetry = Schedule.exponential("5 millis").pipe(
  Schedule.jittered,
  Schedule.intersect(Schedule.recurs(9))
)

/** @internal */
export const make = ({
  conflictRetry = defaultConflictRetry
}: Options = {}): Effect.Effect<Control, never, ExecutionStore> =>
  Effect.map(ExecutionStore, (store): Control => {
    const environment: Environment = { store, conflictRetry }
    return {
      suspend: (id) => reporting(environment, "suspend", (run) => suspend(run, id)),
      resume: (id) => reporting(environment, "resume", (run) => resume(run, id)),
      cancel: (id, options = {}) => reporting(environment, "cancel", (run) => cancel(run, id, options)),
      terminate: (id) => reporting(environment, "terminate", (run) => terminate(run, id)),
      redrive: (id, options = {}) => reporting(environment, "redrive", (run) => redrive(run, id, options)),
      purge: (id, options = {}) => reporting(environment, "purge", (run) => purge(run, id, options))
    }
  })
