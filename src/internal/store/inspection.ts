import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Work, WorkItem } from "../../Commit.js"
import type { Failure } from "../../DeadLetter.js"
import type { EncodedWork, Failed, Position, StoredRow, StoredTable, WorkPosition } from "../../EncodedStore.js"
import type { ExecutionCount, ExecutionStore, PendingWork, UnservedDefinition } from "../../ExecutionStore.js"
import { StoreCorrupt, type StoreRejected } from "../../StoreError.js"
import * as deadLetter from "../codec/deadLetter.js"
import { emitted } from "../codec/event.js"
import { statuses } from "../codec/execution.js"
import * as json from "../codec/json.js"
import * as rows from "../codec/row.js"
import { traceStep } from "../codec/traceStep.js"
import * as validate from "../codec/validate.js"
import { type Backend, checkIds, checkWhole, defaultPage, maxPage, numberOf, seconds } from "./backend.js"
import { executionOf } from "./executions.js"

type Columns = StoredRow["columns"]

/** How the rows of a table are checked: which columns name one, what must hold beside the types of its columns, and which work it is. */
interface Check {
  readonly name: ReadonlyArray<string>
  readonly demand?: ((row: Columns, checks: validate.Checks) => unknown) | undefined
  readonly work?: ((row: Columns) => Work | undefined) | undefined
}

const operation = "verify"

/** Rows are read from number 1 on. */
const demandAboveZero = (number: unknown, column: string): void =>
  validate.demand(
    column,
    typeof number === "number" && number <= 0 ? "is not above 0, from where rows are read" : undefined
  )

const numberedWork =
  (_tag: "Outbox" | "Spawn" | "Activity") =>
  ({ seq }: Columns): Work | undefined => {
    const number = numberOf(seq)
    return number === undefined || number < 0 ? undefined : { _tag, seq: number }
  }

const timerWork = ({ execution_id: executionId, fire_at: fireAt, path }: Columns): Work => ({
  _tag: "Timer",
  executionId: String(executionId),
  path: String(path),
  fireAt: typeof fireAt === "number" ? fireAt : 0
})

const demandEvent = ({ event, seq, target_id: targetId }: Columns): unknown =>
  rows.outboxEntry({ seq, targetId, event })

/** In the order in which they are read. */
const checks: { readonly [table in StoredTable]: Check } = {
  executions: {
    name: ["id"],
    demand: ({ data, id, version }, checks) => {
      validate.demand("id", checks.id(id))
      return executionOf(String(id), { data, version })
    }
  },
  outbox: {
    name: ["seq"],
    demand: (row) => {
      demandAboveZero(row["seq"], "seq")
      return demandEvent(row)
    },
    work: numberedWork("Outbox")
  },
  processed_events: { name: ["execution_id", "event_id"] },
  timers: { name: ["execution_id", "path"], work: timerWork },
  spawns: {
    name: ["seq"],
    demand: ({ child_id: childId, context, parent_id: parentId, root_path: rootPath, seq }) => {
      demandAboveZero(seq, "seq")
      return rows.spawnEntry({ seq, parentId, childId, rootPath, context })
    },
    work: numberedWork("Spawn")
  },
  trace: {
    name: ["execution_id", "idx"],
    demand: ({ entry }) => traceStep.decode(json.parsePython(rows.text(entry, "entry"), "entry"), "entry")
  },
  definitions: { name: ["definition_id", "version"] },
  holdfast_meta: { name: ["key"] },
  holdfast_listing: { name: ["id"] },
  holdfast_marks: { name: ["execution_id", "event_id"] },
  holdfast_delayed: { name: ["seq"], demand: demandEvent },
  holdfast_members: { name: ["pool", "holder"] },
  holdfast_leases: { name: ["pool", "name"] },
  holdfast_outbox_failures: { name: ["seq"] },
  holdfast_spawn_failures: { name: ["seq"] },
  holdfast_timer_failures: { name: ["execution_id", "path"] },
  holdfast_dead_letters: {
    name: ["id"],
    demand: (row) => {
      demandAboveZero(row["id"], "id")
      return deadLetter.decodeColumns(row)
    }
  },
  holdfast_activities: {
    name: ["seq"],
    demand: (row) => {
      demandAboveZero(row["seq"], "seq")
      return rows.activityColumns(row)
    },
    work: numberedWork("Activity")
  },
  holdfast_attributes: { name: ["execution_id", "name"], demand: rows.attribute },
  holdfast_activity_starts: { name: ["name", "key", "n"] }
}

const isTable = (name: string): name is StoredTable => Object.hasOwn(checks, name)
const tables = Object.keys(checks).filter(isTable)

