import * as Predicate from "effect/Predicate"

/**
 * What became of a request that got no whole answer: the server's certificate is not trusted, `fetch` never connects to this port, no
 * connection came about, so that nothing was sent, or the connection broke.
 */
export interface Transport {
  readonly problem: "certificate" | "port" | "unconnected" | "broken"
  readonly detail: string
}

const text = (u: unknown, key: string): string | undefined =>
  Predicate.hasProperty(u, key) && Predicate.isString(u[key]) ? u[key] : undefined

/** The causes of an error, and of each attempt where there were several (a host with many addresses). */
const beneath = (error: unknown, depth = 0): ReadonlyArray<unknown> => {
  if (depth > 5 || !Predicate.isObject(error)) return []
  const inner = Predicate.hasProperty(error, "cause") ? beneath(error.cause, depth + 1) : []
  const tries =
    Predicate.hasProperty(error, "errors") && Array.isArray(error.errors)
      ? error.errors.flatMap((each) => beneath(each, depth + 1))
      : []
  return [error, ...inner, ...tries]
}

const certificate =
  /^(CERT_|ERR_TLS_|ERR_SSL_|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT|UNABLE_TO_|INVALID_CA|HOSTNAME_MISMATCH|EPROTO$)/

// OpenSSL's code for an answer that is not TLS.
const noTls = /wrong.version.number|packet.length.too.long|http.request/i

// Where no connection was made, nothing was sent. A time-out or a reset proves that only where it happened in `connect`.
const unconnected = /^(ECONNREFUSED|ENOTFOUND|EAI_|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT)/
const connecting = new Set(["connect", "getaddrinfo"])

/** Reads what an HTTP client failed with. */
export const read = (cause: unknown): Transport => {
  const errors = beneath(cause)
  const codes = errors.flatMap((each) => text(each, "code") ?? [])
  const detail = errors.flatMap((each) => text(each, "message") || []).at(-1) ?? "the connection broke"
  if (codes.some((code) => certificate.test(code))) {
    const plain = errors.some((each) => noTls.test(text(each, "message") ?? ""))
    const hint = "there is no TLS at this port, whose URL begins with http://"
    return { problem: "certificate", detail: plain ? `${hint} (${detail.trim()})` : detail }
  }
  // The ports of other protocols: https://fetch.spec.whatwg.org/#port-blocking
  if (errors.some((each) => text(each, "message") === "bad port")) {
    return { problem: "port", detail: "fetch refuses to connect to this port, which is another protocol's" }
  }
  const neverConnected = errors.some(
    (each) => unconnected.test(text(each, "code") ?? "") || connecting.has(text(each, "syscall") ?? "")
  )
  return { problem: neverConnected ? "unconnected" : "broken", detail }
}
