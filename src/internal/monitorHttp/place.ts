import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"

/**
 * Where a request goes within the monitor.
 *
 * - `Inside`: the path below the place where the monitor is mounted, with its query.
 * - `Beside`: the place itself without the slash at its end, from which relative addresses would lead elsewhere; `to` is where to go.
 * - `Outside`: somewhere else.
 */
export type Place =
  | { readonly _tag: "Inside"; readonly path: string; readonly url: string }
  | { readonly _tag: "Beside"; readonly to: string }
  | { readonly _tag: "Outside" }

const withoutHost = (url: string): string => {
  if (url.startsWith("/")) return url
  const start = url.indexOf("/", url.indexOf("//") + 2)
  return start === -1 ? "/" : url.slice(start)
}

/** A path where something is mounted, without a slash at its end. */
export const normalBase = (base: string): string => base.replace(/\/+$/, "")

const inside = (url: string): Place => ({ _tag: "Inside", path: url.split(/[?#]/, 1)[0] ?? "/", url })

/** Without a base, what is in front of the monitor has taken it off already. */
export const locate = (request: HttpServerRequest.HttpServerRequest, base: string | undefined): Place => {
  if (base === undefined) return inside(withoutHost(request.url))
  const url = withoutHost(request.originalUrl)
  if (!url.startsWith(base)) return { _tag: "Outside" }
  const rest = url.slice(base.length)
  if (rest.startsWith("/")) return inside(rest)
  const last = base.slice(base.lastIndexOf("/") + 1)
  return rest === "" || rest.startsWith("?") ? { _tag: "Beside", to: `./${last}/${rest}` } : { _tag: "Outside" }
}
