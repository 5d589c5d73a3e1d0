import * as Effect from "effect/Effect"
import type { Encoded } from "../../EncodedStore.js"
import type { ExecutionStore, Notice, Options } from "../../ExecutionStore.js"
import * as validate from "../codec/validate.js"
import type { Backend } from "./backend.js"
import * as commit from "./commit.js"
import * as deadLetters from "./deadLetters.js"
import * as definitions from "./definitions.js"
import * as executions from "./executions.js"
import { instrumented } from "./instrumented.js"
import * as leases from "./leases.js"
import * as ledger from "./ledger.js"
import * as outbox from "./outbox.js"
import * as spawns from "./spawns.js"
import * as stats from "./stats.js"
import * as timers from "./timers.js"

const uninstrumented = (encoded: Encoded, options: Options): ExecutionStore => {
  const listeners = new Set<(notice: Notice) => void>()
  const notify = (notice: Notice): void => {
    for (const listener of listeners) listener(notice)
  }
  const backend: Backend = { encoded, checks: validate.makeChecks(options.maxIdBytes ?? 1024), notify }

  return {
    ...executions.make(backend),
    ...commit.make(backend),
    ...ledger.make(backend),
    ...outbox.make(backend),
    ...spawns.make(backend),
    ...timers.make(backend),
    ...definitions.make(backend),
    deadLetters: deadLetters.make(backend),
    leases: leases.make(backend),
    stats: stats.make(backend),
    listen: (listener) =>
      Effect.acquireRelease(
        Effect.sync(() => void listeners.add(listener)),
        () => Effect.sync(() => listeners.delete(listener))
      )
  }
}

/** @internal */
export const make = (encoded: Encoded, options: Options = {}): ExecutionStore =>
  instrumented(uninstrumented(encoded, options))
