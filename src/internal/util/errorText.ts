import * as Inspectable from "effect/Inspectable"
import * as Predicate from "effect/Predicate"

// The text is a part of the execution's row, which every later commit writes again.
const longest = 4000

const typed = (error: Error): string => `${error.name}: ${error.message}`

const described = (error: unknown): string => {
  if (typeof error === "string") return error
  if (error instanceof Error) {
    return error.cause instanceof Error ? `${typed(error)} (while recovering from ${typed(error.cause)})` : typed(error)
  }
  const text = Inspectable.toStringUnknown(error, 0)
  return Predicate.hasProperty(error, "_tag") ? `${String(error._tag)}: ${text}` : `Error: ${text}`
}

/** An error in the form in which the format's executions keep it: `Type: message`, and what led to it. */
export const describe = (error: unknown): string => {
  const text = described(error)
  // cut first: the cut can leave half of a surrogate pair
  return (text.length > longest ? `${text.slice(0, longest)}…` : text).toWellFormed()
}
