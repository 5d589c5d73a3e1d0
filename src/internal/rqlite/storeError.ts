import type { RqliteError, RqliteRejected, RqliteUnavailable } from "../../RqliteError.js"
import type { Call } from "../../SqlDriver.js"
import { StoreRejected, StoreUnavailable } from "../../StoreError.js"
import { isOfNode } from "../rqliteClient/errors.js"

const unavailable: Readonly<Record<RqliteUnavailable["reason"], StoreUnavailable["reason"]>> = {
  "no-leader": "no-leader",
  timeout: "timeout",
  busy: "busy",
  connection: "connection",
  stale: "connection",
  answer: "connection"
}

const rejected: Readonly<Record<RqliteRejected["reason"], StoreRejected["reason"]>> = {
  "invalid-input": "invalid-input",
  auth: "auth",
  tls: "open",
  endpoint: "open",
  "too-large": "too-large",
  // About this request alone: it is not to be waited for.
  request: "sql"
}

/**
 * The error that a caller of the store sees, for what the client failed with. That the nodes refuse this client ends its opening; a store
 * that has opened was not refused before, and may not be again: a permission is given back, a proxy finds its nodes.
 */
export const toStoreError = (call: Call, error: RqliteError): StoreUnavailable | StoreRejected => {
  const common = {
    operation: call.operation,
    executionId: call.executionId,
    detail: error.node === undefined ? error.detail : `${error.node}: ${error.detail}`,
    cause: error
  }
  const refused = (reason: StoreUnavailable["reason"]) =>
    new StoreUnavailable({ ...common, reason, outcome: "not-applied" })
  switch (error._tag) {
    case "RqliteUnavailable":
      return new StoreUnavailable({ ...common, reason: unavailable[error.reason], outcome: error.outcome })
    case "RqliteStatementError":
      return error.reason === "busy" ? refused("busy") : new StoreRejected({ ...common, reason: error.reason })
    case "RqliteRejected":
      return isOfNode(error) && call.operation !== "open"
        ? refused("connection")
        : new StoreRejected({ ...common, reason: rejected[error.reason], path: error.path })
  }
}
