import { signal } from "@preact/signals"
import { type Query, query } from "./api.js"

/** Where the page is: the parts of its path, and its query. It is behind the `#`, so that the monitor can be mounted anywhere. */
export interface Route {
  readonly parts: ReadonlyArray<string>
  readonly query: URLSearchParams
}

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

const read = (): Route => {
  const [, path = "", query = ""] = /^#?\/?([^?]*)\??(.*)$/s.exec(location.hash) ?? []
  return {
    parts: path
      .split("/")
      .filter((part) => part !== "")
      .map(decode),
    query: new URLSearchParams(query)
  }
}

export const route = signal<Route>(read())

addEventListener("hashchange", () => {
  route.value = read()
})

/** The address of a page of the monitor. */
export const to = (parts: ReadonlyArray<string>, parameters: Query = {}): string =>
  `#/${parts.map(encodeURIComponent).join("/")}${query(parameters)}`

export const toExecution = (id: string): string => to(["executions", id])

export const go = (address: string): void => {
  location.hash = address
}

/** Changes the query of the page that is shown; what was there before is one step back. */
export const change = (parameters: Query): void => {
  const { parts, query: before } = route.value
  const kept = Object.fromEntries(Array.from(before.keys(), (name) => [name, before.getAll(name)]))
  go(to(parts, { ...kept, ...parameters }))
}
