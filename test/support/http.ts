/** What the stand-ins for servers have in common: an HTTP server of Node on this machine, in Effect. */
import * as Http from "node:http"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"

export class ListenError extends Data.TaggedError("ListenError")<{ readonly cause: unknown }> {}

export const bodyOf = (request: Http.IncomingMessage): Effect.Effect<string> =>
  Effect.async((resume) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => resume(Effect.succeed(Buffer.concat(chunks).toString("utf8"))))
    request.on("error", () => resume(Effect.interrupt))
  })

export const listen = (handler: Http.RequestListener, port: number): Effect.Effect<Http.Server, ListenError> =>
  Effect.async((resume) => {
    const server = Http.createServer(handler)
    // On a busy machine a client would send a request on a connection that is just being closed because nothing came for five seconds.
    server.keepAliveTimeout = 0
    server.once("error", (cause) => resume(Effect.fail(new ListenError({ cause }))))
    server.listen(port, "127.0.0.1", () => resume(Effect.succeed(server)))
  })

export const close = (server: Http.Server): Effect.Effect<void> =>
  Effect.async((resume) => {
    server.close(() => resume(Effect.void))
    server.closeAllConnections()
  })

export const portOf = (server: Http.Server): number => {
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}
