/** Reads JSON of what the server says it is, which is built of the same schemas; integers that a double does not hold keep their digits where the browser can tell them. */
export const parse = <A>(text: string): A =>
  JSON.parse(text, (_key: string, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source
    return typeof value === "number" && !Number.isSafeInteger(value) && source !== undefined && /^-?\d+$/.test(source)
      ? BigInt(source)
      : value
  })

export const isObject = (u: unknown): u is { readonly [key: string]: unknown } =>
  typeof u === "object" && u !== null && !Array.isArray(u)

/** The members of an object or an array; none of anything else. */
export const members = (u: unknown): ReadonlyArray<readonly [string, unknown]> => {
  if (Array.isArray(u)) return u.map((value: unknown, i): readonly [string, unknown] => [String(i), value])
  return isObject(u) ? Object.entries(u) : []
}

const write = (u: unknown, indent: string): string => {
  if (typeof u === "bigint") return String(u)
  const parts = members(u)
  if (typeof u !== "object" || u === null) return JSON.stringify(u) ?? "null"
  const inner = `${indent}  `
  const [open, close] = Array.isArray(u) ? ["[", "]"] : ["{", "}"]
  if (parts.length === 0) return `${open}${close}`
  const lines = parts.map(([key, value]) => {
    const name = Array.isArray(u) ? "" : `${JSON.stringify(key)}: `
    return `${inner}${name}${write(value, inner)}`
  })
  return `${open}\n${lines.join(",\n")}\n${indent}${close}`
}

export const pretty = (u: unknown): string => write(u, "")

/** A value in one short line. */
export const brief = (u: unknown, most = 80): string => {
  const text = pretty(u).replace(/\n\s*/g, " ")
  return text.length > most ? `${text.slice(0, most - 1)}\u2026` : text
}

/** One difference between two values. */
export interface Change {
  readonly path: string
  readonly before: unknown
  readonly after: unknown
  readonly kind: "added" | "removed" | "changed"
}

const equal = (a: unknown, b: unknown): boolean => {
  if (Object.is(a, b)) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  return pretty(a) === pretty(b)
}

/** What is different in the second value, part by part, down to the smallest. */
export const changes = (before: unknown, after: unknown, path = ""): ReadonlyArray<Change> => {
  if (equal(before, after)) return []
  const comparable = (isObject(before) && isObject(after)) || (Array.isArray(before) && Array.isArray(after))
  if (!comparable) return [{ path: path === "" ? "context" : path, before, after, kind: "changed" }]
  const old = new Map(members(before))
  const now = new Map(members(after))
  const at = (key: string): string => (path === "" ? key : `${path}.${key}`)
  const found: Array<Change> = []
  for (const [key, value] of now) {
    if (!old.has(key)) found.push({ path: at(key), before: undefined, after: value, kind: "added" })
    else found.push(...changes(old.get(key), value, at(key)))
  }
  for (const [key, value] of old) {
    if (!now.has(key)) found.push({ path: at(key), before: value, after: undefined, kind: "removed" })
  }
  return found
}
