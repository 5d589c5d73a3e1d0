import * as Either from "effect/Either"
import { stringify } from "../codec/stringify.js"

/** Masks what is in JSON of the application. */
export type Redact = (json: unknown) => unknown

const unknown = "[not shown: redact failed]"

/** A function of the application as one that never fails, and never shows what it failed on. */
export const safely =
  (redact: Redact | undefined): Redact =>
  (json) => {
    if (redact === undefined) return json
    try {
      const masked = redact(json)
      return Either.isRight(stringify(masked, "", { levels: 1000 })) ? masked : unknown
    } catch {
      return unknown
    }
  }
