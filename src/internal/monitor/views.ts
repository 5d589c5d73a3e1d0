import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type { ActivityEntry, OutboxEntry, SpawnEntry, Timer, TraceEntry } from "../../Commit.js"
import type { DeadLetter, Failure } from "../../DeadLetter.js"
import type { Event } from "../../Event.js"
import type { Attributes, Execution, ExecutionSummary } from "../../Execution.js"
import type { Health } from "../../ExecutionRuntime.js"
import type { ExecutionCount, Stats } from "../../ExecutionStore.js"
import type * as QueueWorker from "../../QueueWorker.js"
import type { StoreCorrupt } from "../../StoreError.js"
import type * as models from "../monitorApi/models.js"
import { isObject } from "../options/decode.js"
import type { Redact } from "./redactJson.js"

type View<S extends Schema.Schema.Any> = Schema.Schema.Type<S>

export const corrupt = (rows: ReadonlyArray<StoreCorrupt>): ReadonlyArray<View<typeof models.Corrupt>> =>
  rows.map(({ key, problem, table }) => ({ table, key, problem }))

export const summary = (item: ExecutionSummary): View<typeof models.Summary> => ({
  id: item.id,
  definitionId: item.definitionId,
  status: item.status,
  outcome: item.outcome,
  activePath: item.activePath,
  version: item.version,
  parentId: item.parentId,
  finishedAt: item.finishedAt
})

const event = ({ createdTime, data, id, kind }: Event, redact: Redact) => ({
  id,
  kind,
  createdTime,
  data: redact(data)
})

const timerKey = ({ executionId, path }: Pick<Timer, "executionId" | "path">) => JSON.stringify([executionId, path])

/** What is recorded of failures, by the work that failed. */
const failures = (recorded: ReadonlyArray<Failure>) => {
  const known = new Map(
    recorded.map((failure) => {
      const { work } = failure
      return [work._tag === "Timer" ? timerKey(work) : `${work._tag} ${work.seq}`, failure]
    })
  )
  return (key: string) => {
    const failure = known.get(key)
    return { attempts: failure?.attempts ?? 0, error: failure?.error ?? null, retryAt: failure?.retryAt ?? null }
  }
}

export const outboxRows = (
  entries: ReadonlyArray<OutboxEntry>,
  recorded: ReadonlyArray<Failure>,
  redact: Redact
): ReadonlyArray<View<typeof models.OutboxRow>> => {
  const failed = failures(recorded)
  return entries.map((entry) => ({
    seq: entry.seq,
    targetId: entry.targetId,
    event: event(entry.event, redact),
    emittedAt: entry.emittedAt,
    ...failed(`Outbox ${entry.seq}`)
  }))
}

export const spawnRows = (
  entries: ReadonlyArray<SpawnEntry>,
  recorded: ReadonlyArray<Failure>,
  redact: Redact
): ReadonlyArray<View<typeof models.SpawnRow>> => {
  const failed = failures(recorded)
  return entries.map(({ childId, context, parentId, rootPath, seq }) => ({
    seq,
    parentId,
    childId,
    rootPath,
    context: redact(context),
    ...failed(`Spawn ${seq}`)
  }))
}

export const timerRows = (
  entries: ReadonlyArray<Timer>,
  recorded: ReadonlyArray<Failure>
): ReadonlyArray<View<typeof models.TimerRow>> => {
  const failed = failures(recorded)
  return entries.map((timer) => ({
    executionId: timer.executionId,
    path: timer.path,
    fireAt: timer.fireAt,
    ...failed(timerKey(timer))
  }))
}

export const activityRow = (entry: ActivityEntry, redact: Redact): View<typeof models.ActivityRow> => ({
  seq: entry.seq,
  executionId: entry.executionId,
  key: entry.key,
  name: entry.name,
  limitKey: entry.limitKey,
  payload: redact(entry.payload),
  askedAt: entry.askedAt,
  readyAt: entry.readyAt,
  attempts: entry.attempts,
  error: entry.error,
  owner: entry.owner
})

/** The row of a dead letter, with what the application put into it masked. */
const letterRow = (letter: DeadLetter, redact: Redact): unknown => {
  switch (letter._tag) {
    case "Outbox":
      return Option.match(letter.row, {
        onNone: () => null,
        onSome: ({ event: sent, targetId }) => ({ targetId, event: event(sent, redact) })
      })
    case "Spawn":
      return Option.match(letter.row, {
        onNone: () => null,
        onSome: ({ childId, context, parentId, rootPath }) => ({
          parentId,
          childId,
          rootPath,
          context: redact(context)
        })
      })
    case "Timer":
      return Option.getOrNull(letter.row)
    case "Activity":
      return Option.match(letter.row, {
        onNone: () => null,
        onSome: ({ payload, ...row }) => ({ ...row, payload: redact(payload) })
      })
  }
}