const corruptOf = (
  backend: Backend,
  table: StoredTable,
  { columns, problem }: StoredRow
): Option.Option<StoreCorrupt> => {
  const { demand, name, work } = checks[table]
  const place = {
    operation,
    table,
    key: name.map((column) => String(columns[column])).join(" "),
    work: work?.(columns)
  }
  if (problem !== undefined) return Option.some(new StoreCorrupt({ ...place, problem }))
  return Either.getLeft(rows.decode(place, () => demand?.(columns, backend.checks)))
}

/** Where a page begins: in which table, and behind which of its rows. */
const Cursor = Schema.parseJson(
  Schema.Struct({
    table: Schema.String.pipe(Schema.filter(isTable)),
    after: Schema.optional(Schema.Array(Schema.Union(Schema.String, Schema.Number)))
  })
)

interface Start {
  readonly table: StoredTable
  readonly after: Position | undefined
}

const encodeCursor = (start: Start): string => Encoding.encodeBase64Url(JSON.stringify(start))

const decodeCursor = (cursor: string | undefined): Either.Either<Start, StoreRejected> => {
  if (cursor === undefined) return Either.right({ table: "executions", after: undefined })
  return Encoding.decodeBase64UrlString(cursor).pipe(
    Either.flatMap(Schema.decodeUnknownEither(Cursor)),
    Either.flatMap(({ after, table }) => (isTable(table) ? Either.right({ table, after }) : Either.left(undefined))),
    Either.mapLeft(() => validate.rejected({ operation }, "cursor", "is not a cursor that a page gave"))
  )
}

/** Where the page behind this one begins: in the same table, or in the next. */
const behind = (table: StoredTable, next: Position | undefined): Option.Option<string> => {
  if (next !== undefined) return Option.some(encodeCursor({ table, after: next }))
  const following = tables[tables.indexOf(table) + 1]
  return following === undefined ? Option.none() : Option.some(encodeCursor({ table: following, after: undefined }))
}

/** Checks every row of every table. */
export const makeVerify = (backend: Backend): Pick<ExecutionStore, "verify"> => ({
  verify: ({ cursor, limit = defaultPage } = {}) =>
    Effect.gen(function* () {
      yield* checkWhole({ operation }, "limit", limit, 1, maxPage)
      const { after, table } = yield* decodeCursor(cursor)
      const page = yield* backend.encoded.verify(table, after, limit)
      return {
        rows: page.rows.length,
        corrupt: page.rows.flatMap((row) => Option.toArray(corruptOf(backend, table, row))),
        nextCursor: behind(table, page.next)
      }
    })
})

/** Since when the first event of the outbox is to be delivered, where its row says so. */
const oldestEmit = (event: unknown): Option.Option<number> =>
  typeof event === "string"
    ? Option.flatMapNullable(
        Option.getRight(Either.try(() => emitted.decode(json.parse(event), "event"))),
        ({ emittedAt }) => emittedAt
      )
    : Option.none()

const time = (u: unknown): Option.Option<number> => (typeof u === "number" ? Option.some(u) : Option.none())

/** How much work there is. */
export const makeStats = ({ encoded }: Backend): ExecutionStore["stats"] =>
  Effect.gen(function* () {
    const { activities, deadLetters, delayed, outbox, spawns, timers } = yield* encoded.stats(yield* seconds)
    const { event, ...events } = outbox
    const { earliest, ...armed } = timers
    const { askedAt, ...asked } = activities
    return {
      outbox: { ...events, oldest: oldestEmit(event) },
      spawns: { ...spawns, oldest: Option.none() },
      timers: { ...armed, oldest: time(earliest) },
      delayed: { count: delayed.count, corrupt: delayed.corrupt, oldest: time(delayed.dueAt) },
      activities: { ...asked, oldest: time(askedAt) },
      deadLetters: { count: deadLetters.count, oldest: time(deadLetters.diedAt) }
    }
  })

/** How many executions there are. What is no text is no definition: `verify` reports it. */
export const makeCounts = ({ encoded }: Backend): ExecutionStore["counts"] =>
  Effect.map(encoded.counts, (rows) =>
    rows.flatMap(({ count, definitionId, status }): ReadonlyArray<ExecutionCount> => {
      const known = Option.fromNullable(statuses.find((name) => name === status))
      return typeof definitionId === "string" ? [{ definitionId, status: known, count }] : []
    })
  )

const failuresOf = <Row extends Failed>(found: ReadonlyArray<Row>, work: (row: Row) => WorkItem | undefined) =>
  found.flatMap((row): ReadonlyArray<Failure> => {
    const item = work(row)
    return row.failed === undefined || item === undefined ? [] : [{ ...row.failed, work: item }]
  })

const numberedItem =
  (_tag: "Outbox" | "Spawn") =>
  ({ seq }: { readonly seq: unknown }): WorkItem | undefined => {
    const number = numberOf(seq)
    return number === undefined ? undefined : { _tag, seq: number }
  }

