import * as Either from "effect/Either"
import * as Schema from "effect/Schema"

/**
 * How far an import has come, as it is kept in the store: the first `lines` of the export are in it, whose hash is `sha256`. `done` says that
 * these are all, and `by` which import wrote it: no two write the same mark, so that each finds out whether another one went on.
 */
export interface Mark {
  readonly lines: number
  readonly sha256: string
  readonly done: boolean
  readonly by: string
}

const Text = Schema.parseJson(
  Schema.Struct({ lines: Schema.Number, sha256: Schema.String, done: Schema.Boolean, by: Schema.String })
)

export const encode = (mark: Mark): string => JSON.stringify(mark)

/** One that is none is as if there were no import of this export. */
export const decode = (text: string): Mark =>
  Either.getOrElse(Schema.decodeUnknownEither(Text)(text), () => ({ lines: 1, sha256: "", done: false, by: "" }))
