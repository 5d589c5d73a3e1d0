import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Cron from "../../Cron.js"
import { CronMissing } from "../../CronError.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import { missing, refused } from "../cli/failure.js"
import * as format from "../cli/format.js"
import { common, flag, withStore } from "../cli/options.js"
import { note, Screen } from "../cli/screen.js"
import { didYouMean } from "../cli/suggestion.js"
import * as table from "../cli/table.js"

/** Recurring work as it is printed: times in seconds since the epoch. */
const plain = ({ last, next, ...info }: Cron.Info) => ({
  ...info,
  last: Option.match(last, { onNone: () => null, onSome: ({ at }) => at.epochMillis / 1000 }),
  lastId: Option.match(last, { onNone: () => null, onSome: ({ id }) => id }),
  next: Option.match(next, { onNone: () => null, onSome: (at) => at.epochMillis / 1000 })
})

type Plain = ReturnType<typeof plain>

const columns: ReadonlyArray<table.Column<Plain>> = [
  { name: "name", show: ({ name }) => name },
  { name: "schedule", show: ({ expression }) => expression },
  { name: "zone", show: ({ timeZone }) => timeZone },
  { name: "last", show: ({ last }) => format.time(last) },
  {
    name: "next",
    show: ({ next, paused }) => (paused ? "paused" : format.time(next)),
    color: ({ paused }) => (paused ? "yellow" : undefined)
  },
  { name: "status", show: ({ status }) => status, color: ({ status }) => format.statusColor(status) }
]

const list = Command.make("list", common, (options) =>
  withStore(options, "read", ({ store }) =>
    Effect.gen(function* () {
      const { corrupt, invalid, items } = yield* Effect.provideService(Cron.list, ExecutionStore, store)
      yield* table.print(options.json, columns, items.map(plain))
      for (const { message } of [...invalid, ...corrupt]) yield* note(message)
    })
  )
).pipe(Command.withDescription("Lists the recurring work, with when it was done last and is done next."))

const name = Args.text({ name: "name" }).pipe(Args.withDescription("the name of the recurring work"))

/** That there is no such work, with the name that was probably meant. */
const explained = <A, E, R>(name: string, effect: Effect.Effect<A, E, R>) =>
  Effect.catchIf(
    effect,
    (error) => error instanceof CronMissing,
    () =>
      Effect.flatMap(Cron.list, ({ items }) =>
        missing(
          `there is no cron ${JSON.stringify(name)}${didYouMean(
            name,
            items.map(({ name }) => name)
          )}`
        )
      )
  )

const show = Command.make("show", { ...common, name }, (options) =>
  withStore(options, "read", ({ store }) =>
    Effect.gen(function* () {
      const info = plain(yield* explained(options.name, Cron.get(options.name)))
      yield* table.printOne(options.json, info, [
        { name: "name", value: info.name, color: "bold" },
        { name: "schedule", value: info.expression },
        { name: "zone", value: info.timeZone },
        { name: "catch-up", value: info.catchUp },
        { name: "last", value: format.time(info.last) },
        { name: "next", value: info.paused ? "paused" : format.time(info.next) },
        { name: "execution", value: info.executionId },
        { name: "status", value: info.status }
      ])
    }).pipe(Effect.provideService(ExecutionStore, store))
  )
).pipe(Command.withDescription("Shows recurring work."))

const pause = Command.make("pause", { ...common, name }, (options) =>
  withStore(options, "write", ({ store }) =>
    Effect.gen(function* () {
      yield* explained(options.name, Cron.pause(options.name))
      yield* table.printOne(options.json, plain(yield* Cron.get(options.name)), [
        { name: options.name, value: "paused: times that pass now are not caught up" }
      ])
    }).pipe(Effect.provideService(ExecutionStore, store))
  )
).pipe(Command.withDescription("Pauses recurring work."))

const resume = Command.make("resume", { ...common, name }, (options) =>
  withStore(options, "write", ({ store }) =>
    Effect.gen(function* () {
      yield* explained(options.name, Cron.resume(options.name))
      const info = plain(yield* Cron.get(options.name))
      yield* table.printOne(options.json, info, [
        { name: options.name, value: `comes next at ${format.time(info.next)}` }
      ])
    }).pipe(Effect.provideService(ExecutionStore, store))
  )
).pipe(Command.withDescription("Lets paused recurring work go on, with its first time from now on."))

const trigger = Command.make("trigger", { ...common, name }, (options) =>
  withStore(options, "write", ({ store }) =>
    Effect.gen(function* () {
      const id = yield* explained(options.name, Cron.trigger(options.name))
      yield* table.printOne(options.json, { name: options.name, id }, [
        { name: options.name, value: `is done under the id ${id} as soon as a process takes it` }
      ])
    }).pipe(Effect.provideService(ExecutionStore, store))
  )
).pipe(Command.withDescription("Has recurring work done now, beside its times."))

const remove = Command.make("remove", { ...common, name, yes: flag("yes") }, (options) =>
  withStore(options, "write", ({ store }) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      yield* explained(options.name, Cron.get(options.name))
      if (
        !options.yes &&
        !(yield* screen.confirm(`remove the recurring work ${JSON.stringify(options.name)}, for good?`))
      ) {
        return yield* refused("nothing was removed")
      }
      yield* explained(options.name, Cron.remove(options.name))
      yield* table.printOne(options.json, { name: options.name }, [{ name: options.name, value: "removed" }])
    }).pipe(Effect.provideService(ExecutionStore, store))
  )
).pipe(Command.withDescription("Removes recurring work; what it has started stays."))

export const cron = Command.make("cron").pipe(
  Command.withDescription("The recurring work."),
  Command.withSubcommands([list, show, pause, resume, trigger, remove])
)
