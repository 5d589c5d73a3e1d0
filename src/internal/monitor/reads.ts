import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { Timer } from "../../Commit.js"
import type { Attributes, Execution, ExecutionSummary, Status } from "../../Execution.js"
import type { ExecutionStore, PendingQuery } from "../../ExecutionStore.js"
import type { StoreCorrupt, StoreError } from "../../StoreError.js"
import { statuses } from "../codec/execution.js"
import * as models from "../monitorApi/models.js"
import { Invalid, Missing, type Problem } from "../monitorApi/problems.js"
import { AccessEnds } from "../monitorHttp/access.js"
import { answering, reply } from "../monitorHttp/reply.js"
import * as written from "../options/attributeFilter.js"
import { printable, quoted } from "../util/printable.js"
import type { Live } from "./live.js"
import type { Redact } from "./redactJson.js"
import * as selection from "./selection.js"
import * as views from "./views.js"

/** What looks go to. */
export interface Reading {
  readonly store: ExecutionStore
  readonly redact: Redact
  readonly redacted: boolean
  readonly live: Live
}

type Answer = Effect.Effect<HttpServerResponse.HttpServerResponse, Problem>

interface Query {
  readonly definition?: string | undefined
  readonly status?: string | undefined
  readonly roots?: boolean | undefined
  readonly parent?: string | undefined
  readonly prefix?: string | undefined
  readonly where?: string | ReadonlyArray<string> | undefined
}

const isStatus = (text: string): text is Status => statuses.some((name) => name === text)

const invalid = (title: string, detail: string) => new Invalid({ title, detail: printable(detail) })

/** A part of a filter that is none where it is empty, as forms send what nobody filled in. */
const given = (text: string | undefined): string | undefined => (text === "" ? undefined : text)

const statusesOf = (text = ""): Either.Either<ReadonlyArray<Status> | undefined, Invalid> => {
  const asked = text.split(",").filter((each) => each !== "")
  const wrong = asked.find((each) => !isStatus(each))
  return wrong === undefined
    ? Either.right(asked.length === 0 ? undefined : asked.filter(isStatus))
    : Either.left(
        invalid("No such status", `there is no status ${JSON.stringify(wrong)}: expected ${statuses.join(", ")}`)
      )
}

const attributesOf = (where: Query["where"] = []): Either.Either<Attributes | undefined, Invalid> => {
  const texts = (typeof where === "string" ? [where] : where).filter((text) => text !== "")
  return written.attributesOf(texts).pipe(
    Either.mapBoth({
      onLeft: (problem) => invalid("No attribute", `where ${problem}`),
      onRight: (attributes) => (texts.length === 0 ? undefined : attributes)
    })
  )
}

/** The filter of a query, in which statuses are separated by commas. */
export const filterOf = ({ definition, parent, prefix, roots, status, where }: Query) =>
  Either.gen(function* () {
    const filter: selection.Filter = {
      definition: given(definition),
      status: yield* statusesOf(status),
      roots,
      parent: given(parent),
      prefix: given(prefix),
      attributes: yield* attributesOf(where)
    }
    return filter
  })

