import { isHttpClientError } from "@effect/platform/HttpClientError"
import { type RqliteError, RqliteRejected, RqliteStatementError, RqliteUnavailable } from "../../RqliteError.js"
import * as transportError from "../http/transportError.js"

/** A request as its failures must name it. What a write came to is `"unknown"` unless the failure proves that it was not applied. */
export interface Call {
  readonly operation: string
  readonly write: boolean
}

type Reason = RqliteUnavailable["reason"]

/** A failure after which a write was certainly not applied. */
export const notApplied = (call: Call, node: string, reason: Reason, detail: string, cause?: unknown) =>
  new RqliteUnavailable({
    operation: call.operation,
    reason,
    outcome: "not-applied",
    node,
    detail,
    cause
  })

/** A failure that tells nothing about a write. */
export const unknown = (call: Call, node: string, reason: Reason, detail: string, cause?: unknown) =>
  new RqliteUnavailable({
    operation: call.operation,
    reason,
    outcome: call.write ? "unknown" : "not-applied",
    node,
    detail,
    cause
  })

const rejected = (call: Call, node: string, reason: RqliteRejected["reason"], detail: string, cause?: unknown) =>
  new RqliteRejected({ operation: call.operation, reason, node, detail, cause })

/** What a call can go on after: with another node at once, or with all of them a little later. */
export const canGoOn = (call: Call, error: RqliteError): boolean =>
  error._tag === "RqliteUnavailable" && (!call.write || error.outcome === "not-applied")

/** Whether a failure is about the node that was asked, or what is in its place, and not about the request. */
export const isOfNode = (error: RqliteError): boolean =>
  error._tag === "RqliteRejected" && (error.reason === "auth" || error.reason === "tls" || error.reason === "endpoint")

/** Sorts what the HTTP client failed with before an answer was complete. */
export const ofTransport = (call: Call, node: string, error: unknown): RqliteError => {
  // The client's own error holds the request, and so the values bound and the password.
  const cause = isHttpClientError(error) ? error.cause : error
  if (isHttpClientError(error) && error._tag === "RequestError" && error.reason !== "Transport") {
    return rejected(call, node, "request", `the request could not be made: ${error.description ?? error.reason}`)
  }
  const { detail, problem } = transportError.read(cause)
  if (tooLong.test(detail) && !call.write) {
    return rejected(call, node, "too-large", `the answer is longer than a text may be here (${detail})`, cause)
  }
  switch (problem) {
    case "certificate":
      return rejected(call, node, "tls", detail, cause)
    case "port":
      return rejected(call, node, "endpoint", detail, cause)
    case "unconnected":
      return notApplied(call, node, "connection", explained(detail), cause)
    case "broken":
      return unknown(call, node, "connection", detail, cause)
  }
}

// V8's message for an answer that is too long for a string.
const tooLong = /^(Cannot create a string longer|Invalid string length)/

// What a node advertises, or a name that stands for several of them, may have no address here.
const explained = (detail: string): string =>
  /ENOTFOUND|EAI_AGAIN/.test(detail) ? `${detail}: the name has no address here, list the nodes' addresses` : detail

const excerpt = (body: string): string => {
  const line = body.trim().replace(/\s+/g, " ")
  return line === "" ? "" : `: ${line.length > 200 ? `${line.slice(0, 200)}...` : line}`
}

const unauthorized = "the credentials are wrong or lack a permission"

/** What a proxy, or whatever else is at the URL, answers in place of a node. It says nothing about the cluster. */
const ofProxy = (call: Call, node: string, status: number, said: string): RqliteError => {
  switch (status) {
    case 401:
    case 403:
      return rejected(call, node, "auth", `${unauthorized} (${said}, from a proxy)`)
    case 408:
    case 504:
      return unknown(call, node, "timeout", said)
    case 413:
      return rejected(call, node, "too-large", `the request is larger than a proxy before the node allows (${said})`)
    case 429:
      return notApplied(call, node, "busy", `too many requests (${said})`)
  }
  return status >= 400 && status < 500
    ? rejected(call, node, "endpoint", `no node of rqlite answers at this URL (${said})`)
    : unknown(call, node, "answer", said)
}

/** JSON has no infinity: the statements ran, and a node cannot tell their rows. */
const ofInfinity = ({ operation, write }: Call, node: string, said: string): RqliteError =>
  write
    ? unknown(
        { operation, write },
        node,
        "answer",
        `it was applied, but a row that it returns holds an infinite number, which rqlite cannot send (${said})`
      )
    : new RqliteStatementError({
        operation,
        node,
        reason: "sql",
        detail: `a row holds an infinite number, which rqlite cannot send (${said})`
      })

/** What a node itself answers. */
const ofServer = (call: Call, node: string, status: number, body: string, said: string): RqliteError => {
  switch (status) {
    case 401:
    case 403:
      return rejected(call, node, "auth", `${unauthorized} (${said})`)
    case 404:
      return rejected(call, node, "endpoint", `the URL's path leads to no API of rqlite (${said})`)
    case 408:
      return unknown(call, node, "timeout", said)
    case 503:
      return notApplied(call, node, "no-leader", `the node is not ready (${said})`)
  }
  if (status === 500 && /unsupported value: [+-]Inf/.test(body)) return ofInfinity(call, node, said)
  const refused = (status >= 400 && status < 500) || (status === 500 && /^SQL rewrite/.test(body))
  return refused ? rejected(call, node, "request", said) : unknown(call, node, "answer", said)
}

/** Sorts an answer whose status is neither 200 nor a redirect. `genuine` says that a node itself gave it, not a proxy before it. */
export const ofStatus = (call: Call, node: string, status: number, body: string, genuine: boolean): RqliteError => {
  const said = `status ${status}${excerpt(body)}`
  // A proxy that takes the headers away leaves what a node says.
  if ((status === 500 || status === 503) && /^leader not found/.test(body)) {
    return notApplied(call, node, "no-leader", "the cluster has no leader")
  }
  return genuine ? ofServer(call, node, status, body, said) : ofProxy(call, node, status, said)
}

// Said before anything entered the Raft log, by a node that was asked not to pass the request on.
const noLeader =
  /^(not leader|leader not found|store not open|store not ready|leadership transfer in progress|timed out enqueuing operation|node is not the leader)$/

/** Sorts an error that is about a whole request; none where it is about the statements. */
export const ofRequest = (call: Call, node: string, error: string): RqliteUnavailable | undefined => {
  if (noLeader.test(error)) return notApplied(call, node, "no-leader", error)
  if (error === "cannot start a transaction within a transaction") {
    return notApplied(call, node, "busy", "somebody left the cluster's write connection inside a transaction")
  }
  if (error === "stale read")
    return notApplied(call, node, "stale", "the node's data is older than the freshness asked for")
  return /constraint failed|^disallowed pragma$/.test(error) ? undefined : unknown(call, node, "answer", error)
}
