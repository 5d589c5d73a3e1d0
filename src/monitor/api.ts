import { parse } from "./json.js"

/** What the API answers where it does not do what it was asked. */
export class Problem extends Error {
  constructor(
    readonly title: string,
    detail: string,
    readonly status: number
  ) {
    super(detail)
  }
}

const isText = (u: unknown): u is string => typeof u === "string"

const member = (u: unknown, name: string): unknown =>
  typeof u === "object" && u !== null ? Reflect.get(u, name) : undefined

const parsed = <A>(text: string, status: number): A => {
  try {
    return parse<A>(text)
  } catch {
    throw new Problem("No answer of the monitor", "Something else answered. Are you still logged in?", status)
  }
}

const read = async <A>(response: Response): Promise<A> => {
  const text = await response.text()
  if (response.ok) return parsed<A>(text, response.status)
  const value = parsed<unknown>(text, response.status)
  const [title, detail, message] = ["title", "detail", "message"].map((name) => member(value, name))
  throw new Problem(
    isText(title) ? title : "Not accepted",
    isText(detail) ? detail : isText(message) ? message : `status ${response.status}`,
    response.status
  )
}

const unreachable = (error: unknown): never => {
  if (error instanceof Problem || (error instanceof DOMException && error.name === "AbortError")) throw error
  throw new Problem(
    "The monitor does not answer",
    "Its process may have ended, or the network is down. It is tried again.",
    0
  )
}

/** The value of a path of the API. */
export const get = <A>(path: string, signal?: AbortSignal): Promise<A> =>
  fetch(`api/${path}`, signal === undefined ? {} : { signal })
    .then(read<A>)
    .catch(unreachable)

export const post = <A>(path: string, body: unknown): Promise<A> =>
  fetch(`api/${path}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body)
  })
    .then(read<A>)
    .catch(unreachable)

/** What a query may hold; what is a list comes more than once. */
export type Query = {
  readonly [name: string]: string | number | boolean | ReadonlyArray<string> | undefined | null
}

/** A query of what is given. */
export const query = (parts: Query): string => {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(parts)) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== null && each !== "" && each !== false) params.append(name, String(each))
    }
  }
  const text = params.toString()
  return text === "" ? "" : `?${text}`
}
