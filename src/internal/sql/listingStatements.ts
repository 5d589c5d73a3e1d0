import type { Statement } from "../../SqlDriver.js"
import { summaryPaths } from "../codec/execution.js"
import { compareUtf8, prefixEnd } from "../codec/utf8Order.js"
import { lines } from "../util/lines.js"
import { exact } from "./expressions.js"

/** What a listing selects; no status is any status. It begins behind an id, or with the first one, which may be empty. */
export interface ListFilter {
  readonly definitionId: string | undefined
  readonly status: ReadonlyArray<string>
  readonly rootsOnly: boolean
  readonly idPrefix: string | undefined
  readonly parentId: string | undefined
  readonly after: string | undefined
  readonly limit: number
}

/** One walk along an index, in the order of ids. */
interface Walk {
  readonly condition: string
  readonly params: ReadonlyArray<string | number>
}

/** Where the ids of a page begin and end. */
const range = (after: string | undefined, idPrefix: string | undefined): Walk => {
  const end = idPrefix === undefined ? undefined : prefixEnd(idPrefix)
  const begins = idPrefix !== undefined && (after === undefined || compareUtf8(after, idPrefix) < 0)
  const from = begins || after === undefined ? "id >= ?" : "id > ?"
  const first = begins ? idPrefix : (after ?? "")
  return end === undefined
    ? { condition: from, params: [first] }
    : { condition: `${from} AND id < ?`, params: [first, end] }
}

const walksOf = (filter: ListFilter): ReadonlyArray<Walk> => {
  const { after, definitionId, idPrefix, limit, parentId, rootsOnly, status } = filter
  const owners = [parentId, definitionId].filter((id) => id !== undefined)
  const statuses = status.length === 0 ? [[]] : status.map((name) => [name])
  // The children of one execution are a walk along the index of parents: with a sign before it, a column's own index is no choice.
  const [parent, sign] = parentId === undefined ? ["", ""] : ["parent_id = ? AND ", "+"]
  const definition = definitionId === undefined ? "" : `${sign}definition_id = ? AND `
  const conditions = `${parent}${definition}${status.length === 0 ? "" : `${sign}status = ? AND `}`
  const all = rootsOnly ? ["parent_id IS NULL AND "] : [""]
  const either = rootsOnly ? ["root = 1 AND "] : ["root = 0 AND ", "root = 1 AND "]
  const roots = conditions === "" || parentId !== undefined ? all : either
  const id = range(after, idPrefix)
  return statuses.flatMap((name) =>
    roots.map((root) => ({
      condition: conditions + root + id.condition,
      params: [...owners, ...name, ...id.params, limit]
    }))
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

/** How many executions there are, by definition and status: one walk along an index that has both. */
export const makeCountsSql = (p: string): string => lines`
  SELECT definition_id, status, COUNT(*)
  FROM ${p}holdfast_listing
  GROUP BY definition_id, status`
