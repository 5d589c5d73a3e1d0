/** A copy without the keys whose value is undefined: an error that has no cause should not print one, and equals its like. */
export const withoutUndefined = <A extends object>(fields: A): A => {
  const copy = { ...fields }
  for (const [key, value] of Object.entries(copy)) {
    if (value === undefined) Reflect.deleteProperty(copy, key)
  }
  return copy
}
