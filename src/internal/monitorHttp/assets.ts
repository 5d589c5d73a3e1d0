import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import { type Page, pages } from "../monitorPages/pages.js"

type Response = HttpServerResponse.HttpServerResponse

const zipped = new Map<Page, Uint8Array>()

/** The text, compressed: once for each file. */
const zip = (page: Page): Effect.Effect<Uint8Array> => {
  const known = zipped.get(page)
  if (known !== undefined) return Effect.succeed(known)
  const stream = new Blob([page.text]).stream().pipeThrough(new CompressionStream("gzip"))
  return Effect.promise(() => new Response(stream).arrayBuffer()).pipe(
    Effect.map((buffer) => {
      const bytes = new Uint8Array(buffer)
      zipped.set(page, bytes)
      return bytes
    })
  )
}

const takesGzip = ({ headers }: HttpServerRequest.HttpServerRequest): boolean =>
  /(^|[\s,])gzip\s*(;(?!\s*q=0(\.0*)?\s*(,|$))|,|$)/.test(headers["accept-encoding"] ?? "") &&
  "CompressionStream" in globalThis

const respond = (request: HttpServerRequest.HttpServerRequest, page: Page): Effect.Effect<Response> => {
  const headers = { etag: `"${page.tag}"`, "cache-control": "no-cache", vary: "accept-encoding" }
  if (request.headers["if-none-match"] === headers.etag) {
    return Effect.succeed(HttpServerResponse.empty({ status: 304, headers }))
  }
  if (!takesGzip(request)) {
    return Effect.succeed(HttpServerResponse.text(page.text, { contentType: page.type, headers }))
  }
  return Effect.map(zip(page), (bytes) =>
    HttpServerResponse.uint8Array(bytes, {
      contentType: page.type,
      headers: { ...headers, "content-encoding": "gzip" }
    })
  )
}

const notBuilt = HttpServerResponse.text("The pages are not built: run npm run build, and use what is in dist.\n", {
  status: 503,
  contentType: "text/plain; charset=utf-8"
})

/** The file of the pages that a path names, if there is one. */
export const asset = (
  request: HttpServerRequest.HttpServerRequest,
  path: string
): Effect.Effect<Response> | undefined => {
  const name = path.slice(1)
  if (Object.hasOwn(pages, name)) {
    const page = pages[name]
    return page === undefined ? undefined : respond(request, page)
  }
  return name === "" ? Effect.succeed(notBuilt) : undefined
}
