/**
 * Rows of the timers that are none: reported, and in nobody's way. For stores whose tables take anything.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { scheduleTimer } from "../../Commit.js"
import type { Burial } from "../../DeadLetter.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import { reports } from "../internal/assertions.js"
import { order } from "../internal/samples.js"
import { timers as armed, deadLetters, endOfTime } from "../internal/state.js"
import type { Subject } from "../Subject.js"

const broken = { execution_id: "a", path: "p", fire_at: "2026-01-01T00:00:00Z" }

const timer = { executionId: "b", path: "q", fireAt: 10 }

const why: Burial = { reason: "corrupt", attempts: 0, error: "no time" }

/**
 * @since 0.1.0
 * @category tests
 */
export const brokenTimers = ({ hasRaw, rawTest }: Subject): void => {
  if (!hasRaw) return
  describe("broken timers", () => {
    rawTest("one whose time is a text is reported beside the others, once a sweep, due or not", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* insert("timers", broken)
        yield* store.commit(order("b"), { timers: [scheduleTimer("q", 10), scheduleTimer("r", 11)] })
        for (const [now, count] of [
          [0, 0],
          [10, 1],
          [endOfTime, 2]
        ] as const) {
          const page = yield* store.dueTimers(now)
          expect(page.entries).toHaveLength(count)
          expect(page.corrupt).toHaveLength(1)
          reports(page.corrupt[0], "timers", "a p", "fire_at: expected a number")
        }
        const first = yield* store.dueTimers(endOfTime, { limit: 1 })
        expect(first.entries).toEqual([timer])
        expect(first.corrupt).toHaveLength(1)
        expect(first.next).toEqual(Option.some(timer))
        const second = yield* store.dueTimers(endOfTime, { limit: 1, after: timer })
        expect(second).toMatchObject({ corrupt: [], next: Option.none() })
        expect(second.entries.map((timer) => timer.path)).toEqual(["r"])
        expect(yield* store.timers.next).toEqual(Option.some(timer))
      })
    )

    rawTest("a page reports no more of them than its limit", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        for (const path of ["1", "2", "3"]) yield* insert("timers", { ...broken, path })
        for (const limit of [1, 2, 3, 100]) {
          expect((yield* store.dueTimers(1, { limit })).corrupt).toHaveLength(Math.min(limit, 3))
        }
      })
    )

    rawTest("one is given up by the work that its report names, and redriven as it was", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* insert("timers", broken)
        yield* store.commit(order("a"), { timers: [scheduleTimer("q", 10)] })
        const [corrupt] = (yield* store.dueTimers(10)).corrupt
        const work = corrupt?.work
        expect(work).toMatchObject({ _tag: "Timer", executionId: "a", path: "p" })
        if (work === undefined) return
        expect(yield* store.deadLetters.bury(work, why)).toBe(true)
        expect((yield* store.dueTimers(10)).corrupt).toEqual([])
        expect(yield* armed()).toEqual([{ ...timer, executionId: "a" }])
        const [letter] = yield* deadLetters()
        expect(letter).toMatchObject({ _tag: "Timer", work, row: Option.none(), executionId: "a", ...why })
        expect(JSON.parse(letter?.text ?? "")).toEqual(broken)
        expect(yield* store.deadLetters.bury(work, why)).toBe(false)
        expect(yield* store.deadLetters.redrive(letter?.id ?? 0)).toBe(true)
        expect(yield* deadLetters()).toEqual([])
        expect((yield* store.dueTimers(10)).corrupt).toEqual([corrupt])
      })
    )

    rawTest("arming the path, cancelling it and purging its execution mend it", (insert) =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        let { execution } = yield* store.commit(order("a"))
        const mends = [{ timers: [scheduleTimer("p", 20)] }, { timers: [{ _tag: "Cancel", path: "p" }] }] as const
        for (const commit of mends) {
          yield* store.deleteTimer({ executionId: "a", path: "p", fireAt: 20 })
          yield* insert("timers", broken)
          expect((yield* store.dueTimers(10)).corrupt).toHaveLength(1)
          execution = (yield* store.commit(execution, commit)).execution
          expect((yield* store.dueTimers(10)).corrupt).toEqual([])
        }
        yield* insert("timers", broken)
        expect(yield* store.purge("a", execution.version)).toBe(true)
        expect((yield* store.dueTimers(10)).corrupt).toEqual([])
      })
    )
  })
}
