import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { Invalid, Refused } from "../monitorApi/problems.js"

type Request = HttpServerRequest.HttpServerRequest

/** What all answers carry: nothing runs but what the package brings, nothing is loaded from elsewhere, nobody puts it in a frame. */
const policies: { readonly [header: string]: string } = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()"
}

export const guarded = (response: HttpServerResponse.HttpServerResponse): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setHeaders(response, {
    ...policies,
    "cache-control": response.headers["cache-control"] ?? "no-store"
  })

const hostOf = (origin: string): string | undefined => (URL.canParse(origin) ? new URL(origin).host : undefined)

const sameHost = (origin: string, host: string | undefined): boolean =>
  host !== undefined && hostOf(origin) === host.toLowerCase().replace(/:(80|443)$/, "")

/**
 * Whether a page of another site asks. A browser says where from, in `Sec-Fetch-Site`, which no page can set; an older one says it in
 * `Origin`. What says neither is no browser, and has no cookies that somebody else could use.
 */
const isForeign = ({ headers }: Request): boolean => {
  const site = headers["sec-fetch-site"]
  if (site !== undefined) return site !== "same-origin" && site !== "none"
  const origin = headers["origin"]
  return origin !== undefined && !sameHost(origin, headers["host"])
}

const isSafe = ({ method }: Request): boolean => method === "GET" || method === "HEAD"

/** Refuses what a page of another site asks for, and writes that a form of it could send. */
export const checkOrigin = (request: Request): Effect.Effect<void, Refused | Invalid> => {
  if (isForeign(request)) {
    return Effect.fail(
      new Refused({
        title: "Another site asks",
        detail: "the request comes from a page of another site: open the monitor itself"
      })
    )
  }
  if (isSafe(request)) return Effect.void
  if (request.headers["sec-fetch-site"] === "none") {
    return Effect.fail(new Refused({ title: "No page asks", detail: "a change is asked for by a page of the monitor" }))
  }
  return /^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "")
    ? Effect.void
    : Effect.fail(new Invalid({ title: "No JSON", detail: "a change takes a body of the type application/json" }))
}
