import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"

const mark = "after:"

/** A cursor names the last id of its page, so that a page costs the same wherever it begins. */
export const encode = (id: string): string => Encoding.encodeBase64Url(mark + id)

/** The id that a cursor names; none where it was not made by {@link encode}. */
export const decode = (cursor: unknown): string | undefined => {
  if (typeof cursor !== "string") return undefined
  const text = Either.getOrElse(Encoding.decodeBase64UrlString(cursor), () => "")
  const id = text.slice(mark.length)
  return text.startsWith(mark) && encode(id) === cursor ? id : undefined
}
