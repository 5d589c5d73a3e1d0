/**
 * What the log says, without any of this: a plain fold of its rows in memory. The replay must end with exactly these states, whatever
 * happened to it on the way; `--verify` and the tests compare the two.
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Row } from "./log.js"
import type { CaseState, CounterState } from "./machine.js"

export interface Fold {
  readonly cases: ReadonlyMap<string, Omit<typeof CaseState.Type, "digest">>
  readonly counters: ReadonlyMap<string, typeof CounterState.Type>
  readonly duplicates: number
}

export const fold = <E, R>(rows: Stream.Stream<Row, E, R>): Effect.Effect<Fold, E, R> =>
  Effect.gen(function* () {
    const seen = new Set<string>()
    const cases = new Map<string, Omit<typeof CaseState.Type, "digest">>()
    const counters = new Map<string, typeof CounterState.Type>()
    let duplicates = 0
    yield* Stream.runForEach(rows, (row) =>
      Effect.sync(() => {
        counters.set(row.activity, counters.get(row.activity) ?? none(row.activity))
        if (seen.has(row.id)) {
          duplicates++
          return
        }
        seen.add(row.id)
        const before = cases.get(row.case)
        const events = (before?.events ?? 0) + 1
        cases.set(row.case, {
          case: row.case,
          events,
          timers: events,
          activity: row.activity,
          firstTime: before?.firstTime ?? row.timestamp,
          lastTime: row.timestamp
        })
      })
    )
    for (const { activity, events, timers } of cases.values()) {
      if (activity === null) continue
      const before = counters.get(activity) ?? none(activity)
      counters.set(activity, {
        activity,
        cases: before.cases + 1,
        events: before.events + events,
        timers: before.timers + timers
      })
    }
    return { cases, counters, duplicates }
  })

const none = (activity: string): typeof CounterState.Type => ({ activity, cases: 0, events: 0, timers: 0 })
