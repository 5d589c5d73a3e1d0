import * as Cause from "effect/Cause"
import * as Option from "effect/Option"
import type { Reason } from "../../DeadLetter.js"
import type { BuryOptions } from "../../ExecutionStore.js"
import {
  DefinitionNotFound,
  DefinitionVersionNotFound,
  EventInvalid,
  ExecutionNotFound,
  ExecutionSuspended
} from "../../ProcessorError.js"
import { Postponed, Refused, TargetNotFound } from "../../QueueWorker.js"
import { StoreRejected } from "../../StoreError.js"
import { isOutage } from "../supervision/storeMonitor.js"
import { isLeaseLost } from "../util/fence.js"

/**
 * What becomes of work that failed.
 *
 * - `Retry`: it is tried again, and the failure counts as an attempt.
 * - `Wait`: it waits for something, which counts as no attempt; with `outage` for the store.
 * - `Elsewhere`: it is another process's, or waits for a definition to be registered, of which the worker is told.
 * - `Drop`: it is removed. `Bury`: it becomes a dead letter; `emit` is for whoever waits for it.
 * - `Lost`: another process has its lane now, and decides by itself.
 */
export type Decision =
  | { readonly _tag: "Retry" }
  | { readonly _tag: "Wait"; readonly outage?: true }
  | { readonly _tag: "Elsewhere"; readonly error: DefinitionNotFound | DefinitionVersionNotFound }
  | { readonly _tag: "Lost" }
  | { readonly _tag: "Drop" }
  | { readonly _tag: "Bury"; readonly reason: Reason; readonly emit?: BuryOptions["emit"] }

const retry: Decision = { _tag: "Retry" }
const wait: Decision = { _tag: "Wait" }
const outage: Decision = { _tag: "Wait", outage: true }
const lost: Decision = { _tag: "Lost" }

/** What becomes of an event whose target does not exist. */
export const unknownTarget = (policy: "drop" | "dead-letter" | "wait"): Decision => {
  switch (policy) {
    case "drop":
      return { _tag: "Drop" }
    case "dead-letter":
      return { _tag: "Bury", reason: "no-target" }
    case "wait":
      return wait
  }
}

/** Whether the error says that the lane's own target does not exist. */
export const isNotFound = (error: unknown, lane: string | null): boolean =>
  error instanceof TargetNotFound || (error instanceof ExecutionNotFound && error.executionId === lane)

/** Whether the error says that the work can only wait, for example until an execution is resumed. */
const isWaiting = (error: unknown): boolean => error instanceof Postponed || error instanceof ExecutionSuspended

/** What becomes of work of this lane that failed; `notFound` is for work whose target does not exist. */
export const decide = (cause: Cause.Cause<unknown>, lane: string | null, notFound: Decision): Decision => {
  const error = Option.getOrUndefined(Cause.failureOption(cause))
  if (
    error instanceof EventInvalid ||
    error instanceof Refused ||
    (error instanceof StoreRejected && error.reason === "invalid-input")
  ) {
    return { _tag: "Bury", reason: "rejected" }
  }
  if (isLeaseLost(error)) return lost
  if (isOutage(error)) return outage
  if (isWaiting(error)) return wait
  // What has no target is nobody else's.
  if (error instanceof DefinitionNotFound || error instanceof DefinitionVersionNotFound)
    return lane === null ? wait : { _tag: "Elsewhere", error }
  return isNotFound(error, lane) ? notFound : retry
}
