import * as Predicate from "effect/Predicate"
import {
  checked,
  functions,
  methods,
  optional,
  patience,
  schedule,
  timeOrInfinity,
  whole,
  wholeOrInfinity
} from "./fields.js"

/** The options of all workers, save which lanes they serve. */
export const queueFields = {
  concurrency: optional(whole(1)),
  pageSize: optional(whole(1, 1000)),
  pollInterval: optional(timeOrInfinity),
  retry: optional(schedule),
  maxAttempts: optional(wholeOrInfinity(1)),
  shutdownTimeout: optional(patience)
}

/** The options of all workers. */
export const workerFields = {
  ...queueFields,
  shards: optional(methods("owns", "onChange")),
  elsewhere: optional(methods("passed", "found"))
}

/** The options of all processors, save what becomes of failures. */
export const processorFields = { conflictRetry: optional(schedule), transitionTimeout: optional(timeOrInfinity) }

/** What becomes of an execution whose transition fails. */
export const onFailure = optional(
  checked((u) => u === "retry" || u === "fail" || Predicate.isFunction(u), 'one of "retry", "fail", or a function')
)

/** Whom a notice is for. */
export const target = optional(
  checked(
    (u) => u === null || Predicate.isFunction(u) || (Predicate.isString(u) && u !== "" && u.isWellFormed()),
    "the id of an execution, null, or a function"
  )
)

/** Transitions by the id of their definition. */
export const definitions = functions("an object with a transition, which is a function, for each definition")
