import { LibsqlError } from "@libsql/client"
import * as Data from "effect/Data"
import type { Call } from "../../SqlDriver.js"
import { StoreRejected, StoreUnavailable } from "../../StoreError.js"
import type { HranaError, NoAnswer, NoToken, Refused, StatementFailed } from "../hrana/errors.js"
import * as refusal from "../hrana/refusal.js"
import { type Problem, problemOf } from "../sqlite/error.js"

type Unavailable = StoreUnavailable["reason"]
type Rejected = Exclude<StoreRejected["reason"], "schema">

/**
 * What went wrong between a driver and its database.
 *
 * - `outcome`: that of a write.
 * - `opening`: what it means to one who opens the database, where that is more: a database that has once been there is away, one that
 *   has not may be none.
 * - `place`: where the database is, unless the caller knows.
 */
export class Failure extends Data.TaggedError("LibsqlFailure")<{
  readonly reason: Unavailable | Rejected
  readonly outcome: "not-applied" | "unknown"
  readonly detail: string
  readonly opening?: "open" | "auth" | undefined
  readonly path?: string | undefined
  readonly place?: string | undefined
  readonly cause?: unknown
}> {
  override get message(): string {
    return this.detail
  }
}

const isUnavailable = (reason: Failure["reason"]): reason is Unavailable =>
  reason === "busy" ||
  reason === "timeout" ||
  reason === "connection" ||
  reason === "shutdown" ||
  reason === "no-leader"

/** The error that a caller sees; `write` says that it wrote. */
export const toStoreError = (call: Call, failure: Failure, write: boolean): StoreUnavailable | StoreRejected => {
  const { executionId, operation } = call
  const { cause, place } = failure
  const opens = operation === "open"
  const reason = (opens ? failure.opening : undefined) ?? failure.reason
  if (isUnavailable(reason)) {
    const detail = place === undefined ? failure.detail : `${place}: ${failure.detail}`
    const outcome = write ? failure.outcome : "not-applied"
    return new StoreUnavailable({ operation, executionId, reason, outcome, detail, cause })
  }
  const path = failure.path ?? (opens ? place : undefined)
  return new StoreRejected({ operation, executionId, reason, path, detail: failure.detail, cause })
}

/** The failure of a database that is at a place. */
export const at =
  (place: string) =>
  (failure: Failure): Failure =>
    new Failure({ ...failure, place })

/** A locked database, or a server that is overloaded or restarts: the same request may succeed a little later. */
export const isBusy = (failure: Failure): boolean => failure.reason === "busy" && failure.outcome === "not-applied"

const notApplied = (reason: Failure["reason"], detail: string, cause?: unknown): Failure =>
  new Failure({ reason, outcome: "not-applied", detail, cause })

const unknown = (reason: Failure["reason"], detail: string, cause?: unknown): Failure =>
  new Failure({ reason, outcome: "unknown", detail, cause })

const ofProblem = ({ cause, kind, meaning, said }: Problem): Failure => {
  const detail = meaning === "" ? said : `${meaning}: ${said}`
  // After a disk error it is not known whether the transaction was committed.
  return kind === "io" ? unknown("connection", detail, cause) : notApplied(kind, detail, cause)
}

// What opens a file says SQLite's code in its text alone.
const openFailure = /^ConnectionFailed\("(.*): (\d+)"\)$/s

/** Reads what a statement on a database of this process failed with. */
export const ofLocal = (error: unknown): Failure => {
  if (error instanceof Failure) return error
  if (error instanceof LibsqlError && error.code === "CLIENT_CLOSED") {
    return notApplied("shutdown", "the database connection is closed", error)
  }
  const [, text, code] = openFailure.exec(error instanceof Error ? error.message : "") ?? []
  if (text !== undefined) return ofProblem(problemOf({ cause: Object.assign(new Error(text), { code: Number(code) }) }))
  // The client puts the code before the text, which is in its cause by itself.
  return ofProblem(problemOf({ cause: error instanceof LibsqlError ? (error.cause ?? error) : error }))
}

