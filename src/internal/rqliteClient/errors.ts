import { isHttpClientError } from "@effect/platform/HttpClientError"
import { type RqliteError, RqliteRejected, RqliteUnavailable } from "../../RqliteError.js"
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
    ...(cause === undefined ? {} : { cause })
  })

/** A failure that tells nothing about a write. */
export const unknown = (call: Call, node: string, reason: Reason, detail: string, cause?: unknown) =>
  new RqliteUnavailable({
    operation: call.operation,
    reason,
    outcome: call.write ? "unknown" : "not-applied",
    node,
    detail,
    ...(cause === undefined ? {} : { cause })
  })

const rejected = (call: Call, node: string, reason: RqliteRejected["reason"], detail: string, cause?: unknown) =>
  new RqliteRejected({ operation: call.operation, reason, node, detail, ...(cause === undefined ? {} : { cause }) })

/** What a call can go on after: with another node at once, or with all of them a little later. */
export const canGoOn = (call: Call, error: RqliteError): boolean =>
  error._tag === "RqliteUnavailable" && (!call.write || error.outcome === "not-applied")

/** Sorts what the HTTP client failed with before an answer was complete. */
export const ofTransport = (call: Call, node: string, error: unknown): RqliteError => {
  // The client's own error holds the request, and so the values bound and the password.
  const cause = isHttpClientError(error) ? error.cause : error
  if (isHttpClientError(error) && error._tag === "RequestError" && error.reason !== "Transport") {
    return rejected(call, node, "request", `the request could not be made: ${error.description ?? error.reason}`)
  }
  const { detail, problem } = transportError.read(cause)
  switch (problem) {
    case "certificate":
      return rejected(call, node, "tls", detail, cause)
    case "port":
      return rejected(call, node, "request", detail, cause)
    case "unconnected":
      return notApplied(call, node, "connection", detail, cause)
    case "broken":
      return unknown(call, node, "connection", detail, cause)
  }
}

const excerpt = (body: string): string => {
  const line = body.trim().replace(/\s+/g, " ")
  return line === "" ? "" : `: ${line.length > 200 ? `${line.slice(0, 200)}...` : line}`
}

/** Sorts an answer whose status is neither 200 nor a redirect. `genuine` says that a node itself gave it, not a proxy before it. */
export const ofStatus = (call: Call, node: string, status: number, body: string, genuine: boolean): RqliteError => {
  const said = `status ${status}${excerpt(body)}`
  if (status === 401 || status === 403) {
    return rejected(call, node, "auth", `the credentials are wrong or lack a permission (${said})`)
  }
  if ((status === 500 || status === 503) && /^leader not found/.test(body)) {
    return notApplied(call, node, "no-leader", "the cluster has no leader")
  }
  if (status === 503 && genuine) return notApplied(call, node, "no-leader", `the node is not ready (${said})`)
  if (status === 429) return notApplied(call, node, "busy", `too many requests (${said})`)
  if (status === 408 || status === 504) return unknown(call, node, "timeout", said)
  if ((status >= 400 && status < 500) || (status === 500 && /^SQL rewrite/.test(body))) {
    return rejected(call, node, "request", said)
  }
  return unknown(call, node, "answer", said)
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
