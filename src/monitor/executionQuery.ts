import type { Query } from "./api.js"
import type { Filter, Status } from "./types.js"

/** In the order in which they are shown. */
export const statuses: ReadonlyArray<Status> = [
  "RUNNING",
  "PENDING",
  "SUSPENDED",
  "CANCELLING",
  "FAILED",
  "DONE",
  "CANCELLED"
]

/** What a page of executions is asked for, as it stands in addresses; `where` are attributes, as name=value each. */
export interface Asked extends Omit<Filter, "attributes"> {
  readonly where?: ReadonlyArray<string> | undefined
}

export const askedOf = (params: URLSearchParams): Asked => {
  const names = (params.get("status") ?? "").split(",")
  const status = statuses.filter((each) => names.includes(each))
  const text = (name: string) => params.get(name) ?? undefined
  const where = params.getAll("where")
  return {
    definition: text("definition"),
    status: status.length === 0 ? undefined : status,
    roots: params.get("roots") === "true" ? true : undefined,
    parent: text("parent"),
    prefix: text("prefix"),
    where: where.length === 0 ? undefined : where
  }
}

/** The same as a query. */
export const queryOf = ({ status, ...asked }: Asked): Query => ({ ...asked, status: status?.join(",") })

/** A number, true or false, a text in quotes, or else the text as it is: as the API reads it. */
const valueOf = (text: string): string | number | boolean => {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === "string" || typeof value === "number" || typeof value === "boolean" ? value : text
  } catch {
    return text
  }
}

/** The same as a job takes it. */
export const filterOf = ({ where, ...asked }: Asked): Filter => ({
  ...asked,
  attributes:
    where &&
    Object.fromEntries(
      where.map((text) => [text.slice(0, text.indexOf("=")), valueOf(text.slice(text.indexOf("=") + 1))])
    )
})

/** What a value is written as, so that it is read as it is. */
const written = (value: unknown): string =>
  typeof value === "string" && valueOf(value) === value ? value : JSON.stringify(value)

/** An attribute as name=value. */
export const attribute = (name: string, value: unknown): string => `${name}=${written(value)}`
