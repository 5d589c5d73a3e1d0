import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Status } from "../../Execution.js"
import type * as models from "../monitorApi/models.js"
import { Conflict, Failed, Invalid, Missing, type Problem } from "../monitorApi/problems.js"
import { answering } from "../monitorHttp/reply.js"
import { quoted } from "../util/printable.js"
import { type Acting, act, settle } from "./act.js"
import * as selection from "./selection.js"

type Bulk = Schema.Schema.Type<typeof models.Bulk>
type Action = Schema.Schema.Type<typeof models.Action>
type Job = Schema.Schema.Type<typeof models.Job>

/** How many run side by side, how many are remembered, and how many errors of each are. */
const mostRunning = 4
const mostKept = 20
const mostErrors = 20
/** How many are changed side by side: a store that shares transactions serves them together. */
const together = 8

/** What is done in the background to all that a filter selects. */
export interface Jobs {
  readonly list: Effect.Effect<ReadonlyArray<Job>>
  readonly start: (bulk: Bulk) => Effect.Effect<Job, Problem>
  readonly stop: (id: string) => Effect.Effect<Job, Problem>
}

type Outcome = "changed" | "unchanged"

/** One piece of a job: what people call it, what must be done before it is, and how it is done. */
interface Piece {
  readonly id: string
  readonly under: string | null
  readonly run: Effect.Effect<Outcome, Problem>
}

interface Running {
  job: Job
  fiber: Fiber.RuntimeFiber<void> | undefined
}

/** In which statuses there is anything to change. */
const statusesFor = (action: Action): ReadonlyArray<Status> => {
  switch (action.action) {
    case "suspend":
      return ["PENDING", "RUNNING"]
    case "resume":
      return ["SUSPENDED"]
    case "cancel":
      return ["PENDING", "RUNNING", "SUSPENDED", "FAILED"]
    case "terminate":
      return ["PENDING", "RUNNING", "SUSPENDED", "CANCELLING", "FAILED"]
    case "redrive":
      return ["FAILED"]
    case "purge":
      return action.failed === true ? ["DONE", "CANCELLED", "FAILED"] : ["DONE", "CANCELLED"]
    case "send":
      return ["PENDING", "RUNNING", "SUSPENDED", "CANCELLING"]
  }
}

/** A filter without the statuses in which an action changes nothing; whole trees are purged, which their roots stand for. */
export const narrowed = (filter: selection.Filter, action: Action): Effect.Effect<selection.Filter, Invalid> => {
  const able = statusesFor(action)
  const asked = filter.status ?? able
  const status = asked.filter((each) => able.includes(each))
  return status.length === 0
    ? Effect.fail(
        new Invalid({
          title: "Nothing to do",
          detail: `${action.action} is not for executions that are ${asked.join(" or ")}, but for ${able.join(" or ")}`
        })
      )
    : Effect.succeed({ ...filter, status, roots: action.action === "purge" ? true : filter.roots })
}

const executionPieces = (acting: Acting, filter: selection.Filter, action: Action) => {
  const select = selection.executions(acting.store, filter)
  return (cursor: string | undefined) =>
    Effect.map(answering(select(cursor)), ({ items, next }) => ({
      next,
      pieces: items.map(
        ({ id, parentId }): Piece => ({
          id,
          under: parentId,
          run: Effect.map(act(acting, id, action), ({ changed, corrupt }): Outcome => {
            return changed.length === 0 && corrupt.length === 0 ? "unchanged" : "changed"
          })
        })
      )
    }))
}

const letterPieces = (acting: Acting, bulk: Extract<Bulk, { readonly of: "dead letters" }>) => {
  const select = selection.deadLetters(acting.store, bulk.filter)
  return (cursor: string | undefined) =>
    Effect.map(answering(select(cursor)), ({ items, next }) => ({
      next,
      pieces: items.map(
        ({ id }): Piece => ({
          id: String(id),
          under: null,
          run: Effect.map(settle(acting, id, bulk.action), (done): Outcome => (done ? "changed" : "unchanged"))
        })
      )
    }))
}

/** What it comes to that one of many could not be changed: it may have moved on, or been changed with its parent. */
const outcomeOf = ({ id, run }: Piece) =>
  Effect.match(run, {
    onFailure: (problem) =>
      problem._tag === "Missing" || problem._tag === "Conflict"
        ? { outcome: "unchanged" as const, error: undefined }
        : { outcome: "failed" as const, error: { id, message: problem.detail } },
    onSuccess: (outcome) => ({ outcome, error: undefined })
  })

