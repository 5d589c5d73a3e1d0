import * as Either from "effect/Either"
import type { OutboxEntry, SpawnEntry, WorkItem } from "../../Commit.js"
import type { Execution } from "../../Execution.js"
import { StoreCorrupt } from "../../StoreError.js"
import { emitted } from "./event.js"
import * as json from "./json.js"
import * as reader from "./reader.js"

/** Which row is read, for the error that names it. `work` is there where the row can be buried. */
export interface Place {
  readonly operation: string
  readonly table: string
  readonly key: string
  readonly work?: WorkItem | undefined
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

const freeData = (u: unknown, column: string): Execution["context"] =>
  reader.object(json.parsePython(text(u, column), column), column)

/** Reads a row of the outbox; throws. */
export const outboxEntry = (row: {
  readonly seq: unknown
  readonly targetId: unknown
  readonly event: unknown
}): OutboxEntry => ({
  seq: reader.integerColumn(row.seq, "seq"),
  targetId: reader.nullable(reader.string)(row.targetId, "target_id"),
  ...emitted.decode(json.parse(text(row.event, "event"), "event"), "event")
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