/** What is stored as text shows all that is in it: not where anything is to be masked. */
export const deadLetter = (
  letter: DeadLetter,
  redact: Redact,
  redacted: boolean
): View<typeof models.DeadLetterRow> => ({
  id: letter.id,
  kind: letter._tag,
  executionId: letter.executionId,
  reason: letter.reason,
  attempts: letter.attempts,
  error: letter.error,
  diedAt: letter.diedAt,
  row: letterRow(letter, redact),
  text: redacted || Option.isSome<unknown>(letter.row) ? null : letter.text
})

export const execution = (execution: Execution, redact: Redact): View<typeof models.Execution> => ({
  id: execution.id,
  definitionId: execution.definitionId,
  rootPath: execution.rootPath,
  status: execution.status,
  outcome: execution.outcome,
  result: redact(execution.result ?? null),
  error: execution.error,
  activePath: execution.activePath,
  context: redact(execution.context),
  processedEvents: execution.processedEvents,
  version: execution.version,
  parentId: execution.parentId,
  createdAt: execution.createdAt,
  updatedAt: execution.updatedAt,
  finishedAt: execution.finishedAt,
  deferred: execution.deferred.map((held) => event(held, redact)),
  children: Object.entries(execution.children).map(([id, child]) => ({
    id,
    key: child.key,
    rootPath: child.rootPath,
    finished: child.finished,
    outcome: child.outcome,
    result: redact(child.result)
  }))
})

/** What an execution is found by: values of its context, masked as that is. */
export const attributes = (attributes: Attributes, redact: Redact): View<typeof models.ExecutionPage>["attributes"] => {
  const masked = redact({ ...attributes })
  return isObject(masked) ? masked : {}
}

export const delayed = (
  entries: ReadonlyArray<{ readonly dueAt: number; readonly event: Event }>,
  redact: Redact
): View<typeof models.ExecutionPage>["delayed"] =>
  entries.map(({ dueAt, event: sent }) => ({ dueAt, event: event(sent, redact) }))

export const traceStep = (step: TraceEntry, redact: Redact): View<typeof models.TraceStep> => ({
  index: step.index,
  eventKind: step.eventKind,
  eventData: redact(step.eventData),
  fromPath: step.fromPath,
  toPath: step.toPath,
  actions: step.actions,
  context: redact(step.contextOut),
  timestamp: step.timestamp
})

const backlog = ({ count, failing, oldest }: Stats["outbox"]) => ({
  count,
  failing,
  oldest: Option.getOrNull(oldest)
})

export const stats = (stats: Stats): View<typeof models.Stats> => ({
  outbox: backlog(stats.outbox),
  spawns: backlog(stats.spawns),
  timers: { ...backlog(stats.timers), due: stats.timers.due },
  delayed: {
    count: stats.delayed.count,
    corrupt: stats.delayed.corrupt,
    oldest: Option.getOrNull(stats.delayed.oldest)
  },
  activities: { ...backlog(stats.activities), running: stats.activities.running },
  deadLetters: { count: stats.deadLetters.count, oldest: Option.getOrNull(stats.deadLetters.oldest) }
})

export const count = ({ count, definitionId, status }: ExecutionCount): View<typeof models.Count> => ({
  definitionId,
  status: Option.getOrNull(status),
  count
})

const worker = (name: string, health: QueueWorker.Health) => ({
  name,
  lastRun: Option.getOrNull(health.lastRun),
  backlog: health.backlog,
  held: health.held,
  deadLetters: health.deadLetters,
  paused: health.paused,
  error: Option.getOrNull(health.lastError),
  outage: Option.match(health.outage, {
    onNone: () => null,
    onSome: ({ message, since }) => ({ since, message })
  })
})

export const health = (health: Health): View<typeof models.Health> => ({
  live: health.live,
  ready: health.ready,
  problems: health.problems,
  workers: [
    worker("outbox", health.outbox),
    worker("spawns", health.spawns),
    worker("timers", health.timers),
    worker("activities", health.activities)
  ],
  unknownDefinitions: health.unknownDefinitions.map(({ definitionId, since }) => ({ name: definitionId, since })),
  unknownActivities: health.unknownActivities.map(({ name, since }) => ({ name, since }))
})
