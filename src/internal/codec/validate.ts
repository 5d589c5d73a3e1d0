import * as Either from "effect/Either"
import type { Timer } from "../../Commit.js"
import type { EncodedAttribute } from "../../EncodedStore.js"
import type { Attributes } from "../../Execution.js"
import { StoreRejected } from "../../StoreError.js"
import * as limits from "../util/limits.js"
import { Invalid, show } from "./reader.js"

/** Which operation a piece of input belongs to, for the error that refuses it. */
export interface Call {
  readonly operation: string
  readonly executionId?: string | undefined
}

export const rejected = (call: Call, path: string, detail: string): StoreRejected =>
  new StoreRejected({
    operation: call.operation,
    ...(typeof call.executionId === "string"
      ? { executionId: call.executionId.slice(0, 200).toWellFormed() }
      : undefined),
    reason: "invalid-input",
    path: path === "" ? undefined : path,
    detail
  })

/** What was made of a piece of input, or the error that refuses it. */
export const encoded = <A>(call: Call, made: Either.Either<A, Invalid>): Either.Either<A, StoreRejected> =>
  Either.mapLeft(made, (invalid) => rejected(call, invalid.path, invalid.problem))

/** Fails where a check found something. */
export const refuse = (call: Call, path: string, problem: string | undefined): Either.Either<void, StoreRejected> =>
  problem === undefined ? Either.void : Either.left(rejected(call, path, problem))

/** Throws {@link Invalid} where a check found something; for {@link catching}. */
export const demand = (path: string, problem: string | undefined): void => {
  if (problem !== undefined) throw new Invalid(path, problem)
}

/** Runs checks and encoders that throw {@link Invalid}: what they make of a piece of input, or the error that refuses it. */
export const catching = <A>(call: Call, make: () => A): Either.Either<A, StoreRejected> => {
  try {
    return Either.right(make())
  } catch (error) {
    if (error instanceof Invalid) return Either.left(rejected(call, error.path, error.problem))
    throw error
  }
}

/** The checks of texts, each giving what is wrong or nothing, and how large the rest may be. */
export interface Checks {
  readonly limits: limits.Limits
  /** Any text that every backend keeps exactly. */
  readonly text: (value: unknown) => string | undefined
  /** A text that is not empty. */
  readonly id: (value: unknown) => string | undefined
  /** The id of an event. It may be longer: some are made of an execution's id, a timer's path and a time. */
  readonly eventId: (value: unknown) => string | undefined
}

/** What is wrong with a text of any length, or nothing. */
export const wellFormed = (value: unknown): string | undefined => {
  if (typeof value !== "string") return `expected a string, found ${value === null ? "null" : typeof value}`
  return value.isWellFormed() ? undefined : "a string with a lone surrogate is not Unicode"
}

const textOf =
  (maxBytes: number): Checks["text"] =>
  (value) =>
    wellFormed(value) ??
    (typeof value === "string" && limits.exceeds(value, maxBytes) ? `longer than ${maxBytes} bytes` : undefined)

const idOf = (maxBytes: number): Checks["id"] => {
  const text = textOf(maxBytes)
  return (value) => (value === "" ? "must not be empty" : text(value))
}

/** What the ids of events that are made of other ids have beside these: words, a time, marks between. */
const derivedBytes = 64

export const makeChecks = (options: limits.Options): Checks => {
  const made = limits.make(options)
  const maxIdBytes = made.id.most
  return {
    limits: made,
    text: textOf(maxIdBytes),
    id: idOf(maxIdBytes),
    eventId: idOf(2 * maxIdBytes + derivedBytes)
  }
}

/** What is wrong with the name of a pool of leases, of one of its members or of a lease, or nothing. */
export const leaseName: Checks["id"] = idOf(1024)

/** What is wrong with a whole number, or nothing. */
export const wholeNumber = (value: unknown, least: number, most: number): string | undefined =>
  Number.isSafeInteger(value) && typeof value === "number" && value >= least && value <= most
    ? undefined
    : `expected a whole number of ${least} to ${most}, found ${show(value)}`

/** What is wrong with a number of seconds, or nothing. */
export const finite = (value: unknown): string | undefined =>
  typeof value === "number" && Number.isFinite(value)
    ? undefined
    : `expected finite seconds since the epoch, found ${show(value)}`

/**
 * What is wrong with the time at which a timer is to fire, or nothing. The bounds are those within which a plan can carry every double to
 * SQL exactly; see `splitDouble`.
 */
export const fireAt = (value: unknown): string | undefined => {
  if (typeof value !== "number" || !Number.isFinite(value)) return finite(value)
  const magnitude = Math.abs(value)
  return magnitude === 0 || (magnitude >= 2 ** -10 && magnitude <= 2 ** 53)
    ? undefined
    : `expected seconds since the epoch, 0 or 2^-10 to 2^53 in magnitude, found ${value}`
}

/** Throws {@link Invalid} for a timer that cannot be the name of an armed one, which another program may have armed for any finite time. */
export const demandTimer = (checks: Checks, timer: Timer, path: string): void => {
  const at = (key: string): string => (path === "" ? key : `${path}.${key}`)
  demand(at("executionId"), checks.id(timer.executionId))
  demand(at("path"), checks.text(timer.path))
  demand(at("fireAt"), finite(timer.fireAt))
}

/** Fails where {@link demandTimer} throws. */
export const timer = (call: Call, checks: Checks, timer: Timer, path: string): Either.Either<void, StoreRejected> =>
  catching(call, () => demandTimer(checks, timer, path))

const attributeNames = /^[\p{L}_][\p{L}\p{N}_.-]{0,63}$/u

/** What is wrong with the name of an attribute, or nothing. */
export const attributeName = (name: string): string | undefined =>
  attributeNames.test(name)
    ? undefined
    : `${JSON.stringify(name.slice(0, 64))} is not a name of 1 to 64 letters, digits and signs of "_", "." and "-" that begins with a letter or "_"`

/** What is wrong with a number of attributes, or nothing. */
export const attributeCount = (count: number): string | undefined =>
  count > limits.mostAttributes ? `${count} are more than ${limits.mostAttributes}` : undefined

/** The JSON text of an attribute's value; throws for what is none. */
const attributeValue = (checks: Checks, value: unknown, path: string): string => {
  if (typeof value === "string") demand(path, checks.text(value))
  else if (typeof value === "number") {
    demand(path, Number.isFinite(value) ? undefined : `expected a finite number, found ${value}`)
  } else if (typeof value !== "boolean") {
    throw new Invalid(path, `expected a string, a number or a boolean, found ${value === null ? "null" : typeof value}`)
  }
  return JSON.stringify(value)
}

/** Attributes in stored form, in their order; throws {@link Invalid}. */
export const attributes = (checks: Checks, attributes: Attributes): ReadonlyArray<EncodedAttribute> => {
  const entries = Object.entries(attributes)
  demand("attributes", attributeCount(entries.length))
  return entries.map(([name, value]) => {
    demand("attributes", attributeName(name))
    return [name, attributeValue(checks, value, `attributes.${name}`)]
  })
}
