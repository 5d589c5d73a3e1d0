import type { JsonObject } from "../../Json.js"
import * as reader from "./reader.js"
import { at } from "./stringify.js"

/**
 * Values on their way into a row, looked at by the readers that will read them there: what a load would report as corrupt is never stored.
 * A value is given back as it is, so that a row is made and checked in one walk.
 */
type Check = reader.Reader<unknown>

const arrays = reader.array((item) => item)

/** A value that must be there. */
export const required = <A>(value: A, path: string, key: string, check: Check): A => {
  if (value === undefined) throw new reader.Invalid(reader.member(path, key), "is missing")
  check(value, reader.member(path, key))
  return value
}

/** A value that may be missing. */
export const optional = <A>(value: A, path: string, key: string, check: Check): A => {
  if (value !== undefined) check(value, reader.member(path, key))
  return value
}

/** A value that may be missing or null. */
export const orNull = <A>(value: A, path: string, key: string, check: Check): A => {
  if (value !== undefined && value !== null) check(value, reader.member(path, key))
  return value
}

/** Checks each member of an object. */
export const members =
  (check: Check): Check =>
  (u, path) => {
    const record: JsonObject = reader.object(u, path)
    for (const key of Object.keys(record)) check(record[key], at(path, key))
  }

/** Checks each item of an array. */
export const items =
  (check: Check): Check =>
  (u, path) => {
    const array = arrays(u, path)
    for (let i = 0; i < array.length; i++) check(array[i], at(path, i))
  }

/** Rows of the items of an array, which may be missing. */
export const list = <A>(
  items: ReadonlyArray<A> | undefined,
  path: string,
  encode: (item: A, path: string) => JsonObject
): ReadonlyArray<JsonObject> | undefined => {
  if (items === undefined) return undefined
  arrays(items, path)
  return items.map((item, i) => {
    reader.object(item, at(path, i))
    return encode(item, at(path, i))
  })
}

/** Rows of the members of an object, which may be missing. */
export const record = <A>(
  members: { readonly [key: string]: A } | undefined,
  path: string,
  encode: (member: A, path: string) => JsonObject
): JsonObject | undefined => {
  if (members === undefined) return undefined
  reader.object(members, path)
  return Object.fromEntries(
    Object.entries(members).map(([key, member]) => {
      reader.object(member, at(path, key))
      return [key, encode(member, at(path, key))]
    })
  )
}
