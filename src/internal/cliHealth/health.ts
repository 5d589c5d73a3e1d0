import * as Command from "@effect/cli/Command"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type { Stats } from "../../ExecutionStore.js"
import { type Failure, unsound, usage } from "../cli/failure.js"
import * as format from "../cli/format.js"
import { toText } from "../cli/json.js"
import { common, durationOf, flag, value, withStore } from "../cli/options.js"
import { Screen } from "../cli/screen.js"
import * as table from "../cli/table.js"
import { printable } from "../util/printable.js"
import { orphans } from "./orphans.js"
import { reopenReplaced } from "./reopenReplaced.js"

/** What waits, of one kind. */
interface Waiting {
  readonly name: string
  readonly count: number
  readonly failing: number
  readonly oldest: Option.Option<number>
  readonly note: string
}

const waiting = ({ activities, deadLetters, delayed, outbox, spawns, timers }: Stats): ReadonlyArray<Waiting> => [
  { name: "outbox", ...outbox, note: "" },
  { name: "spawns", ...spawns, note: "" },
  { name: "timers", ...timers, note: `${timers.due} due` },
  { name: "activities", ...activities, note: `${activities.running} running` },
  { name: "delayed", ...delayed, failing: 0, note: delayed.corrupt === 0 ? "" : `${delayed.corrupt} without a time` },
  { name: "dead letters", ...deadLetters, failing: 0, note: "" }
]

const columns: ReadonlyArray<table.Column<Waiting>> = [
  { name: "work", show: ({ name }) => name },
  {
    name: "count",
    show: ({ count }) => String(count),
    color: ({ count, name }) => (name === "dead letters" && count > 0 ? "red" : undefined)
  },
  {
    name: "failing",
    show: ({ failing }) => String(failing),
    color: ({ failing }) => (failing > 0 ? "yellow" : undefined)
  },
  { name: "oldest", show: ({ oldest }) => format.optionalTime(oldest) },
  { name: "note", show: ({ note }) => note }
]

/** Prints how much work there is. */
export const printStats = (json: boolean, stats: Stats) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    yield* json ? Effect.flatMap(toText(stats), screen.out) : table.print(false, columns, waiting(stats))
  })

export const stats = Command.make("stats", common, (options) =>
  withStore(options, "read", ({ store }) => Effect.flatMap(store.stats, (found) => printStats(options.json, found)))
).pipe(Command.withDescription("Shows how much work the store holds."))

/** Something in the store that is not in order. */
interface Finding {
  readonly table: string
  readonly key: string
  readonly problem: string
}

const findingColumns: ReadonlyArray<table.Column<Finding>> = [
  { name: "table", show: ({ table }) => table },
  { name: "key", show: ({ key }) => key },
  { name: "problem", show: ({ problem }) => problem, color: () => "red" }
]

export const verify = Command.make("verify", common, (options) =>
  withStore(options, "read", (opened) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      let cursor: string | undefined
      let rows = 0
      let findings = 0
      const print = (found: ReadonlyArray<Finding>) => {
        const header = findings === 0
        findings += found.length
        return found.length === 0 ? Effect.void : table.print(options.json, findingColumns, found, header)
      }
      do {
        const page = yield* opened.store.verify({ limit: 1000, cursor })
        rows += page.rows
        yield* screen.progress(`${format.many(rows, "row")} read`)
        yield* print(page.corrupt.map(({ key, problem, table }) => ({ table, key, problem })))
        cursor = Option.getOrUndefined(page.nextCursor)
      } while (cursor !== undefined)
      yield* orphans(opened, print)
      yield* screen.note(
        `${format.many(rows, "row")} read in ${opened.name}: ${findings === 0 ? "all in order" : format.many(findings, "problem")}`
      )
      if (findings > 0)
        return yield* unsound(`the store in ${opened.name} is not in order: ${format.many(findings, "problem")}`)
    })
  )
).pipe(Command.withDescription("Reads every row, and names those that do not decode or belong to nothing."))

const defaultInterval = Duration.seconds(2)

const intervalOf = (given: Option.Option<string>) =>
  Option.match(given, {
    onNone: () => Effect.succeed(defaultInterval),
    onSome: (text) =>
      Effect.filterOrFail(durationOf("--interval", text), Duration.greaterThan(Duration.zero), () =>
        usage(`--interval ${JSON.stringify(text)}: expected a time that is longer than none`)
      )
  })

/** Looks at every interval. What does not answer now may do so at the next look: it is said once until it does, or something else is wrong. */
const again = <R>(look: Effect.Effect<void, Failure, R>, interval: Duration.Duration) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    let said = ""
    const patient = Effect.matchEffect(look, {
      onFailure: ({ message }) => {
        const isNews = message !== said
        said = message
        return isNews ? screen.note(printable(message)) : Effect.void
      },
      onSuccess: () =>
        Effect.sync(() => {
          said = ""
        })
    })
    yield* Effect.repeat(patient, Schedule.spaced(interval))
  })

export const watch = Command.make("watch", { ...common, interval: value("interval"), once: flag("once") }, (options) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const interval = yield* intervalOf(options.interval)
    const look = yield* reopenReplaced(options, ({ name, store }) =>
      Effect.gen(function* () {
        const stats = yield* store.stats
        const time = (yield* Clock.currentTimeMillis) / 1000
        if (options.json) return yield* Effect.flatMap(toText({ time, ...stats }), screen.out)
        yield* screen.clear
        yield* screen.out(`${format.time(time)}  ${name}`)
        yield* printStats(false, stats)
      })
    )
    // What is wrong from the beginning will not mend itself.
    yield* options.once ? look : Effect.catchTag(look, "StoreUnavailable", (error) => screen.note(error.message))
    if (!options.once) yield* Effect.delay(again(look, interval), interval)
  }).pipe(Effect.scoped)
).pipe(Command.withDescription("Shows again and again how much work the store holds."))
