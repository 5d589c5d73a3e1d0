/**
 * The three machines of the replay, as transitions: an execution and an event in, the next execution and what else to commit out.
 *
 * - An **importer**, one for each log, knows how far the log has been sent.
 * - A **case**, one for each case of the log, lives through the events of that case.
 * - A **counter**, one for each activity, counts the cases that ended with it.
 *
 * Nothing here touches a database or a file.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { SpawnEntry } from "holdfast/Commit"
import * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import type * as Step from "holdfast/Step"
import type { Log, PlacedRow } from "./log.js"

// Every id begins with the log's digest: several logs can be in one database, and none meets the executions of another.
export const importerId = (digest: string): string => `replay:${digest}`
export const caseId = (digest: string, name: string): string => `replay:${digest}:case:${name}`
export const counterId = (digest: string, activity: string): string => `replay:${digest}:activity:${activity}`

/** What an importer keeps: how many rows of the log it has sent, of how many. */
export const ImporterState = Schema.Struct({
  digest: Schema.String,
  rows: Schema.Int,
  sent: Schema.Int
})

/** What a case keeps. */
export const CaseState = Schema.Struct({
  digest: Schema.String,
  case: Schema.String,
  events: Schema.Int,
  timers: Schema.Int,
  activity: Schema.NullOr(Schema.String),
  firstTime: Schema.NullOr(Schema.String),
  lastTime: Schema.NullOr(Schema.String)
})

/** What a counter keeps: of the cases that ended with this activity, how many there are, their events and the timers they armed. */
export const CounterState = Schema.Struct({
  activity: Schema.String,
  cases: Schema.Int,
  events: Schema.Int,
  timers: Schema.Int
})

// What a case and a counter begin with.
const NewCase = CaseState.pick("digest", "case")
const NewCounter = CounterState.pick("activity")

// What the events carry.
const RowsData = Schema.Struct({
  from: Schema.Int,
  rows: Schema.Array(
    Schema.Struct({
      id: Schema.String,
      case: Schema.String,
      activity: Schema.String,
      timestamp: Schema.String,
      opens: Schema.Boolean,
      closes: Schema.Boolean,
      introduces: Schema.Boolean
    })
  )
})
const ActivityData = Schema.Struct({ activity: Schema.String, timestamp: Schema.String })
const EndedData = Schema.Struct({ events: Schema.Int, timers: Schema.Int })

const decodeImporter = Schema.decodeUnknown(ImporterState)
const decodeCase = Schema.decodeUnknown(CaseState)
const decodeCounter = Schema.decodeUnknown(CounterState)
const decodeNewCase = Schema.decodeUnknown(NewCase)
const decodeNewCounter = Schema.decodeUnknown(NewCounter)
const decodeRows = Schema.decodeUnknown(RowsData)
const decodeActivity = Schema.decodeUnknown(ActivityData)
const decodeEnded = Schema.decodeUnknown(EndedData)

/** The importer of a log, before its first row. */
export const newImporter = (log: Log): Execution.Execution =>
  Execution.make({
    id: importerId(log.digest),
    definitionId: "importer",
    status: "RUNNING",
    activePath: "Sending",
    context: { digest: log.digest, rows: log.rows, sent: 0 } satisfies typeof ImporterState.Type
  })

/** The event that brings the importer the rows of the log from number `from` on. It is processed, never stored. */
export const rowsEvent = (from: number, rows: ReadonlyArray<PlacedRow>): Event.Event =>
  Event.make({ id: `rows:${from}:${from + rows.length}`, kind: "Rows", data: { from, rows } })

/**
 * One step of the importer. How far it got, the events it sends and the cases and counters it creates are *one* commit: a process that is
 * killed has either sent the rows and knows it, or has not sent them. So no row is sent twice, and none is left out.
 */
