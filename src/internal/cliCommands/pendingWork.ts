import * as Command from "@effect/cli/Command"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ActivityEntry, OutboxEntry, SpawnEntry, Timer } from "../../Commit.js"
import type { Failure } from "../../DeadLetter.js"
import type { StoreCorrupt } from "../../StoreError.js"
import * as format from "../cli/format.js"
import { common, flag, limitOf, value, whole, withStore } from "../cli/options.js"
import { note } from "../cli/screen.js"
import * as table from "../cli/table.js"

/** A row of work, and what is recorded of it where it failed before. */
type Row<A> = A & { readonly failure: Failure | null }

const failureColumns: ReadonlyArray<table.Column<{ readonly failure: Failure | null }>> = [
  {
    name: "attempts",
    show: ({ failure }) => String(failure?.attempts ?? 0),
    color: ({ failure }) => (failure === null ? undefined : "yellow")
  },
  {
    name: "error",
    show: ({ failure }) => failure?.error ?? format.nothing,
    color: ({ failure }) => (failure === null ? undefined : "red")
  }
]

const outboxColumns: ReadonlyArray<table.Column<Row<OutboxEntry>>> = [
  { name: "seq", show: ({ seq }) => String(seq) },
  { name: "target", show: ({ targetId }) => format.text(targetId) },
  { name: "kind", show: ({ event }) => event.kind },
  { name: "event", show: ({ event }) => event.id },
  { name: "emitted", show: ({ emittedAt }) => format.time(emittedAt) },
  ...failureColumns
]

const spawnColumns: ReadonlyArray<table.Column<Row<SpawnEntry>>> = [
  { name: "seq", show: ({ seq }) => String(seq) },
  { name: "parent", show: ({ parentId }) => parentId },
  { name: "child", show: ({ childId }) => childId },
  { name: "root", show: ({ rootPath }) => rootPath },
  ...failureColumns
]

const timerColumns: ReadonlyArray<table.Column<Row<Timer>>> = [
  { name: "due", show: ({ fireAt }) => format.time(fireAt) },
  { name: "execution", show: ({ executionId }) => executionId },
  { name: "path", show: ({ path }) => path },
  ...failureColumns
]

const say = (corrupt: ReadonlyArray<StoreCorrupt>) =>
  Effect.forEach(corrupt, (row) => note(row.message), { discard: true })

const after = value("cursor", "only those behind this seq")

const afterOf = (cursor: Option.Option<string>) =>
  Option.match(cursor, {
    onNone: () => Effect.succeed(undefined),
    onSome: (text) => whole("--cursor", text, 0, Number.MAX_SAFE_INTEGER)
  })

/** The rows of a numbered table. */
const numbered = <A extends { readonly seq: number }>(entries: ReadonlyArray<A>, failures: ReadonlyArray<Failure>) => {
  const bySeq = new Map(failures.map((failure) => ["seq" in failure.work ? failure.work.seq : -1, failure]))
  return entries.map((entry): Row<A> => ({ ...entry, failure: bySeq.get(entry.seq) ?? null }))
}

const sayNext = (next: Option.Option<number>) =>
  Option.match(next, { onNone: () => Effect.void, onSome: (seq) => note(`there are more: give --cursor ${seq}`) })

const outboxList = Command.make("list", { ...common, limit: value("limit"), cursor: after }, (options) =>
  withStore(options, "read", ({ store }) =>
    Effect.gen(function* () {
      const query = { limit: yield* limitOf(options.limit), after: yield* afterOf(options.cursor) }
      const { corrupt, entries, failures, next } = yield* store.pendingOutbox(query)
      yield* table.print(options.json, outboxColumns, numbered(entries, failures))
      yield* say(corrupt)
      yield* sayNext(next)
    })
  )
).pipe(Command.withDescription("Lists the events that are to be delivered, in order."))