interface Paging {
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

const usualLimit = 50

export const executions = ({ store }: Reading, query: Query & Paging): Answer =>
  Effect.gen(function* () {
    const filter = yield* filterOf(query)
    const { cursor, limit = usualLimit } = query
    const page = yield* answering(store.listExecutions({ ...selection.queryOf(filter), limit, cursor }))
    return yield* reply(models.SummaryPage, {
      items: page.items.map(views.summary),
      corrupt: views.corrupt(page.corrupt),
      next: Option.getOrNull(page.nextCursor)
    })
  })

/** The number that a cursor of a numbered table is. */
const after = (cursor: string | undefined): Effect.Effect<number | undefined, Invalid> => {
  if (cursor === undefined) return Effect.succeed(undefined)
  return /^\d{1,15}$/.test(cursor)
    ? Effect.succeed(Number(cursor))
    : Effect.fail(new Invalid({ title: "No cursor", detail: "the cursor is none that a page gave" }))
}

const nextOf = (next: Option.Option<number>): string | null => Option.getOrNull(Option.map(next, String))

interface Numbered {
  readonly corrupt: ReadonlyArray<StoreCorrupt>
  readonly next: Option.Option<number>
}

/** A page of a numbered table, as its views. */
const numbered = <P extends Numbered, View>(
  { cursor, limit = usualLimit }: Paging,
  read: (query: PendingQuery) => Effect.Effect<P, StoreError>,
  view: (page: P) => ReadonlyArray<View>
) =>
  Effect.gen(function* () {
    const page = yield* answering(read({ after: yield* after(cursor), limit }))
    return { items: view(page), corrupt: views.corrupt(page.corrupt), next: nextOf(page.next) }
  })

export const outbox = ({ redact, store }: Reading, paging: Paging): Answer =>
  numbered(paging, store.pendingOutbox, (page) => views.outboxRows(page.entries, page.failures, redact)).pipe(
    Effect.flatMap((page) => reply(models.OutboxPage, page))
  )

export const spawns = ({ redact, store }: Reading, paging: Paging): Answer =>
  numbered(paging, store.pendingSpawns, (page) => views.spawnRows(page.entries, page.failures, redact)).pipe(
    Effect.flatMap((page) => reply(models.SpawnPage, page))
  )

const TimerCursor = Schema.parseJson(Schema.Tuple(Schema.Finite, Schema.String, Schema.String))

const timerAfter = (cursor: string | undefined): Effect.Effect<Timer | undefined, Invalid> =>
  cursor === undefined
    ? Effect.succeed(undefined)
    : Effect.mapBoth(Schema.decode(TimerCursor)(cursor), {
        onFailure: () => new Invalid({ title: "No cursor", detail: "the cursor is none that a page gave" }),
        onSuccess: ([fireAt, executionId, path]) => ({ executionId, path, fireAt })
      })

/** Later than any time of a timer. */
const endOfTime = Number.MAX_SAFE_INTEGER

export const timers = ({ store }: Reading, { cursor, limit = usualLimit }: Paging): Answer =>
  Effect.gen(function* () {
    const page = yield* answering(store.dueTimers(endOfTime, { after: yield* timerAfter(cursor), limit }))
    return yield* reply(models.TimerPage, {
      items: views.timerRows(page.entries, page.failures),
      corrupt: views.corrupt(page.corrupt),
      next: Option.getOrNull(
        Option.map(page.next, ({ executionId, fireAt, path }) => JSON.stringify([fireAt, executionId, path]))
      )
    })
  })

export const activities = ({ redact, store }: Reading, paging: Paging): Answer =>
  numbered(paging, store.activities.list, ({ entries }) =>
    entries.map((entry) => views.activityRow(entry, redact))
  ).pipe(Effect.flatMap((page) => reply(models.ActivityPage, page)))

export const deadLetters = (
  { redact, redacted, store }: Reading,
  { cursor, limit, ...filter }: selection.LetterFilter & Paging
): Answer =>
  numbered(
    { cursor, limit },
    (query) => store.deadLetters.list({ ...selection.letterQueryOf(filter), ...query }),
    ({ entries }) => entries.map((letter) => views.deadLetter(letter, redact, redacted))
  ).pipe(Effect.flatMap((page) => reply(models.DeadLetterPage, page)))

/** How many of each kind a page of one execution shows, and how far up its parents are looked for. */
const parts = 100
const mostAncestors = 20

const summaryOf = (execution: Execution): ExecutionSummary => execution

const ancestors = (store: ExecutionStore, parentId: string | null) =>
  Effect.gen(function* () {
    const found: Array<ExecutionSummary> = []
    let id = parentId
    while (id !== null && found.length < mostAncestors && !found.some((above) => above.id === id)) {
      const parent: Option.Option<Execution> = yield* store.load(id)
      if (Option.isNone(parent)) break
      found.push(summaryOf(parent.value))
      id = parent.value.parentId
    }
    return found
  })

const missing = (id: string): Missing =>
  new Missing({
    title: "No such execution",
    detail: `there is no execution ${quoted(id)}: it was never created, or was purged`
  })

const gather = (store: ExecutionStore, id: string, parentId: string | null) =>
  Effect.all(
    {
      above: ancestors(store, parentId),
      children: store.listExecutions({ parentId: id, limit: parts }),
      work: store.workOf(id, { limit: parts }),
      activities: store.activities.of(id),
      letters: store.deadLetters.list({ executionId: id, limit: parts }),
      attributes: store.attributes.of(id)
    },
    { concurrency: "unbounded" }
  )

export const execution = ({ redact, redacted, store }: Reading, id: string): Answer =>
  Effect.gen(function* () {
    const found = yield* answering(store.load(id))
    if (Option.isNone(found)) return yield* missing(id)
    const { above, activities, attributes, children, letters, work } = yield* answering(
      gather(store, id, found.value.parentId)
    )
    return yield* reply(models.ExecutionPage, {
      now: (yield* Clock.currentTimeMillis) / 1000,
      execution: views.execution(found.value, redact),
      attributes: views.attributes(attributes, redact),
      ancestors: above.map(views.summary),
      children: {
        items: children.items.map(views.summary),
        corrupt: views.corrupt(children.corrupt),
        next: Option.getOrNull(children.nextCursor)
      },
      events: views.outboxRows(work.events, work.failures, redact),
      delayed: views.delayed(work.delayed, redact),
      timers: views.timerRows(work.timers, work.failures),
      spawns: views.spawnRows(work.spawns, work.failures, redact),
      activities: activities.slice(0, parts).map((entry) => views.activityRow(entry, redact)),
      deadLetters: letters.entries.map((letter) => views.deadLetter(letter, redact, redacted)),
      corrupt: views.corrupt([...work.corrupt, ...letters.corrupt])
    })
  })

export const trace = ({ redact, store }: Reading, id: string): Answer =>
  Effect.gen(function* () {
    const { corrupt, entries } = yield* answering(store.readTrace(id))
    return yield* reply(models.Trace, {
      steps: entries.map((step) => views.traceStep(step, redact)),
      corrupt: views.corrupt(corrupt)
    })
  })

export const count = ({ store }: Reading, query: Query): Answer =>
  Effect.gen(function* () {
    const filter = yield* filterOf(query)
    return yield* reply(models.Total, yield* answering(selection.countExecutions(store, filter)))
  })

export const countDeadLetters = ({ store }: Reading, filter: selection.LetterFilter): Answer =>
  Effect.flatMap(answering(selection.countDeadLetters(store, filter)), (total) => reply(models.Total, total))

/**
 * The stream as an answer. One that looks for longer than its server lets it is to ask again, as browsers do; so is one whose access has
 * changed, who may be refused then.
 */
export const live = ({ live }: Reading): Answer =>
  Effect.map(Effect.serviceOption(AccessEnds), (ends) =>
    HttpServerResponse.stream(
      live.stream.pipe(Stream.interruptWhen(Option.getOrElse(ends, () => Effect.never)), Stream.encodeText),
      {
        contentType: "text/event-stream",
        headers: { "cache-control": "no-store", "x-accel-buffering": "no" }
      }
    )
  )