const timerItem = ({ executionId, fireAt, path }: EncodedWork["timers"][number]): WorkItem => ({
  _tag: "Timer",
  executionId,
  path,
  fireAt
})

const delayedEvent = ({ dueAt, event }: EncodedWork["delayed"][number]) => ({
  dueAt,
  event: emitted.decode(json.parse(rows.text(event, "event"), "event"), "event").event
})

/** Where a page of the work of an execution begins. */
const WorkCursor = Schema.parseJson(
  Schema.Struct({
    events: Schema.optional(Schema.Union(Schema.String, Schema.Number)),
    delayed: Schema.optional(Schema.Union(Schema.String, Schema.Number)),
    timers: Schema.optional(Schema.String),
    spawns: Schema.optional(Schema.Union(Schema.String, Schema.Number))
  })
)

const decodeWorkCursor = (
  call: validate.Call,
  cursor: string | undefined
): Either.Either<WorkPosition | undefined, StoreRejected> =>
  cursor === undefined
    ? Either.right(undefined)
    : Encoding.decodeBase64UrlString(cursor).pipe(
        Either.flatMap(Schema.decodeUnknownEither(WorkCursor)),
        Either.mapLeft(() => validate.rejected(call, "cursor", "is not a cursor that a page gave"))
      )

const decodeWork = ({ delayed, events, next, spawns, timers }: EncodedWork): PendingWork => {
  const place = (table: string, key: unknown, work?: WorkItem) => ({
    operation: "workOf",
    table,
    key: String(key),
    work
  })
  const [event, spawn] = [numberedItem("Outbox"), numberedItem("Spawn")]
  const outbox = rows.partition(events, (row) =>
    rows.decode(place("outbox", row.seq, event(row)), () => rows.outboxEntry(row))
  )
  const later = rows.partition(delayed, (row) =>
    rows.decode(place("holdfast_delayed", row.seq), () => delayedEvent(row))
  )
  const children = rows.partition(spawns, (row) =>
    rows.decode(place("spawns", row.seq, spawn(row)), () => rows.spawnEntry(row))
  )
  return {
    events: outbox.entries,
    delayed: later.entries,
    timers: timers.map(({ executionId, fireAt, path }) => ({ executionId, path, fireAt })),
    spawns: children.entries,
    failures: [...failuresOf(events, event), ...failuresOf(timers, timerItem), ...failuresOf(spawns, spawn)],
    corrupt: [...outbox.corrupt, ...later.corrupt, ...children.corrupt],
    nextCursor: Option.map(Option.fromNullable(next), (next) => Encoding.encodeBase64Url(JSON.stringify(next)))
  }
}

/** What is to be done for one execution. */
export const makeWork =
  (backend: Backend): ExecutionStore["workOf"] =>
  (executionId, { cursor, limit = defaultPage } = {}) => {
    const call = { operation: "workOf", executionId }
    return Effect.gen(function* () {
      yield* checkIds(backend, call, { executionId })
      yield* checkWhole(call, "limit", limit, 1, maxPage)
      const after = yield* decodeWorkCursor(call, cursor)
      return decodeWork(yield* backend.encoded.workOf(executionId, limit, after))
    })
  }
/** What waits for definitions and activities that a process does not have. */
export const makeUnserved = ({ checks, encoded }: Backend): Pick<ExecutionStore, "unserved"> => ({
  unserved: (served) =>
    Effect.gen(function* () {
      // What cannot be stored is nobody's name.
      const names = (all: ReadonlyArray<string>) => all.filter((name) => checks.id(name) === undefined)
      const { more, rows } = yield* encoded.unserved(yield* seconds, {
        definitions: names(served.definitions),
        activities: names(served.activities)
      })
      const definitions = new Map<string, UnservedDefinition>()
      for (const { count, id, kind, oldest } of rows) {
        if (kind === "Activity") continue
        const before = definitions.get(id) ?? {
          definitionId: id,
          outbox: 0,
          spawns: 0,
          timers: 0,
          oldest: Option.none()
        }
        definitions.set(id, { ...before, [columns[kind]]: count, oldest: earlier(before.oldest, time(oldest)) })
      }
      const activities = rows.flatMap(({ count, id, kind, oldest }) =>
        kind === "Activity" ? [{ name: id, count, oldest: time(oldest) }] : []
      )
      return { definitions: Array.from(definitions.values()), activities, more }
    })
})

const columns = { Outbox: "outbox", Spawn: "spawns", Timer: "timers" } as const

const earlier = (one: Option.Option<number>, other: Option.Option<number>): Option.Option<number> =>
  Option.isSome(one) && Option.isSome(other)
    ? Option.some(Math.min(one.value, other.value))
    : Option.orElse(one, () => other)
