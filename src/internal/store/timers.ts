import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Timer, WorkItem } from "../../Commit.js"
import type { BrokenTimer } from "../../EncodedStore.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import { StoreCorrupt } from "../../StoreError.js"
import * as Time from "../../Time.js"
import * as validate from "../codec/validate.js"
import { type Backend, checkExcept, checkWhole, defaultPage, fenceFor, maxPage } from "./backend.js"

const workOf = ({ executionId, fireAt, path }: Timer): WorkItem => ({ _tag: "Timer", executionId, path, fireAt })

const isOf = (timer: Timer, work: WorkItem): boolean =>
  work._tag === "Timer" && work.executionId === timer.executionId && work.path === timer.path

const broken = (timer: BrokenTimer): StoreCorrupt =>
  new StoreCorrupt({
    operation: "dueTimers",
    table: "timers",
    key: `${timer.executionId} ${timer.path}`,
    problem: timer.problem,
    work: workOf(timer)
  })

/** The armed timers. */
export const make = ({ checks, encoded }: Backend): Pick<ExecutionStore, "dueTimers" | "deleteTimer" | "timers"> => ({
  dueTimers: (time, query = {}) =>
    Effect.gen(function* () {
      const call = { operation: "dueTimers" }
      const limit = query.limit ?? defaultPage
      yield* checkWhole(call, "limit", limit, 1, maxPage)
      const now = Time.toSeconds(time)
      yield* validate.refuse(call, "now", validate.finite(now))
      if (query.after !== undefined) yield* validate.timer(call, checks, query.after, "after")
      const { except = [] } = query
      yield* checkExcept({ checks }, call, except)
      // One timer more than asked for: it tells whether there is a next page.
      const found = yield* encoded.dueTimers(now, query.after, limit + 1, except)
      const entries = found.timers.slice(0, limit)
      const beyond = found.timers[limit]
      return {
        entries,
        corrupt: found.broken.slice(0, limit).map(broken),
        failures: beyond === undefined ? found.failures : found.failures.filter(({ work }) => !isOf(beyond, work)),
        next: beyond === undefined ? Option.none() : Option.fromNullable(entries.at(-1))
      }
    }),

  deleteTimer: (timer) => {
    const call = { operation: "deleteTimer", executionId: timer.executionId }
    return validate.timer(call, checks, timer, "").pipe(
      Effect.zipRight(fenceFor(call)),
      Effect.flatMap((fence) => encoded.deleteTimer(timer, fence))
    )
  },

  timers: {
    next: encoded.nextTimer,

    isArmed: (timer) =>
      Effect.zipRight(
        validate.timer({ operation: "isArmed", executionId: timer.executionId }, checks, timer, ""),
        encoded.isArmed(timer)
      )
  }
})
