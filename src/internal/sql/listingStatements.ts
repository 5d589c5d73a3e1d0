import type { EncodedAttribute } from "../../EncodedStore.js"
import type { Statement } from "../../SqlDriver.js"
import { definitionVersionKey, summaryPaths } from "../codec/execution.js"
import { compareUtf8, prefixEnd } from "../codec/utf8Order.js"
import { lines } from "../util/lines.js"
import { exact } from "./expressions.js"

/** What is selected; no status is any status. */
export interface Filter {
  readonly definitionId: string | undefined
  readonly definitionVersion: number | undefined
  readonly status: ReadonlyArray<string>
  readonly rootsOnly: boolean
  readonly idPrefix: string | undefined
  readonly parentId: string | undefined
  readonly attributes: ReadonlyArray<EncodedAttribute>
}

/** The ids of a part: behind `after`, or from the first one on, which may be empty; up to `until`, which is one of them, or to the end. */
export interface Part {
  readonly after: string | undefined
  readonly until: string | undefined
}

/** What a listing selects. */
export interface ListFilter extends Filter, Part {
  readonly limit: number
}

/** A condition, and what its parameters are. */
interface Condition {
  readonly text: string
  readonly params: ReadonlyArray<string | number>
}

/** A path of SQLite's, of keys that have no quotes. */
const jsonPath = (path: ReadonlyArray<string>): string =>
  path.reduce((at, key) => (/^\w+$/.test(key) ? `${at}.${key}` : `${at}."${key}"`), "$")

/** The version of the definition in a row, as its readers take it: 1 where it says none, and nothing where it is no row. */
const versionOf = (data: string): string => {
  const stored = `json_extract(${data}, '${jsonPath(["invoke_seq", definitionVersionKey])}')`
  return `CASE WHEN json_valid(${data}) AND json_type(${data}) = 'object' THEN COALESCE(CAST(${stored} AS INTEGER), 1) END`
}

const all = (conditions: ReadonlyArray<Condition | undefined>): Condition => {
  const given = conditions.flatMap((condition) => (condition === undefined || condition.text === "" ? [] : [condition]))
  return { text: given.map(({ text }) => text).join("\n  AND "), params: given.flatMap(({ params }) => params) }
}

const attribute = (row: string, [name, value]: EncodedAttribute): Condition => ({
  text: `${row}.name = ? AND ${row}.value = ?`,
  params: [name, value]
})

/**
 * What the row of an execution must hold. No index has the version: one over `data` would be written anew by every commit, and a table of its
 * own would be one more to write for each execution, while few ask.
 */
const version = (p: string, id: string, version: number | undefined): Condition | undefined =>
  version === undefined
    ? undefined
    : {
        text: `EXISTS (SELECT 1 FROM ${p}executions AS v WHERE v.id = ${id} AND ${versionOf("v.data")} = ?)`,
        params: [version]
      }

/** What a row `l` of the listing must be. With a sign before it, a column's own index is no choice. */
const listed = ({ definitionId, parentId, rootsOnly, status }: Filter, sign: string): Condition =>
  all([
    parentId === undefined ? undefined : { text: `${sign}l.parent_id = ?`, params: [parentId] },
    definitionId === undefined ? undefined : { text: `${sign}l.definition_id = ?`, params: [definitionId] },
    status.length === 0
      ? undefined
      : { text: `${sign}l.status IN (${status.map(() => "?").join(", ")})`, params: status },
    rootsOnly ? { text: `${sign}l.root = 1`, params: [] } : undefined
  ])

/** The attributes that a row `a` of them and others of its execution must be. */
const attributes = (p: string, [first, ...others]: ReadonlyArray<EncodedAttribute>): Condition =>
  all([
    first && attribute("a", first),
    ...others.map((other) => {
      const { params, text } = attribute("b", other)
      const row = `SELECT 1 FROM ${p}holdfast_attributes AS b WHERE b.execution_id = a.execution_id AND ${text}`
      return { text: `EXISTS (${row})`, params }
    })
  ])

/** Where executions with attributes are found: by the first one, and then each by its id. */
const byAttribute = (p: string): string => lines`
  ${p}holdfast_attributes AS a
  CROSS JOIN ${p}holdfast_listing AS l ON l.id = a.execution_id`

/** One walk along an index, in the order of ids. */
interface Walk {
  readonly from: string
  readonly id: string
  readonly condition: string
  readonly params: ReadonlyArray<string | number>
}

const whole: Part = { after: undefined, until: undefined }

/** Where the ids of a page begin and end. */
const range = (id: string, { after, until }: Part, idPrefix: string | undefined): Condition => {
  const end = idPrefix === undefined ? undefined : prefixEnd(idPrefix)
  const begins = idPrefix !== undefined && (after === undefined || compareUtf8(after, idPrefix) < 0)
  const from = begins || after === undefined ? `${id} >= ?` : `${id} > ?`
  return all([
    { text: from, params: [begins ? idPrefix : (after ?? "")] },
    // What ends a part has the prefix. Of two ends SQLite would look for one alone in the index.
    until !== undefined
      ? { text: `${id} <= ?`, params: [until] }
      : end === undefined
        ? undefined
        : { text: `${id} < ?`, params: [end] }
  ])
}

const attributeWalk = (p: string, filter: ListFilter): Walk => {
  const id = "a.execution_id"
  const { params, text } = all([
    attributes(p, filter.attributes),
    range(id, filter, filter.idPrefix),
    listed(filter, "+"),
    version(p, id, filter.definitionVersion)
  ])
  return { from: byAttribute(p), id, condition: text, params: [...params, filter.limit] }
}