const counting = (job: Job, outcomes: ReadonlyArray<Effect.Effect.Success<ReturnType<typeof outcomeOf>>>): Job => {
  const count = (wanted: string) => outcomes.filter(({ outcome }) => outcome === wanted).length
  return {
    ...job,
    seen: job.seen + outcomes.length,
    changed: job.changed + count("changed"),
    unchanged: job.unchanged + count("unchanged"),
    failed: job.failed + count("failed"),
    errors: [...job.errors, ...outcomes.flatMap(({ error }) => error ?? [])].slice(0, mostErrors)
  }
}

/** Those whose parent is on the same page come behind it: it takes them along. */
const waves = (pieces: ReadonlyArray<Piece>): ReadonlyArray<ReadonlyArray<Piece>> => {
  const ids = new Set(pieces.map(({ id }) => id))
  const isBelow = ({ under }: Piece): boolean => under !== null && ids.has(under)
  return [pieces.filter((piece) => !isBelow(piece)), pieces.filter(isBelow)]
}

type Pieces = ReturnType<typeof executionPieces>

const runAll = (running: Running, pieces: Pieces): Effect.Effect<void, Problem> =>
  Effect.gen(function* () {
    let cursor: string | undefined
    do {
      const page = yield* pieces(cursor)
      for (const wave of waves(page.pieces)) {
        for (let i = 0; i < wave.length; i += together) {
          const outcomes = yield* Effect.forEach(wave.slice(i, i + together), outcomeOf, { concurrency: together })
          running.job = counting(running.job, outcomes)
        }
      }
      cursor = Option.getOrUndefined(page.next)
    } while (cursor !== undefined)
  })

const plan = (acting: Acting, bulk: Bulk) =>
  Effect.gen(function* () {
    if (bulk.of === "dead letters") {
      const total = yield* answering(selection.countDeadLetters(acting.store, bulk.filter))
      return { action: bulk.action, filter: bulk.filter, total, pieces: letterPieces(acting, bulk) }
    }
    const filter = yield* narrowed(bulk.filter, bulk.action)
    const total = yield* answering(selection.countExecutions(acting.store, filter))
    return { action: bulk.action.action, filter, total, pieces: executionPieces(acting, filter, bulk.action) }
  })

const now = Effect.map(Clock.currentTimeMillis, (millis) => millis / 1000)

/** How a job ends: what it did stays done. */
const ended = (running: Running, exit: Exit.Exit<void, Problem>) =>
  Effect.map(now, (endedAt) => {
    const { job } = running
    if (Exit.isSuccess(exit)) {
      running.job = { ...job, state: "done", endedAt }
      return
    }
    const why = exit.cause._tag === "Fail" ? exit.cause.error.detail : "it came to an end of its own"
    running.job = Exit.isInterrupted(exit)
      ? { ...job, state: "stopped", endedAt }
      : { ...job, state: "failed", endedAt, errors: [...job.errors, { id: "", message: why }].slice(-mostErrors) }
  })

export const make = (acting: Acting): Effect.Effect<Jobs, never, Scope.Scope> =>
  Effect.map(Effect.scope, (scope) => {
    const all = new Map<string, Running>()
    let last = 0

    const forgetOld = (): void => {
      for (const [id, { job }] of all) if (all.size > mostKept && job.state !== "running") all.delete(id)
    }

    const start = (bulk: Bulk): Effect.Effect<Job, Problem> =>
      Effect.gen(function* () {
        const active = Array.from(all.values()).filter(({ job }) => job.state === "running")
        if (active.length >= mostRunning) {
          return yield* new Conflict({
            title: "Too much at once",
            detail: `${mostRunning} jobs run already: wait for one of them, or stop it`
          })
        }
        const { action, filter, pieces, total } = yield* plan(acting, bulk)
        const id = String(++last)
        const counts = { seen: 0, changed: 0, unchanged: 0, failed: 0, errors: [] }
        const job: Job = {
          id,
          action,
          of: bulk.of,
          filter,
          state: "running",
          total,
          ...counts,
          startedAt: yield* now,
          endedAt: null
        }
        const running: Running = { job, fiber: undefined }
        all.set(id, running)
        forgetOld()
        running.fiber = yield* runAll(running, pieces).pipe(
          Effect.onExit((exit) => Effect.zipRight(acting.forget, ended(running, exit))),
          Effect.ignore,
          Effect.forkIn(scope)
        )
        return job
      })

    const stop = (id: string): Effect.Effect<Job, Problem> =>
      Effect.gen(function* () {
        const running = all.get(id)
        if (running === undefined) {
          return yield* new Missing({ title: "No such job", detail: `there is no job ${quoted(id)} any more` })
        }
        if (running.fiber === undefined) {
          return yield* new Failed({ title: "Not begun", detail: "the job has not begun yet: try again" })
        }
        yield* Fiber.interrupt(running.fiber)
        return running.job
      })

    return {
      list: Effect.sync(() => Array.from(all.values(), ({ job }) => job).toReversed()),
      start,
      stop
    }
  })
