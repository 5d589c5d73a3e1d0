import { LibsqlError } from "@libsql/client"
import * as Data from "effect/Data"
import * as Predicate from "effect/Predicate"
import type { Call } from "../../SqlDriver.js"
import { StoreRejected, StoreUnavailable } from "../../StoreError.js"
import * as transportError from "../http/transportError.js"
import { type Problem, problemOf } from "../sqlite/error.js"

type Unavailable = StoreUnavailable["reason"]
type Rejected = Exclude<StoreRejected["reason"], "schema">

/** What went wrong between a driver and its database. `outcome` is that of a write. */
export class Failure extends Data.TaggedError("LibsqlFailure")<{
  readonly reason: Unavailable | Rejected
  readonly outcome: "not-applied" | "unknown"
  readonly detail: string
  readonly path?: string | undefined
  readonly cause?: unknown | undefined
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
  const { cause, detail, path, reason } = failure
  const common = {
    operation: call.operation,
    executionId: call.executionId,
    detail,
    cause
  }
  return isUnavailable(reason)
    ? new StoreUnavailable({ ...common, reason, outcome: write ? failure.outcome : "not-applied" })
    : new StoreRejected({ ...common, path, reason })
}

/** A lock that is in the way, or a server that is overloaded: the very same will do a little later. */
export const isBusy = (failure: Failure): boolean => failure.reason === "busy" && failure.outcome === "not-applied"

const notApplied = (reason: Failure["reason"], detail: string, cause?: unknown): Failure =>
  new Failure({ reason, outcome: "not-applied", detail, cause })

const unknown = (reason: Failure["reason"], detail: string, cause?: unknown): Failure =>
  new Failure({ reason, outcome: "unknown", detail, cause })

const ofProblem = ({ cause, kind, meaning, said }: Problem): Failure => {
  const detail = meaning === "" ? said : `${meaning}: ${said}`
  // Where the disk failed nobody knows whether that was the transaction's end.
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

/** What a server says of a statement, or of all statements of a request. */
const ofServer = (error: LibsqlError): Failure => {
  const said = error.cause instanceof Error ? error.cause.message : error.message
  if (error.code === "SQLITE_UNKNOWN" || /^(SQL|ARGS)_/.test(error.code)) return notApplied("sql", said, error)
  if (error.code.startsWith("SQLITE_")) return ofProblem(problemOf({ cause: error.cause ?? error }))
  switch (error.code) {
    case "RESPONSE_TOO_LARGE":
      return notApplied(
        "too-large",
        `the server's answers hold no more (--max-response-size, 10 MB by default): ${said}`,
        error
      )
    case "TRANSACTION_BUSY":
      return notApplied("busy", said, error)
    case "TRANSACTION_TIMEOUT":
      return unknown("busy", said, error)
    case "BLOCKED":
      return notApplied("read-only", `the server does not take this now: ${said}`, error)
    default:
      return unknown("connection", said, error)
  }
}

/** Reads what a call to a server failed with; what its HTTP answer says has been read before. */
export const ofRemote = (error: unknown): Failure => {
  if (error instanceof Failure) return error
  if (error instanceof LibsqlError) return ofServer(error)
  const detail = error instanceof Error ? error.message : String(error)
  return unknown("connection", `the answer is none of a libSQL server: ${detail}`, error)
}

/** Reads why a request got no whole answer. */
export const ofRequest = (cause: unknown): Failure => {
  const { detail, problem } = transportError.read(cause)
  switch (problem) {
    case "certificate":
      return notApplied("open", `the server is not trusted: ${detail}`, cause)
    case "port":
      return notApplied("open", detail, cause)
    case "unconnected":
      return notApplied("connection", detail, cause)
    case "broken":
      return unknown("connection", detail, cause)
  }
}

/** What an answer that is no success says, which servers put into JSON in two ways. */
const textOf = (body: string): string => {
  try {
    const parsed: unknown = JSON.parse(body)
    if (Predicate.hasProperty(parsed, "error") && Predicate.isString(parsed.error)) return parsed.error
    if (Predicate.hasProperty(parsed, "message") && Predicate.isString(parsed.message)) return parsed.message
  } catch {
    // Not every answer is JSON.
  }
  const line = body.trim().replace(/\s+/g, " ")
  return line.length > 200 ? `${line.slice(0, 200)}...` : line
}

/** Sorts an answer by its status, which is not one of success. */
export const ofStatus = (status: number, body: string): Failure => {
  const text = textOf(body)
  const said = `status ${status}${text === "" ? "" : `: ${text}`}`
  switch (status) {
    case 401:
      return notApplied("auth", `the token is missing, wrong or expired (${said})`)
    case 403:
      return notApplied("auth", `the token does not allow this (${said})`)
    case 429:
      return notApplied("busy", `the server is overloaded (${said})`)
    case 413:
      return notApplied("too-large", `the request is larger than what is between here and the server allows (${said})`)
  }
  if (status < 400 || status === 404 || status === 405) {
    return notApplied("open", `there is no such database at this URL (${said})`)
  }
  return unknown("connection", `the server failed (${said})`)
}
