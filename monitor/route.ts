import { signal } from "@preact/signals"

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
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2)
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

type Parts = { readonly [name: string]: string | boolean | undefined | null }

/** The address of a page of the monitor. */
export const to = (parts: ReadonlyArray<string>, query: Parts = {}): string => {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== "" && value !== false) params.set(name, String(value))
  }
  const text = params.toString()
  return `#/${parts.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`
}

export const toExecution = (id: string): string => to(["executions", id])

export const go = (address: string): void => {
  location.hash = address
}

/** Changes the query of the page that is shown; what was there before is one step back. */
export const change = (parts: Parts): void => {
  const { parts: path, query } = route.value
  go(to(path, { ...Object.fromEntries(query), ...parts }))
}
