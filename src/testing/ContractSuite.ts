/**
 * The contract of an execution store, as tests that every store must pass.
 *
 * @since 0.1.0
 */
import { describe } from "@effect/vitest"
import type * as Layer from "effect/Layer"
import type { ExecutionStore } from "../ExecutionStore.js"
import { activities } from "./contract/activities.js"
import { attributes } from "./contract/attributes.js"
import { brokenTimers } from "./contract/brokenTimers.js"
import { children } from "./contract/children.js"
import { commit } from "./contract/commit.js"
import { concurrency } from "./contract/concurrency.js"
import { corruption } from "./contract/corruption.js"
import { deadLetters } from "./contract/deadLetters.js"
import { definitions } from "./contract/definitions.js"
import { delayed } from "./contract/delayed.js"
import { emissions } from "./contract/emissions.js"
import { failures } from "./contract/failures.js"
import { fencing } from "./contract/fencing.js"
import { foreign } from "./contract/foreign.js"
import { histories } from "./contract/histories.js"
import { input } from "./contract/input.js"
import { json } from "./contract/json.js"
import { leases } from "./contract/leases.js"
import { ledger } from "./contract/ledger.js"
import { limits } from "./contract/limits.js"
import { listing } from "./contract/listing.js"
import { notices } from "./contract/notices.js"
import { numbers } from "./contract/numbers.js"
import { outbox } from "./contract/outbox.js"
import { passedOver } from "./contract/passedOver.js"
import { pendingWork } from "./contract/pendingWork.js"
import { prefix } from "./contract/prefix.js"
import { purge } from "./contract/purge.js"
import { redrives } from "./contract/redrives.js"
import { remembering } from "./contract/remembered.js"
import { retention } from "./contract/retention.js"
import { spawns } from "./contract/spawns.js"
import { stamps } from "./contract/stamps.js"
import { stats } from "./contract/stats.js"
import { texts } from "./contract/texts.js"
import { timers } from "./contract/timers.js"
import { times } from "./contract/times.js"
import { together } from "./contract/together.js"
import { trace } from "./contract/trace.js"
import { transfer } from "./contract/transfer.js"
import { verify, verifyAnything } from "./contract/verify.js"
import * as Subject from "./Subject.js"

/**
 * The topics of the contract by name. Each registers its tests. To work on one topic at a time, call it with `Subject.make(layer)`.
 *
 * @since 0.1.0
 * @category tests
 */
export const topics = {
  commit,
  stamps,
  ledger,
  outbox,
  emissions,
  delayed,
  spawns,
  passedOver,
  timers,
  times,
  activities,
  failures,
  deadLetters,
  redrives,
  stats,
  pendingWork,
  trace,
  listing,
  attributes,
  children,
  prefix,
  purge,
  retention,
  definitions,
  notices,
  input,
  limits,
  json,
  texts,
  foreign,
  corruption,
  brokenTimers,
  numbers,
  verify,
  verifyAnything,
  transfer,
  leases,
  fencing,
  together,
  remembering,
  concurrency,
  histories
} satisfies { readonly [name: string]: (subject: Subject.Subject) => void }

/**
 * Registers the whole contract with vitest, under a name. The layer is built for each test, under `TestClock`. It must give an empty store
 * with the default options.
 *
 * Tests of foreign and corrupt rows need `options.raw`, tests of options `options.layerWith`; without these they are not registered.
 *
 * @example
 * ```ts
 * import * as ContractSuite from "holdfast/testing/ContractSuite"
 * import * as MemoryStore from "holdfast/MemoryStore"
 *
 * ContractSuite.suite("MemoryStore", MemoryStore.layer, { layerWith: MemoryStore.layerWith })
 * ```
 *
 * @since 0.1.0
 * @category tests
 */
export const suite = <R = never>(
  name: string,
  layer: Layer.Layer<ExecutionStore | R, unknown>,
  options: Subject.Options<R> = {}
): void => {
  describe(name, () => {
    const subject = Subject.make(layer, options)
    for (const topic of Object.values(topics)) topic(subject)
  })
}