const importer = (execution: Execution.Execution, event: Event.Event) =>
  Effect.gen(function* () {
    const state = yield* decodeImporter(execution.context)
    const { from, rows } = yield* decodeRows(event.data)
    // Another process may replay the same log into the same database, with batches of another size: send only what is new.
    const fresh = from > state.sent ? [] : rows.slice(state.sent - from)
    const sent = state.sent + fresh.length
    const emits: Array<Commit.Emit> = []
    const spawns: Array<Commit.Spawn> = []
    for (const row of fresh) {
      const targetId = caseId(state.digest, row.case)
      if (row.opens) {
        const context: typeof NewCase.Type = { digest: state.digest, case: row.case }
        spawns.push({ childId: targetId, rootPath: "case", context })
      }
      if (row.introduces) {
        const context: typeof NewCounter.Type = { activity: row.activity }
        spawns.push({ childId: counterId(state.digest, row.activity), rootPath: "counter", context })
      }
      // The id is made of what the row says. A row that is in the log twice is sent twice, and the case consumes it once.
      const data: typeof ActivityData.Type = { activity: row.activity, timestamp: row.timestamp }
      emits.push({ targetId, event: Event.make({ id: row.id, kind: "Activity", data }) })
      if (row.closes) emits.push({ targetId, event: Event.make({ id: "end", kind: "End" }) })
    }
    const isLast = sent === state.rows
    return {
      execution: {
        ...execution,
        status: isLast ? "DONE" : "RUNNING",
        activePath: isLast ? "Sent" : "Sending",
        context: { ...state, sent }
      },
      commit: { emits, spawns }
    } satisfies Step.Step
  })

/** The children of an importer, as the runtime is to create them. */
export const child = ({ childId, context, parentId, rootPath }: SpawnEntry) => {
  const place = { id: childId, childId, parentId, rootPath, status: "RUNNING" } as const
  return rootPath === "case"
    ? Effect.map(decodeNewCase(context), (start) =>
        Execution.make({
          ...place,
          definitionId: "case",
          activePath: "Active",
          context: {
            ...start,
            events: 0,
            timers: 0,
            activity: null,
            firstTime: null,
            lastTime: null
          } satisfies typeof CaseState.Type
        })
      )
    : Effect.map(decodeNewCounter(context), (start) =>
        Execution.make({
          ...place,
          definitionId: "counter",
          activePath: "Counting",
          context: { ...start, cases: 0, events: 0, timers: 0 } satisfies typeof CounterState.Type
        })
      )
}

/** The path of the one timer that a case has. Arming it again replaces the time. */
const inactivityTimer = "inactivity"

/**
 * A case. Every event arms its timer anew; where none comes in time the case is marked idle, until its next event. What it keeps does not
 * depend on when that was, so a replay that was stopped for a day ends as one that was not.
 */
const makeCase = (inactivity: Duration.Duration) => (execution: Execution.Execution, event: Event.Event) =>
  Effect.gen(function* () {
    const state = yield* decodeCase(execution.context)
    switch (event.kind) {
      case "Activity": {
        const { activity, timestamp } = yield* decodeActivity(event.data)
        const fireAt = (yield* Clock.currentTimeMillis) / 1000 + Duration.toSeconds(inactivity)
        return {
          execution: {
            ...execution,
            activePath: "Active",
            context: {
              ...state,
              events: state.events + 1,
              timers: state.timers + 1,
              activity,
              firstTime: state.firstTime ?? timestamp,
              lastTime: timestamp
            }
          },
          commit: { timers: [Commit.scheduleTimer(inactivityTimer, fireAt)] }
        } satisfies Step.Step
      }
      case Event.WellKnownKind.Timeout:
        return { execution: { ...execution, activePath: "Idle" } } satisfies Step.Step
      case "End": {
        const { digest, activity, events, timers } = state
        const data: typeof EndedData.Type = { events, timers }
        // A case ends once, so its own id will do as the id of its summary.
        const summary = Event.make({ id: execution.id, kind: "CaseEnded", data })
        return {
          execution: { ...execution, status: "DONE", activePath: "Ended" },
          commit: {
            timers: [Commit.cancelTimer(inactivityTimer)],
            emits: activity === null ? [] : [{ targetId: counterId(digest, activity), event: summary }]
          }
        } satisfies Step.Step
      }
      // The Start event, which every child is sent when it is created, brings nothing that it does not begin with.
      default:
        return { execution } satisfies Step.Step
    }
  })

/** A counter. It is the target of many cases; two that end at the same moment are two commits, one after the other. */
const counter = (execution: Execution.Execution, event: Event.Event) =>
  Effect.gen(function* () {
    if (event.kind !== "CaseEnded") return { execution } satisfies Step.Step
    const state = yield* decodeCounter(execution.context)
    const ended = yield* decodeEnded(event.data)
    return {
      execution: {
        ...execution,
        context: {
          ...state,
          cases: state.cases + 1,
          events: state.events + ended.events,
          timers: state.timers + ended.timers
        }
      }
    } satisfies Step.Step
  })

/** All three, by definition id. */
export const definitions = (inactivity: Duration.Duration) => ({ importer, case: makeCase(inactivity), counter })
