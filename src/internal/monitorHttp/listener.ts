import type { IncomingMessage, ServerResponse } from "node:http"
import type { ReadableStream as NodeStream } from "node:stream/web"

/** What is known of a request beside what it says itself. */
export interface RequestInfo {
  readonly remoteAddress?: string | undefined
}

type Handler = (request: Request, info?: RequestInfo) => Promise<Response>

const headersOf = ({ rawHeaders }: IncomingMessage): Headers => {
  const headers = new Headers()
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ""
    // HTTP/2 has names of its own that are none.
    if (!name.startsWith(":")) headers.append(name, rawHeaders[i + 1] ?? "")
  }
  return headers
}

const bodyOf = (request: IncomingMessage): ReadableStream<Uint8Array> =>
  new ReadableStream<Uint8Array>({
    start: (controller) => {
      request.on("data", (chunk: Buffer) => controller.enqueue(new Uint8Array(chunk)))
      request.once("end", () => controller.close())
      request.once("error", (error) => controller.error(error))
    },
    cancel: () => void request.destroy()
  })

const requestOf = (request: IncomingMessage, signal: AbortSignal): Request => {
  const { method = "GET", url = "/" } = request
  const address = `http://localhost${url.startsWith("/") ? url : "/"}`
  const plain = { method, headers: headersOf(request), signal }
  return method === "GET" || method === "HEAD"
    ? new Request(address, plain)
    : new Request(address, { ...plain, body: bodyOf(request), duplex: "half" })
}

/** Writes a body as fast as it is read. */
const write = async (body: ReadableStream<Uint8Array> | NodeStream, response: ServerResponse): Promise<void> => {
  const reader = body.getReader()
  response.once("close", () => void reader.cancel().catch(() => undefined))
  for (;;) {
    const { done, value } = await reader.read()
    if (done || response.destroyed) break
    if (!response.write(value)) {
      await new Promise<void>((resolve) => {
        response.once("drain", resolve)
        response.once("close", resolve)
      })
    }
  }
  response.end()
}

const answer = async (handler: Handler, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const gone = new AbortController()
  response.once("close", () => gone.abort())
  // Proxies speak 1.0 in their default settings: who is behind one is nobody knows where.
  const remoteAddress = request.httpVersion === "1.0" ? undefined : request.socket.remoteAddress
  const answered = await handler(requestOf(request, gone.signal), { remoteAddress })
  response.writeHead(answered.status, Object.fromEntries(answered.headers))
  if (answered.body === null || request.method === "HEAD") response.end()
  else await write(answered.body, response)
}

/** A handler of requests as a listener for a server of `node:http`. */
export const make =
  (handler: Handler) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    answer(handler, request, response).catch(() => {
      if (!response.headersSent) response.writeHead(500)
      response.end()
    })
  }
