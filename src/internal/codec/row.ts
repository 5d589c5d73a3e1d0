import * as Either from "effect/Either"
import type { ActivityEntry, OutboxEntry, SpawnEntry, Work } from "../../Commit.js"
import type { EncodedActivity } from "../../EncodedStore.js"
import type { AttributeValue, Execution } from "../../Execution.js"
import { StoreCorrupt } from "../../StoreError.js"
import { emitted } from "./event.js"
import * as json from "./json.js"
import * as reader from "./reader.js"

/** Which row is read, for the error that names it. `work` is there where the row can be buried. */
export interface Place {
  readonly operation: string
  readonly table: string
  readonly key: string
  readonly work?: Work | undefined
}

/** Decodes one stored row; what is thrown or refused on the way becomes the error that names the row. */
export const decode = <A>(place: Place, decode: () => A): Either.Either<A, StoreCorrupt> =>
  Either.try({
    try: decode,
    catch: (cause) =>
      new StoreCorrupt({
        ...place,
        problem:
          cause instanceof reader.Invalid
            ? reader.describe(cause)
            : `not JSON: ${cause instanceof Error ? cause.message : String(cause)}`
      })
  })

/** Sorts the rows of a page into those that decode and those that do not. */
export const partition = <Row, A>(rows: ReadonlyArray<Row>, decode: (row: Row) => Either.Either<A, StoreCorrupt>) => {
  const entries: Array<A> = []
  const corrupt: Array<StoreCorrupt> = []
  for (const row of rows) {
    const decoded = decode(row)
    if (Either.isRight(decoded)) entries.push(decoded.right)
    else corrupt.push(decoded.left)
  }
  return { entries, corrupt }
}

export const text = (u: unknown, column: string): string => reader.string(u, column)

export const freeData = (u: unknown, column: string): Execution["context"] =>
  reader.object(json.parsePython(text(u, column), column), column)

/** Reads a row of the outbox; throws. */
export const outboxEntry = (row: {
  readonly seq: unknown
  readonly targetId: unknown
  readonly event: unknown
}): OutboxEntry => outboxEntryOf(row, json.parse(text(row.event, "event"), "event"))

/** The same where the event is parsed already. */
export const outboxEntryOf = (
  row: { readonly seq: unknown; readonly targetId: unknown },
  event: unknown
): OutboxEntry => ({
  seq: reader.integerColumn(row.seq, "seq"),
  targetId: reader.nullable(reader.string)(row.targetId, "target_id"),
  ...emitted.decode(event, "event")
})

/** Reads a row of the spawns; throws. */
export const spawnEntry = (row: {
  readonly seq: unknown
  readonly parentId: unknown
  readonly childId: unknown
  readonly rootPath: unknown
  readonly context: unknown
}): SpawnEntry => ({
  seq: reader.integerColumn(row.seq, "seq"),
  parentId: text(row.parentId, "parent_id"),
  childId: text(row.childId, "child_id"),
  rootPath: text(row.rootPath, "root_path"),
  context: freeData(row.context, "context")
})

/** Reads a row of the activities; throws. */
export const activityEntry = (row: EncodedActivity): ActivityEntry => ({
  seq: reader.integerColumn(row.seq, "seq"),
  executionId: text(row.executionId, "execution_id"),
  key: text(row.key, "key"),
  name: text(row.name, "name"),
  limitKey: text(row.limitKey, "limit_key"),
  payload: freeData(row.payload, "payload"),
  version: reader.integerColumn(row.version, "version"),
  traceparent: reader.nullable(reader.string)(row.traceparent, "traceparent"),
  askedAt: reader.finite(row.askedAt, "asked_at"),
  readyAt: reader.finite(row.readyAt, "ready_at"),
  attempts: reader.integerColumn(row.attempts, "attempts"),
  error: reader.nullable(reader.string)(row.error, "error"),
  owner: reader.nullable(reader.string)(row.owner, "owner")
})

/** Reads an activity from the columns of its table; throws. */
export const activityColumns = (row: { readonly [column: string]: unknown }): ActivityEntry =>
  activityEntry({
    seq: row["seq"],
    executionId: row["execution_id"],
    key: row["key"],
    name: row["name"],
    limitKey: row["limit_key"],
    payload: row["payload"],
    version: row["version"],
    traceparent: row["traceparent"],
    askedAt: row["asked_at"],
    readyAt: row["ready_at"],
    attempts: row["attempts"],
    error: row["error"],
    owner: row["owner"]
  })

/** Reads an attribute; throws. */
export const attribute = (row: {
  readonly [column: string]: unknown
}): readonly [name: string, value: AttributeValue] => {
  const stored = text(row["value"], "value")
  const value: unknown = JSON.parse(stored)
  const isValue = typeof value === "string" || typeof value === "number" || typeof value === "boolean"
  // Another text of the same value would not be found.
  if (!isValue || JSON.stringify(value) !== stored) {
    throw new reader.Invalid("value", "expected a string, a number or a boolean, as JSON")
  }
  return [text(row["name"], "name"), value]
}
