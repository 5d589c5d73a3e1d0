/**
 * The table at the end. Everything in it that says what was done is read from the database, not counted in memory, so that a replay in
 * several runs ends with the table of a replay in one.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { ExecutionStore } from "holdfast/ExecutionStore"
import type { Log } from "./log.js"
import { CounterState, counterId } from "./machine.js"

/** What the database says of a log that has been replayed. */
export interface Totals {
  readonly cases: number
  readonly events: number
  /** Rows that said what a row before them had said, and were skipped. */
  readonly duplicates: number
  /** How often a timer was armed. */
  readonly timers: number
}

export interface Table extends Totals {
  /** Of this run; none where it had nothing left to send. */
  readonly eventsPerSecond: Option.Option<number>
  /** None where the database is no file. */
  readonly fileBytes: Option.Option<number>
}

/** Adds the counters up: every case that ended is in exactly one of them. */
export const totals = (log: Log) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const counters = yield* Effect.forEach(log.activities.keys(), (activity) =>
      store
        .load(counterId(log.digest, activity))
        .pipe(
          Effect.flatMap(Effect.transposeMapOption((counter) => Schema.decodeUnknown(CounterState)(counter.context))),
          Effect.map(Option.toArray)
        )
    )
    const sum = (of: (counter: typeof CounterState.Type) => number) =>
      counters.flat().reduce((total, counter) => total + of(counter), 0)
    const events = sum((counter) => counter.events)
    const totals: Totals = {
      cases: sum((counter) => counter.cases),
      events,
      duplicates: log.rows - events,
      timers: sum((counter) => counter.timers)
    }
    return totals
  })

export const toJson = (table: Table): string =>
  JSON.stringify({
    ...table,
    eventsPerSecond: Option.getOrNull(table.eventsPerSecond),
    fileBytes: Option.getOrNull(table.fileBytes)
  })

const number = new Intl.NumberFormat("en")
const units = ["bytes", "KiB", "MiB", "GiB"]

const fileSize = (bytes: number): string => {
  const power = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), units.length - 1)
  const value = bytes / 1024 ** power
  return `${value.toFixed(power === 0 ? 0 : 1)} ${units[power] ?? ""}`
}

export const toText = (table: Table): string => {
  const lines: ReadonlyArray<readonly [label: string, value: string]> = [
    ["cases", number.format(table.cases)],
    ["events", number.format(table.events)],
    ["duplicates skipped", number.format(table.duplicates)],
    ["timers armed", number.format(table.timers)],
    [
      "events per second",
      Option.match(table.eventsPerSecond, {
        onNone: () => "- (nothing was left to send)",
        onSome: (rate) => number.format(rate)
      })
    ],
    ...Option.match(table.fileBytes, {
      onNone: () => [],
      onSome: (bytes) => [["file size", fileSize(bytes)] as const]
    })
  ]
  return lines.map(([label, value]) => `${label.padEnd(20)}${value}`).join("\n")
}
