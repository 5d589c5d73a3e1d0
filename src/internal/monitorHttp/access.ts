import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"

/** What somebody may do: all, look, or nothing. */
export type Access = "all" | "read" | "none"

/** From where a request came that is no request of a server: whoever passes it on knows. */
export const RemoteAddress: Context.Tag<"holdfast/monitor/RemoteAddress", string> = Context.GenericTag(
  "holdfast/monitor/RemoteAddress"
)

/** What the one who asks may do, for the handlers of the API. */
export const CurrentAccess: Context.Tag<"holdfast/monitor/CurrentAccess", Access> = Context.GenericTag(
  "holdfast/monitor/CurrentAccess"
)

/** Ends when the one who asks may not do any more what they might when they asked: what is still being answered ends with it. */
export const AccessEnds: Context.Tag<"holdfast/monitor/AccessEnds", Effect.Effect<void>> = Context.GenericTag(
  "holdfast/monitor/AccessEnds"
)

/** How often it is asked anew what somebody may do who is still being answered. */
const again = "10 seconds"

/** Looks again and again what somebody may do, until it is something else. */
export const ends = (current: Access, access: Effect.Effect<Access>): Effect.Effect<void> =>
  Effect.sleep(again).pipe(
    Effect.zipRight(access),
    Effect.repeat({ until: (found) => found !== current }),
    Effect.asVoid
  )

/** What proxies say of whom they ask for. Whoever comes through one is not on this machine just because the proxy is. */
const proxies = [
  "forwarded",
  "via",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
  "x-client-ip",
  "x-envoy-external-address",
  "cf-connecting-ip",
  "true-client-ip"
]

const isLoopbackAddress = (address: string): boolean =>
  /^(::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address) || address === "::1"

/**
 * Whether a name is one that only this machine has. A page of another site can make its own name stand for this machine; then a browser
 * sends that name.
 */
export const isLoopbackHost = (host: string): boolean =>
  /^([^:/@]+\.)?localhost(:\d+)?$/i.test(host) ||
  /^127\.\d+\.\d+\.\d+(:\d+)?$/.test(host) ||
  /^\[::1\](:\d+)?$/.test(host)

// Browsers and tools have spoken 1.1 for decades; what speaks 1.0 is a proxy in its default settings.
const isOldHttp = (source: unknown): boolean =>
  Predicate.hasProperty(source, "httpVersion") && source.httpVersion === "1.0"

/** Whether a request comes from this machine, as far as can be known: where that is in doubt it does not. */
export const isLoopback = (request: HttpServerRequest.HttpServerRequest): boolean =>
  Option.exists(request.remoteAddress, isLoopbackAddress) &&
  isLoopbackHost(request.headers["host"] ?? "") &&
  !isOldHttp(request.source) &&
  proxies.every((header) => request.headers[header] === undefined)
