import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Encoded } from "../../EncodedStore.js"
import type { ExecutionStore, Options } from "../../ExecutionStore.js"
import * as testClock from "../clock/testClock.js"
import * as validate from "../codec/validate.js"
import * as executionCache from "../executionCache/executionCache.js"
import * as shapes from "../shapes/store.js"
import * as activities from "./activities.js"
import { type Backend, listen, makeListeners, notifying } from "./backend.js"
import * as commit from "./commit.js"
import * as deadLetters from "./deadLetters.js"
import * as definitions from "./definitions.js"
import * as executions from "./executions.js"
import * as inspection from "./inspection.js"
import { instrumented } from "./instrumented.js"
import * as leases from "./leases.js"
import * as ledger from "./ledger.js"
import * as outbox from "./outbox.js"
import * as timers from "./timers.js"

const uninstrumented = (encoded: Encoded, options: Options): ExecutionStore => {
  const listeners = makeListeners()
  const notify = notifying(listeners)
  const exclusive = encoded.exclusive ?? false
  const told = testClock.tell(encoded.otherWrites)
  const backend: Backend = {
    encoded,
    checks: validate.makeChecks(options),
    cache: encoded.remembers === true ? executionCache.make(options.executionCache) : undefined,
    isHeard: () => listeners.all.size > 0,
    notify: exclusive
      ? notify
      : (notice) => {
          notify(notice)
          told.wrote()
        }
  }

  return {
    ...executions.make(backend),
    ...commit.make(backend),
    ...ledger.make(backend),
    ...outbox.make(backend),
    ...outbox.makeSpawns(backend),
    ...timers.make(backend),
    ...definitions.make(backend),
    activities: activities.make(backend),
    attributes: executions.makeAttributes(backend),
    deadLetters: deadLetters.make(backend),
    leases: leases.make(backend),
    stats: inspection.makeStats(backend),
    counts: inspection.makeCounts(backend),
    workOf: inspection.makeWork(backend),
    ...inspection.makeUnserved(backend),
    ...inspection.makeVerify(backend),
    listen: listen(listeners),
    listenToOthers: exclusive ? () => Effect.void : told.listen,
    exclusive,
    rows: Option.fromNullable(encoded.rows)
  }
}

/** @internal */
export const make = (encoded: Encoded, options: Options = {}): ExecutionStore =>
  shapes.make(instrumented(uninstrumented(encoded, options)))
