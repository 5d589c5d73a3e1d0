import * as Http from "node:http"
import { Worker } from "node:worker_threads"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

const script = new URL("../pingThread.js", import.meta.url)

class PingError extends Data.TaggedError("PingError")<{ readonly cause: unknown }> {}

const Millis = Schema.Array(Schema.Number)

/** An HTTP server of this process, as for its health check: gives its port. */
const server: Effect.Effect<number, PingError, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.async<Http.Server, PingError>((resume) => {
      const made = Http.createServer((_, answer) => void answer.end("ok"))
      made.once("error", (cause) => resume(new PingError({ cause })))
      made.listen(0, "127.0.0.1", () => resume(Effect.succeed(made)))
    }),
    (made) =>
      Effect.sync(() => {
        made.closeAllConnections()
        made.close()
      })
  ),
  (made) => {
    const address = made.address()
    return typeof address === "object" && address !== null ? address.port : 0
  }
)

/** Runs an effect while another thread asks this process for answers: how long each took, in milliseconds. */
export const during = <E, R>(
  run: Effect.Effect<unknown, E, R>
): Effect.Effect<ReadonlyArray<number>, E | PingError, R> =>
  Effect.scoped(
    Effect.gen(function* () {
      const port = yield* server
      const thread = yield* Effect.acquireRelease(
        Effect.sync(() => new Worker(script, { workerData: port })),
        (made) => Effect.promise(() => made.terminate())
      )
      const answered = Effect.async<unknown, PingError>((resume) => {
        thread.once("message", (message) => resume(Effect.succeed(message)))
        thread.once("error", (cause) => resume(new PingError({ cause })))
      })
      const asking = yield* Effect.fork(answered)
      yield* run
      thread.postMessage("stop")
      const told = yield* asking
      return yield* Effect.mapError(Schema.decodeUnknown(Millis)(told), (cause) => new PingError({ cause }))
    })
  )
