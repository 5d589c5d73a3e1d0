import { lines } from "../util/lines.js"

/** Names and values of attributes, as one JSON text. */
const pair = "json_extract(value, '$[0]'), json_extract(value, '$[1]')"

/** Gives an execution attributes; those that it has already cost no write. It takes the execution's id and the attributes. */
export const writeAttributes = (p: string, guard: string): string => lines`
  INSERT INTO ${p}holdfast_attributes (execution_id, name, value)
  SELECT ?, ${pair}
  FROM json_each(?)
  WHERE ${guard}
  ON CONFLICT (execution_id, name) DO UPDATE SET value = excluded.value
  WHERE ${p}holdfast_attributes.value <> excluded.value`

/** Removes the others. It takes the execution's id and the attributes that it has. */
export const removeAttributes = (p: string, guard: string): string => lines`
  DELETE FROM ${p}holdfast_attributes
  WHERE execution_id = ?
    AND name NOT IN (SELECT json_extract(value, '$[0]') FROM json_each(?))
    AND ${guard}`

/** What is done with attributes outside of a commit. */
export const makeAttributeSql = (p: string) => {
  const guard = `EXISTS (SELECT 1 FROM ${p}executions WHERE id = ? AND version = ?)`
  return {
    of: lines`
      SELECT name, value
      FROM ${p}holdfast_attributes
      WHERE execution_id = ?
      ORDER BY name`,

    write: writeAttributes(p, guard),
    remove: removeAttributes(p, guard)
  }
}
