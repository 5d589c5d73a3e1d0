import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { Attributes, AttributeValue } from "../../Execution.js"

/** The value of an attribute: a number, true or false, a text in quotes, or else the text as it is. */
const valueOf = (text: string): AttributeValue => {
  const value = Option.getOrUndefined(Option.liftThrowable((): unknown => JSON.parse(text))())
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : text
}

/** The attributes that people write as `name=value` each, or what is wrong with one. Each name comes once, as none has two values. */
export const attributesOf = (where: ReadonlyArray<string>): Either.Either<Attributes, string> => {
  const entries: Array<readonly [string, AttributeValue]> = []
  for (const text of where) {
    const end = text.indexOf("=")
    if (end < 1) return Either.left(`${JSON.stringify(text)}: expected name=value`)
    const name = text.slice(0, end)
    if (entries.some(([known]) => known === name)) return Either.left(`names ${name} twice`)
    entries.push([name, valueOf(text.slice(end + 1))])
  }
  return Either.right(Object.fromEntries(entries))
}