const spawnsList = Command.make("list", { ...common, limit: value("limit"), cursor: after }, (options) =>
  withStore(options, "read", ({ store }) =>
    Effect.gen(function* () {
      const query = { limit: yield* limitOf(options.limit), after: yield* afterOf(options.cursor) }
      const { corrupt, entries, failures, next } = yield* store.pendingSpawns(query)
      yield* table.print(options.json, spawnColumns, numbered(entries, failures))
      yield* say(corrupt)
      yield* sayNext(next)
    })
  )
).pipe(Command.withDescription("Lists the children that are to be created, in order."))

const activityColumns: ReadonlyArray<table.Column<ActivityEntry>> = [
  { name: "seq", show: ({ seq }) => String(seq) },
  { name: "execution", show: ({ executionId }) => executionId },
  { name: "name", show: ({ name }) => name },
  { name: "key", show: ({ key }) => key },
  { name: "ready", show: ({ readyAt }) => format.time(readyAt) },
  { name: "owner", show: ({ owner }) => format.text(owner) },
  {
    name: "attempts",
    show: ({ attempts }) => String(attempts),
    color: ({ attempts }) => (attempts === 0 ? undefined : "yellow")
  },
  {
    name: "error",
    show: ({ error }) => error ?? format.nothing,
    color: ({ error }) => (error === null ? undefined : "red")
  }
]

const activitiesList = Command.make("list", { ...common, limit: value("limit"), cursor: after }, (options) =>
  withStore(options, "read", ({ store }) =>
    Effect.gen(function* () {
      const query = { limit: yield* limitOf(options.limit), after: yield* afterOf(options.cursor) }
      const { corrupt, entries, next } = yield* store.activities.list(query)
      yield* table.print(options.json, activityColumns, entries)
      yield* say(corrupt)
      yield* sayNext(next)
    })
  )
).pipe(Command.withDescription("Lists the activities that run or wait, in the order in which they were asked for."))

/** Later than any time of a timer; harel's timers that never fire are infinite, and none of these. */
const endOfTime = Number.MAX_SAFE_INTEGER

const withTimerFailures = (timers: ReadonlyArray<Timer>, failures: ReadonlyArray<Failure>): ReadonlyArray<Row<Timer>> =>
  timers.map((timer) => ({
    ...timer,
    failure:
      failures.find(
        ({ work }) => work._tag === "Timer" && work.executionId === timer.executionId && work.path === timer.path
      ) ?? null
  }))

const timersList = Command.make(
  "list",
  { ...common, due: flag("due"), limit: value("limit"), all: flag("all") },
  (options) =>
    withStore(options, "read", ({ store }) =>
      Effect.gen(function* () {
        const limit = options.all ? 1000 : yield* limitOf(options.limit)
        const until = options.due ? (yield* Clock.currentTimeMillis) / 1000 : endOfTime
        let behind: Timer | undefined
        let header = true
        do {
          const { corrupt, entries, failures, next } = yield* store.dueTimers(until, { limit, after: behind })
          yield* table.print(options.json, timerColumns, withTimerFailures(entries, failures), header)
          yield* say(corrupt)
          behind = Option.getOrUndefined(next)
          header = false
        } while (options.all && behind !== undefined)
        if (behind !== undefined) yield* note("there are more: give --all, or a greater --limit")
      })
    )
).pipe(Command.withDescription("Lists the armed timers, earliest first."))

export const outbox = Command.make("outbox").pipe(
  Command.withDescription("The events that are to be delivered."),
  Command.withSubcommands([outboxList])
)
export const spawns = Command.make("spawns").pipe(
  Command.withDescription("The children that are to be created."),
  Command.withSubcommands([spawnsList])
)
export const timers = Command.make("timers").pipe(
  Command.withDescription("The armed timers."),
  Command.withSubcommands([timersList])
)
export const activities = Command.make("activities").pipe(
  Command.withDescription("The activities that have not ended."),
  Command.withSubcommands([activitiesList])
)