const walksOf = (p: string, filter: ListFilter): ReadonlyArray<Walk> => {
  if (filter.attributes.length > 0) return [attributeWalk(p, filter)]
  const { definitionId, idPrefix, limit, parentId, rootsOnly, status } = filter
  const owners = [parentId, definitionId].filter((id) => id !== undefined)
  const statuses = status.length === 0 ? [[]] : status.map((name) => [name])
  // The children of one execution are a walk along the index of parents: with a sign before it, a column's own index is no choice.
  const [parent, sign] = parentId === undefined ? ["", ""] : ["parent_id = ? AND ", "+"]
  const definition = definitionId === undefined ? "" : `${sign}definition_id = ? AND `
  const conditions = `${parent}${definition}${status.length === 0 ? "" : `${sign}status = ? AND `}`
  const any = rootsOnly ? ["parent_id IS NULL AND "] : [""]
  const either = rootsOnly ? ["root = 1 AND "] : ["root = 0 AND ", "root = 1 AND "]
  const roots = conditions === "" || parentId !== undefined ? any : either
  const from = `${p}holdfast_listing`
  const ids = all([range("id", filter, idPrefix), version(p, `${from}.id`, filter.definitionVersion)])
  return statuses.flatMap((name) =>
    roots.map((root) => ({
      from,
      id: "id",
      condition: conditions + root + ids.text,
      params: [...owners, ...name, ...ids.params, limit]
    }))
  )
}

/** The ids of all walks. */
const merged = (walks: ReadonlyArray<Walk>): string =>
  walks
    .map(
      ({ condition, from, id }) => lines`
        SELECT id
        FROM (SELECT ${id} AS id FROM ${from} WHERE ${condition} ORDER BY ${id} LIMIT ?)`
    )
    .join("\nUNION ALL\n")

const listing = (p: string, walks: ReadonlyArray<Walk>): string => {
  const parts = summaryPaths.map((path) => `'${jsonPath(path)}'`).join(", ")
  return lines`
    SELECT e.id,
      e.definition_id,
      ${exact("e.version")},
      CASE WHEN json_valid(e.data) AND json_type(e.data) = 'object' THEN json_extract(e.data, ${parts}) END
    FROM (
      SELECT id
      FROM (
        ${merged(walks)}
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
 *
 * With attributes there is one walk, along those that are equal to the first of them; each is then looked at.
 */
export const makeListingSql = (p: string) => {
  const texts = new Map<string, string>()
  return (filter: ListFilter): Statement => {
    const walks = walksOf(p, filter)
    const shape = walks.map(({ condition }) => condition).join("; ")
    const sql = texts.get(shape) ?? listing(p, walks)
    texts.set(shape, sql)
    return { sql, params: [...walks.flatMap(({ params }) => params), filter.limit] }
  }
}

/**
 * Makes the statements of a part: of the id with which so many executions end, whatever their version, which has no row where there are
 * fewer; and of how many of them have the version.
 */
export const makePartSql = (p: string) => ({
  end: (filter: ListFilter): Statement => {
    const walks = walksOf(p, { ...filter, definitionVersion: undefined })
    const sql = lines`
      SELECT id
      FROM (
        ${merged(walks)}
      )
      ORDER BY id
      LIMIT 1 OFFSET ?`
    return { sql, params: [...walks.flatMap(({ params }) => params), filter.limit - 1] }
  },

  count: (filter: ListFilter): Statement => {
    const walks = walksOf(p, filter)
    const sql = lines`
      SELECT COUNT(*)
      FROM (
        ${merged(walks)}
      )`
    return { sql, params: walks.flatMap(({ params }) => params) }
  }
})

/** A place in the index of definitions and statuses, before all rows where its parts are the least. */
const behind = "(definition_id, status, root, id) > (?, ?, ?, ?)"

const countOf = (p: string, range: string): string => lines`
  SELECT definition_id, status, COUNT(*)
  FROM ${p}holdfast_listing INDEXED BY ${p}holdfast_listing_definition_status
  WHERE status IS NOT NULL AND ${range}
  GROUP BY definition_id, status`

/**
 * How many executions there are, by definition and status: a walk along an index that has both, in parts. `end` finds where a part ends,
 * which is so many rows behind its beginning; a part without an end is the last. Rows without a status are counted by themselves.
 */
export const makeCountsSql = (p: string) => ({
  end: lines`
    SELECT definition_id, status, root, id
    FROM ${p}holdfast_listing INDEXED BY ${p}holdfast_listing_definition_status
    WHERE status IS NOT NULL AND ${behind}
    ORDER BY definition_id, status, root, id
    LIMIT 1 OFFSET ?`,

  part: countOf(p, `${behind} AND (definition_id, status, root, id) <= (?, ?, ?, ?)`),

  last: countOf(p, behind),

  unreadable: lines`
    SELECT definition_id, NULL, COUNT(*)
    FROM ${p}holdfast_listing
    WHERE status IS NULL
    GROUP BY definition_id`
})

/** Makes the statement that counts what has no version to be looked at. */
export const makeCountSql =
  (p: string) =>
  (filter: Filter): Statement => {
    const found = filter.attributes.length > 0
    const { idPrefix } = filter
    const { params, text } = all([
      attributes(p, filter.attributes),
      // Each row would be looked at for a condition that all are.
      idPrefix === undefined ? undefined : range(found ? "a.execution_id" : "l.id", whole, idPrefix),
      listed(filter, found ? "+" : "")
    ])
    const sql = lines`
      SELECT COUNT(*)
      FROM ${found ? byAttribute(p) : `${p}holdfast_listing AS l`}
      WHERE ${text === "" ? "TRUE" : text}`
    return { sql, params }
  }
