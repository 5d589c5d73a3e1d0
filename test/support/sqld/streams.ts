import * as Effect from "effect/Effect"
import * as Connections from "./connections.js"
import type { Log } from "./log.js"
import { parseJson } from "./numbers.js"
import * as Pipeline from "./pipeline.js"
import { decodePipeline, ProtocolError, parseError } from "./protocol.js"

/** That the server has forgotten a stream which waited too long for its client. */
export class Expired {
  readonly _tag = "Expired"
}

/** A stream that waits for its client, and the baton that the next request must bring. */
interface Waiting {
  readonly stream: Pipeline.Stream
  readonly turn: number
}

/**
 * The streams of a server.
 *
 * - `answer`: runs a request, and gives the body of the answer.
 * - `expire`: ends those that wait for their client; `end` does so without remembering them.
 */
export interface Streams {
  readonly answer: (body: string, access: Pipeline.Access) => Effect.Effect<unknown, Pipeline.Failure | Expired>
  readonly expire: Effect.Effect<void>
  readonly end: Effect.Effect<void>
}

const batonOf = (name: number, turn: number): string => `${name}.${turn}`

export const make = (filename: string, log: Log, options: Pipeline.Options): Effect.Effect<Streams> =>
  Effect.map(Effect.makeLatch(true), (released) => {
    const pipeline = Pipeline.make(released, log, options)
    const waiting = new Map<number, Waiting>()
    const gone = new Set<number>()
    const connections = Connections.make(filename)
    let count = 0

    const close = (name: number, { connection }: Pipeline.Stream) =>
      Effect.suspend(() => {
        connections.giveBack(connection)
        waiting.delete(name)
        return released.open
      })

    const end = Effect.suspend(() =>
      Effect.forEach(Array.from(waiting), ([name, { stream }]) => close(name, stream), { discard: true })
    ).pipe(Effect.zipRight(Effect.sync(connections.close)))

    const take = (baton: string): Effect.Effect<{ readonly name: number } & Waiting, ProtocolError | Expired> => {
      const [name = -1, turn] = baton.split(".").map(Number)
      const found = waiting.get(name)
      if (gone.has(name)) return Effect.fail(new Expired())
      if (found === undefined) return new ProtocolError({ message: "Received an invalid baton" })
      if (found.turn !== turn) {
        return Effect.zipRight(
          close(name, found.stream),
          new ProtocolError({ message: "Received a baton that has already been used" })
        )
      }
      return Effect.succeed({ name, ...found })
    }

    const open = (): { readonly name: number } & Waiting => ({
      name: ++count,
      turn: 0,
      stream: { connection: connections.take(options.durability()), texts: new Map(), closed: false }
    })

    return {
      answer: (body, access) =>
        Effect.gen(function* () {
          const { baton, requests } = yield* Effect.try({
            try: () => decodePipeline(parseJson(body)),
            catch: parseError
          })
          const { name, stream, turn } = typeof baton === "string" ? yield* take(baton) : open()
          const results = yield* Effect.tapError(pipeline(stream, requests, access), () => close(name, stream))
          if (stream.closed) yield* close(name, stream)
          else waiting.set(name, { stream, turn: turn + 1 })
          return { baton: stream.closed ? null : batonOf(name, turn + 1), base_url: null, results }
        }),
      expire: Effect.suspend(() => {
        for (const name of waiting.keys()) gone.add(name)
        return end
      }),
      end
    }
  })