const notSynced =
  'the server does not sync its disk at each commit, as durability: "full" asks for; started again it may have forgotten that it should'

const answersHold = "an answer of the server holds no more (--max-response-size, 10 MB by default)"

const ofStatement = (error: StatementFailed): Failure => {
  const { code, detail } = error
  if (code === "SQLITE_UNKNOWN" || /^(SQL|ARGS)_/.test(code)) return notApplied("sql", detail, error)
  if (code.startsWith("SQLITE_")) {
    // Of a disk without room sqld says no more than this.
    const said = code.startsWith("SQLITE_IOERR") ? `${detail}, as where the disk of the server is full` : detail
    return ofProblem({ ...problemOf({ cause: Object.assign(new Error(said), { code }) }), cause: error })
  }
  switch (code) {
    case "RESPONSE_TOO_LARGE":
      return notApplied("too-large", `${answersHold}: ${detail}`, error)
    case "TRANSACTION_BUSY":
      return notApplied("busy", detail, error)
    case "TRANSACTION_TIMEOUT":
      return unknown("busy", detail, error)
    case "BLOCKED":
      return notApplied("read-only", `the server does not take this now: ${detail}`, error)
    default:
      return unknown("connection", detail, error)
  }
}

const noDatabase = "this URL leads to no database that answers"

/** What an answer means of which it is not certain that the server gave it. */
const ofForeign = (status: number, said: string): Failure => {
  if (status >= 500) return unknown("connection", `the server failed (${said})`)
  if (status === 401 || status === 403) {
    const detail = `what is in front of the server does not let this through (${said})`
    return new Failure({ reason: "connection", outcome: "unknown", opening: "auth", detail })
  }
  const detail = status < 400 ? `the server is said to be elsewhere (${said})` : `${noDatabase} (${said})`
  return new Failure({ reason: "connection", outcome: "unknown", opening: "open", detail })
}

const ofRefusal = (refused: Refused): Failure => {
  const { meaning, said } = refusal.read(refused)
  switch (meaning) {
    case "auth":
      return notApplied(
        "auth",
        refused.status === 401
          ? `the token is missing, wrong or expired (${said})`
          : `the token does not allow this (${said})`
      )
    case "overloaded":
      return notApplied("busy", `the server is overloaded (${said})`)
    case "too-large":
      return notApplied("too-large", `the request is larger than what is in front of the server allows (${said})`)
    case "stopping":
      return new Failure({
        reason: "busy",
        outcome: "not-applied",
        opening: "open",
        detail: `${noDatabase} (${said})`
      })
    case "unreadable":
      return notApplied("sql", `the server cannot read the request (${said})`)
    case "foreign":
      return ofForeign(refused.status, said)
  }
}

const ofNoAnswer = (error: NoAnswer): Failure => {
  const { cause, detail, problem } = error
  const unreached = { reason: "connection", outcome: "not-applied", cause } as const
  switch (problem) {
    case "certificate":
      return new Failure({ ...unreached, opening: "open", detail: `no TLS connection came about: ${detail}` })
    case "port":
      return new Failure({ ...unreached, opening: "open", detail })
    case "unconnected":
      return new Failure({ ...unreached, detail })
    case "timeout":
      return unknown("timeout", detail, cause)
    case "broken":
      return unknown("connection", detail, cause)
  }
}

const wrongToken = ({ detail }: NoToken): string => `${detail} (an option of LibsqlStore)`

/** Reads what a request to a server failed with. */
export const ofHrana = (error: HranaError): Failure => {
  switch (error._tag) {
    case "NoToken":
      return error.problem === "missing"
        ? notApplied("connection", error.detail, error.cause)
        : new Failure({ reason: "invalid-input", outcome: "not-applied", path: "authToken", detail: wrongToken(error) })
    case "NoAnswer":
      return ofNoAnswer(error)
    case "Refused":
      return ofRefusal(error)
    case "Unreadable":
      return unknown("connection", `the answer is none of a libSQL server: ${error.detail}`)
    case "StatementFailed":
      return ofStatement(error)
    case "GuardFailed":
      return notApplied("busy", notSynced)
  }
}
