import type { Statement } from "../../SqlDriver.js"
import { summaryPaths } from "../codec/execution.js"
import { lines } from "../util/lines.js"
import { exact } from "./expressions.js"

/** What a listing selects; no status is any status. It begins behind an id, or with the first one, which may be empty. */
export interface ListFilter {
  readonly definitionId: string | undefined
  readonly status: ReadonlyArray<string>
  readonly rootsOnly: boolean
  readonly parentId: string | undefined
  readonly after: string | undefined
  readonly limit: number
}

/** One walk along an index, in the order of ids. */
interface Walk {
  readonly condition: string
  readonly params: ReadonlyArray<string | number>
}

const walksOf = ({ after, definitionId, limit, parentId, rootsOnly, status }: ListFilter): ReadonlyArray<Walk> => {
  const owners = [parentId, definitionId].filter((id) => id !== undefined)
  const statuses = status.length === 0 ? [[]] : status.map((name) => [name])
  // The children of one execution are a walk along the index of parents: with a sign before it, a column's own index is no choice.
  const [parent, sign] = parentId === undefined ? ["", ""] : ["parent_id = ? AND ", "+"]
  const definition = definitionId === undefined ? "" : `${sign}definition_id = ? AND `
  const filter = `${parent}${definition}${status.length === 0 ? "" : `${sign}status = ? AND `}`
  const all = rootsOnly ? ["parent_id IS NULL AND "] : [""]
  const either = rootsOnly ? ["root = 1 AND "] : ["root = 0 AND ", "root = 1 AND "]
  const roots = filter === "" || parentId !== undefined ? all : either
  const id = after === undefined ? "id >= ?" : "id > ?"
  return statuses.flatMap((name) =>
    roots.map((root) => ({ condition: filter + root + id, params: [...owners, ...name, after ?? "", limit] }))
  )
}

const listing = (p: string, walks: ReadonlyArray<Walk>): string => {
  const ids = walks.map(
    ({ condition }) => lines`
      SELECT id
      FROM (SELECT id FROM ${p}holdfast_listing WHERE ${condition} ORDER BY id LIMIT ?)`
  )
  const parts = summaryPaths.map((key) => `'$.${key}'`).join(", ")
  return lines`
    SELECT e.id,
      e.definition_id,
      ${exact("e.version")},
      CASE WHEN json_valid(e.data) AND json_type(e.data) = 'object' THEN json_extract(e.data, ${parts}) END
    FROM (
      SELECT id
      FROM (
        ${ids.join("\nUNION ALL\n")}
      )
      ORDER BY id
      LIMIT ?
    ) AS page
    CROSS JOIN ${p}executions AS e ON e.id = page.id
    ORDER BY page.id`
}

/**
 * Makes the statement of a listing.
 *
 * Each status is a walk of its own along an index in the order of ids, bounded by the page's size; so is each of those with and those
 * without a parent, where the index tells them apart. Merging the walks keeps the cost of a page the same wherever it begins and however
 * many rows there are: a single walk with `status IN (...)` would sort all of them, one that looks at each row's parent would pass over
 * all children. A text depends on the filter's shape alone.
 */
export const makeListingSql = (p: string) => {
  const texts = new Map<string, string>()
  return (filter: ListFilter): Statement => {
    const walks = walksOf(filter)
    const shape = walks.map(({ condition }) => condition).join("; ")
    const sql = texts.get(shape) ?? listing(p, walks)
    texts.set(shape, sql)
    return { sql, params: [...walks.flatMap(({ params }) => params), filter.limit] }
  }
}
