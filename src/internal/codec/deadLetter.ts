import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { Timer } from "../../Commit.js"
import { type DeadLetter, Reason } from "../../DeadLetter.js"
import type { EncodedDeadLetter } from "../../EncodedStore.js"
import type { StoreCorrupt } from "../../StoreError.js"
import * as json from "./json.js"
import * as reader from "./reader.js"
import * as rows from "./row.js"
import { stringify } from "./stringify.js"

const reasons = reader.literal(...Reason.literals)
const kinds = reader.literal("Outbox", "Spawn", "Timer", "Activity")

/** What of an activity has no column in the dead letters. */
export const activityParts = (body: unknown) => {
  const rest = reader.object(json.parse(rows.text(body, "body")), "body")
  return {
    version: reader.integerColumn(rest["version"], "version"),
    limitKey: reader.string(rest["limit_key"], "limit_key"),
    payload: rest["payload"]
  }
}

/** The same under the names of its columns, or the whole where it is none. */
const restOf = ({ body }: EncodedDeadLetter) =>
  Option.match(Option.getRight(Either.try(() => activityParts(body))), {
    onNone: () => ({ body }),
    onSome: ({ limitKey, payload, version }) => ({ version, limit_key: limitKey, payload })
  })

/** The stored row as JSON: what is in the row, under the names of its columns; throws. */
const textOf = (kind: DeadLetter["_tag"], row: EncodedDeadLetter): string => {
  const columns = {
    Outbox: { seq: row.seq, target_id: row.executionId, event: row.body },
    Spawn: {
      seq: row.seq,
      parent_id: row.executionId,
      child_id: row.childId,
      root_path: row.path,
      context: row.body
    },
    Timer: { execution_id: row.executionId, path: row.path, fire_at: row.fireAt },
    Activity: {
      seq: row.seq,
      execution_id: row.executionId,
      key: row.childId,
      name: row.path,
      ...restOf(row)
    }
  }
  return Either.getOrThrowWith(stringify(columns[kind]), (invalid) => invalid).text
}

/** What the row held, where it decodes. */
const rowOf = <A>(row: EncodedDeadLetter, decode: () => A): Option.Option<A> =>
  row.broken ? Option.none() : Option.getRight(Either.try(decode))

const timer = (row: EncodedDeadLetter): Timer => ({
  executionId: reader.string(row.executionId, "execution_id"),
  path: reader.string(row.path, "path"),
  fireAt: reader.finite(row.fireAt, "fire_at")
})

const activity = ({ body, childId, executionId, path }: EncodedDeadLetter) => {
  const { limitKey, payload, version } = activityParts(body)
  return {
    executionId: rows.text(executionId, "execution_id"),
    key: rows.text(childId, "key"),
    name: rows.text(path, "name"),
    limitKey,
    payload: rows.freeData(payload, "payload"),
    version
  }
}

/** Reads a dead letter; throws. */
const deadLetter = (row: EncodedDeadLetter): DeadLetter => {
  const _tag = kinds(row.kind, "kind")
  const parts = {
    id: reader.integerColumn(row.id, "id"),
    executionId: reader.nullable(reader.string)(row.executionId, "execution_id"),
    text: textOf(_tag, row),
    reason: reasons(row.reason, "reason"),
    attempts: reader.integerColumn(row.attempts, "attempts"),
    error: reader.string(row.error, "error"),
    diedAt: reader.finite(row.diedAt, "died_at")
  }
  switch (_tag) {
    case "Outbox": {
      const seq = reader.integerColumn(row.seq, "seq")
      const entry = rowOf(row, () => rows.outboxEntry({ seq, targetId: row.executionId, event: row.body }))
      return { _tag, ...parts, work: { _tag, seq }, row: entry }
    }
    case "Spawn": {
      const seq = reader.integerColumn(row.seq, "seq")
      const { body: context, childId, executionId: parentId, path: rootPath } = row
      const entry = rowOf(row, () => rows.spawnEntry({ seq, parentId, childId, rootPath, context }))
      return { _tag, ...parts, work: { _tag, seq }, row: entry }
    }
    case "Timer": {
      const path = reader.string(row.path, "path")
      const fireAt = typeof row.fireAt === "number" && Number.isFinite(row.fireAt) ? row.fireAt : 0
      const work = { _tag, executionId: reader.string(row.executionId, "execution_id"), path, fireAt }
      return { _tag, ...parts, work, row: rowOf(row, () => timer(row)) }
    }
    case "Activity": {
      const seq = reader.integerColumn(row.seq, "seq")
      return { _tag, ...parts, work: { _tag, seq }, row: rowOf(row, () => activity(row)) }
    }
  }
}

/** Reads a dead letter from the columns of its table, where what is no text in a column of texts is one of its SQL literal; throws. */
export const decodeColumns = (row: { readonly [column: string]: unknown }): DeadLetter =>
  deadLetter({
    id: row["id"],
    kind: row["kind"],
    seq: row["seq"],
    executionId: row["execution_id"],
    childId: row["child_id"],
    path: row["path"],
    fireAt: row["fire_at"],
    body: row["body"],
    broken: true,
    reason: row["reason"],
    attempts: row["attempts"],
    error: row["error"],
    diedAt: row["died_at"]
  })

/** Reads a row of the dead letters. */
export const decode = (row: EncodedDeadLetter): Either.Either<DeadLetter, StoreCorrupt> =>
  rows.decode({ operation: "listDeadLetters", table: "holdfast_dead_letters", key: String(row.id) }, () =>
    deadLetter(row)
  )
