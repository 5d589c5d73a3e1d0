import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { InvalidExport } from "../../TransferError.js"

/** No line is longer than a row can be. A file of something else may be one line, however large. */
const longest = 256 * 1024 * 1024

/** The lines of a text that comes in pieces, which may be cut anywhere. */
export const linesOf = <E, R>(
  text: Stream.Stream<string, E, R>
): Stream.Stream<ReadonlyArray<string>, E | InvalidExport, R> =>
  Stream.suspend(() => {
    let open: Array<string> = []
    let length = 0
    let count = 0
    const take = (piece: string): Effect.Effect<ReadonlyArray<string>, InvalidExport> => {
      const parts = piece.split("\n")
      const last = parts.pop() ?? ""
      const [first, ...others] = parts
      const complete = first === undefined ? [] : [open.join("") + first, ...others]
      if (first !== undefined) {
        open = []
        length = 0
      }
      count += complete.length
      open.push(last)
      length += last.length
      return length > longest
        ? new InvalidExport({ line: count + 1, reason: "line", problem: "it is longer than any row" })
        : Effect.succeed(complete)
    }
    const rest = Stream.suspend(() => {
      const last = open.join("")
      return last === "" ? Stream.empty : Stream.make([last])
    })
    return Stream.concat(Stream.mapEffect(text, take), rest)
  })
