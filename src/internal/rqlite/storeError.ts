import type { RqliteError, RqliteUnavailable } from "../../RqliteError.js"
import type { Call } from "../../SqlDriver.js"
import { StoreRejected, StoreUnavailable } from "../../StoreError.js"

const unavailable: Readonly<Record<RqliteUnavailable["reason"], StoreUnavailable["reason"]>> = {
  "no-leader": "no-leader",
  timeout: "timeout",
  busy: "busy",
  connection: "connection",
  stale: "connection",
  answer: "connection"
}

/** The error that a caller of the store sees, for what the client failed with. */
export const toStoreError = (call: Call, error: RqliteError): StoreUnavailable | StoreRejected => {
  const common = {
    operation: call.operation,
    ...(call.executionId === undefined ? {} : { executionId: call.executionId }),
    detail: error.node === undefined ? error.detail : `${error.node}: ${error.detail}`,
    cause: error
  }
  if (error._tag === "RqliteUnavailable") {
    return new StoreUnavailable({ ...common, reason: unavailable[error.reason], outcome: error.outcome })
  }
  if (error.reason === "busy") {
    return new StoreUnavailable({ ...common, reason: "busy", outcome: "not-applied" })
  }
  const reason = error.reason === "tls" || error.reason === "request" ? "open" : error.reason
  const path = error._tag === "RqliteRejected" && error.path !== undefined ? { path: error.path } : {}
  return new StoreRejected({ ...common, ...path, reason })
}
