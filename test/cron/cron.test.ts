import { isDeepStrictEqual } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Control from "holdfast/Control"
import * as Cron from "holdfast/Cron"
import * as Definition from "holdfast/Definition"
import * as Execution from "holdfast/Execution"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Step from "holdfast/Step"
import { shareOfTests } from "../support/extent.js"
import { servers } from "../support/servers.js"
import * as Temp from "../support/temp.js"
import { driven, logs, stores } from "../support/workers.js"

type Store = ExecutionStore.ExecutionStore

const Report = Definition.make("report", {
  context: Schema.Struct({ day: Schema.String }),
  result: Schema.String
})

const ReportLive = Report.toLayer({ Start: (step) => Report.finish(step, step.context.day) })

const Account = Definition.make("account", {
  context: Schema.Struct({ months: Schema.Array(Schema.String) }),
  events: { MonthEnded: Schema.Struct({ month: Schema.String }) }
})

const AccountLive = Account.toLayer({
  Start: (step) => Step.advance(step, "Open"),
  MonthEnded: (step, { month }) => Step.updateContext(step, ({ months }) => ({ months: [...months, month] }))
})

const report = Cron.start(Report, ({ at }) => ({ day: DateTime.formatIsoZoned(at) }))

const hourly: Cron.Options = { schedule: "0 * * * *", timeZone: "UTC", action: report }

type Options = ExecutionRuntime.CommonOptions

// Stores of servers are polled: a jump in time should not cost a poll, or a sign of life, for each second of it.
const rarely: Options = {
  pollInterval: "10 minutes",
  timerInterval: "10 minutes",
  statsInterval: "1 hour",
  activityTtl: "1 hour"
}

/** A process that does this recurring work, until its scope closes. */
const started = (store: Store, crons: ReadonlyArray<Cron.Cron>, options: Options = {}) =>
  Effect.map(
    Layer.build(
      crons
        .reduce<Layer.Layer<never, unknown, ExecutionRuntime.ExecutionRuntime | Store>>(
          (all, cron) => Layer.merge(all, Cron.toLayer(cron)),
          Layer.merge(ReportLive, AccountLive)
        )
        .pipe(
          Layer.provideMerge(ExecutionRuntime.layer({ ...rarely, ...options })),
          Layer.provideMerge(Layer.succeed(ExecutionStore.ExecutionStore, store))
        )
    ),
    (context) => Context.get(context, ExecutionRuntime.ExecutionRuntime)
  )

/** The same, until this scope closes. */
const startedIn = (scope: Scope.CloseableScope, ...args: Parameters<typeof started>) =>
  started(...args).pipe(Effect.provideService(Scope.Scope, scope))

const withStore = (store: Store) => Effect.provideService(ExecutionStore.ExecutionStore, store)

/** Waits until a value is as expected, while the clock goes on a little. */
const comes = <A, E, R>(effect: Effect.Effect<A, E, R>, expected: A) =>
  Effect.repeat(Effect.zipRight(TestClock.adjust("10 millis"), effect), {
    until: (actual) => isDeepStrictEqual(actual, expected),
    times: 1000
  }).pipe(Effect.map((actual) => assert.deepStrictEqual(actual, expected)))

/** The times for which something was started, without the name. */
const startedFor = (store: Store, name: string) =>
  Effect.map(store.idsWithPrefix(`cron:${name}:`), (ids) => ids.map((id) => id.slice(`cron:${name}:`.length)))

const messageOf = <A, E extends { readonly message: string }>(effect: Effect.Effect<A, E>) =>
  Effect.map(Effect.flip(effect), ({ message }) => message)

const at = (text: string) => TestClock.setTime(Date.parse(text))

const infoOf = (store: Store, name: string) =>
  Cron.get(name).pipe(
    withStore(store),
    Effect.map(({ last, next, paused }) => ({
      last: Option.getOrNull(Option.map(last, ({ at }) => DateTime.formatIso(at))),
      next: Option.getOrNull(Option.map(next, DateTime.formatIso)),
      paused
    }))
  )

for (const [{ make, name }, named] of [...shareOfTests(stores, 0, 1), ...shareOfTests(servers, 0, 2)]) {
  describe(named(`Recurring work on ${name}`), () => {
    it.scoped("is done once at each time, whoever registers it, and is seen by all", () =>
      Effect.gen(function* () {
        const store = yield* make
        yield* at("2026-01-01T09:30:00Z")
        const cron = Cron.make("hourly", hourly)
        yield* Effect.all([started(store, [cron]), started(store, [cron])], { concurrency: 2 })
        assert.deepStrictEqual(yield* infoOf(store, "hourly"), {
          last: null,
          next: "2026-01-01T10:00:00.000Z",
          paused: false
        })
        for (const hour of ["10", "11", "12"]) {
          yield* at(`2026-01-01T${hour}:00:10Z`)
          yield* comes(infoOf(store, "hourly"), {
            last: `2026-01-01T${hour}:00:00.000Z`,
            next: `2026-01-01T${Number(hour) + 1}:00:00.000Z`,
            paused: false
          })
        }
        assert.deepStrictEqual(yield* startedFor(store, "hourly"), [
          "2026-01-01T10:00:00Z",
          "2026-01-01T11:00:00Z",
          "2026-01-01T12:00:00Z"
        ])
        const first = Cron.firingId("hourly", new Date("2026-01-01T10:00:00Z"))
        yield* comes(
          Effect.map(Report.get(first).pipe(withStore(store)), ({ result }) => result),
          Option.some("2026-01-01T10:00:00.000+00:00[UTC]")
        )
        const { items } = yield* Cron.list.pipe(withStore(store))
        assert.deepStrictEqual(
          items.map(({ catchUp, executionId, expression, name, status, timeZone }) => [
            name,
            executionId,
            status,
            expression,
            timeZone,
            catchUp
          ]),
          [["hourly", "cron/hourly", "RUNNING", "0 * * * *", "UTC", "once"]]
        )
        assert.deepStrictEqual((yield* store.deadLetters.list()).entries, [])
      })
    )

    it.scoped("is paused, triggered, resumed and removed by any process", () =>
      Effect.gen(function* () {
        const store = yield* make
        const client = withStore(store)
        yield* at("2026-01-01T09:30:00Z")
        const process = yield* Scope.make()
        yield* startedIn(process, store, [Cron.make("hourly", hourly)])
        yield* client(Cron.pause("hourly"))
        yield* client(Cron.pause("hourly"))
        assert.deepStrictEqual(yield* infoOf(store, "hourly"), { last: null, next: null, paused: true })
        yield* at("2026-01-01T12:30:00Z")
        const id = yield* client(Cron.trigger("hourly"))
        yield* comes(startedFor(store, "hourly"), [id.slice("cron:hourly:".length)])
        assert.match(id, /^cron:hourly:2026-01-01T12:30:\d\d\.\d\d\dZ:[0-9a-f]{32}$/)
        yield* comes(
          Effect.map(client(Report.get(id)), ({ status }) => status),
          "DONE"
        )
        yield* client(Cron.resume("hourly"))
        yield* client(Cron.resume("hourly"))
        assert.strictEqual((yield* infoOf(store, "hourly")).next, "2026-01-01T13:00:00.000Z")
        yield* at("2026-01-01T13:00:10Z")
        yield* comes(startedFor(store, "hourly"), [id.slice("cron:hourly:".length), "2026-01-01T13:00:00Z"])
        yield* comes(
          Effect.map(infoOf(store, "hourly"), ({ last }) => last),
          "2026-01-01T13:00:00.000Z"
        )
        yield* Scope.close(process, Exit.void)
        yield* client(Cron.remove("hourly"))
        const missing = yield* Effect.all([
          messageOf(client(Cron.get("hourly"))),
          messageOf(client(Cron.pause("hourly"))),
          messageOf(client(Cron.resume("hourly"))),
          messageOf(client(Cron.trigger("hourly"))),
          messageOf(client(Cron.remove("hourly")))
        ])
        const text = 'there is no cron "hourly": it was never registered, or it was removed'
        assert.deepStrictEqual(missing, [text, text, text, text, text])
        assert.deepStrictEqual(yield* client(Cron.list), { items: [], invalid: [], corrupt: [] })
        assert.deepStrictEqual((yield* store.dueTimers(Number.MAX_SAFE_INTEGER)).entries, [])
      })
    )
  })
}

for (const { make, name } of stores) {
  /** What is started after a downtime from 9:30 to 14:20:30. */
  const afterDowntime = (options: Partial<Cron.Options>) =>
    Effect.gen(function* () {
      const store = yield* make
      const cron = Cron.make("hourly", { ...hourly, ...options })
      yield* at("2026-01-01T09:30:00Z")
      const before = yield* Scope.make()
      yield* startedIn(before, store, [cron])
      yield* Scope.close(before, Exit.void)
      yield* at("2026-01-01T14:20:30Z")
      const runtime = yield* started(store, [cron])
      yield* comes(
        Effect.map(infoOf(store, "hourly"), ({ next }) => (next ?? "") > "2026-01-01T14:20:30"),
        true
      )
      yield* runtime.awaitIdle
      return { store, runtime, times: yield* startedFor(store, "hourly"), info: yield* infoOf(store, "hourly") }
    })

  describe(`After a downtime, recurring work on ${name}`, () => {
    it.scoped("is done once by default, for the last time that was missed", () =>
      Effect.gen(function* () {
        const { info, times } = yield* afterDowntime({})
        assert.deepStrictEqual(times, ["2026-01-01T14:00:00Z"])
        assert.strictEqual(info.next, "2026-01-01T15:00:00.000Z")
      })
    )

    it.scoped("is not done with skip, unless the last time is late by no more than the grace", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual((yield* afterDowntime({ catchUp: "skip" })).times, [])
        const late = yield* afterDowntime({ catchUp: "skip", grace: "21 minutes" })
        assert.deepStrictEqual(late.times, ["2026-01-01T14:00:00Z"])
        yield* at("2026-01-01T15:00:30Z")
        yield* comes(startedFor(late.store, "hourly"), ["2026-01-01T14:00:00Z", "2026-01-01T15:00:00Z"])
      })
    )

    it.scoped("is done for each time with all", () =>
      Effect.gen(function* () {
        const { info, times } = yield* afterDowntime({ catchUp: "all" })
        assert.deepStrictEqual(
          times,
          ["10", "11", "12", "13", "14"].map((hour) => `2026-01-01T${hour}:00:00Z`)
        )
        assert.deepStrictEqual(info, {
          last: "2026-01-01T14:00:00.000Z",
          next: "2026-01-01T15:00:00.000Z",
          paused: false
        })
      })
    )

    it.scoped("is done with all up to the limit, in pages, and says that more was missed", () =>
      Effect.gen(function* () {
        const { layer, lines } = logs()
        const { info, times } = yield* afterDowntime({ schedule: "* * * * *", catchUp: "all", limit: 250 }).pipe(
          Effect.provide(layer)
        )
        // from 9:31 on
        assert.deepStrictEqual(
          [times.length, times[0], times[249]],
          [250, "2026-01-01T09:31:00Z", "2026-01-01T13:40:00Z"]
        )
        assert.strictEqual(info.next, "2026-01-01T14:21:00.000Z")
        assert.deepStrictEqual(
          lines.filter((line) => line.includes("missed")),
          ['WARN cron "hourly" missed more times than it catches up (limit: 250), and passes over the rest']
        )
      })
    )

    it.scoped("writes no more than a page in one commit", () =>
      Effect.gen(function* () {
        const store = yield* make
        const cron = Cron.make("often", { ...hourly, schedule: "* * * * *", catchUp: "all" })
        yield* at("2026-01-01T09:30:00Z")
        const before = yield* Scope.make()
        yield* startedIn(before, store, [cron])
        yield* Scope.close(before, Exit.void)
        yield* at("2026-01-01T13:30:30Z")
        const emits: Array<number> = []
        const watched: Store = {
          ...store,
          commit: (execution, commit) => {
            if (execution.id === "cron/often") emits.push(commit?.emits?.length ?? 0)
            return store.commit(execution, commit)
          }
        }
        yield* started(watched, [cron])
        yield* comes(
          Effect.map(startedFor(store, "often"), ({ length }) => length),
          240
        )
        assert.deepStrictEqual(
          emits.filter((count) => count > 0),
          [100, 100, 40]
        )
      })
    )

    it.scoped("of each second for a month is done once, without counting them", () =>
      Effect.gen(function* () {
        const store = yield* make
        const cron = Cron.make("seconds", { ...hourly, schedule: "* * * * * *" })
        yield* at("2026-01-01T00:00:00Z")
        const before = yield* Scope.make()
        yield* startedIn(before, store, [cron])
        yield* Scope.close(before, Exit.void)
        yield* at("2026-02-01T00:00:00.500Z")
        yield* started(store, [cron])
        yield* comes(startedFor(store, "seconds"), ["2026-02-01T00:00:00Z"])
      })
    )
  })

  describe(`A deployment, with recurring work on ${name}`, () => {
    it.scoped("that changes the schedule arms the timer anew", () =>
      Effect.gen(function* () {
        const store = yield* make
        yield* at("2026-01-01T09:30:00Z")
        const before = yield* Scope.make()
        yield* startedIn(before, store, [Cron.make("work", hourly)])
        yield* Scope.close(before, Exit.void)
        yield* started(store, [Cron.make("work", { ...hourly, schedule: "45 * * * *" })])
        assert.strictEqual((yield* infoOf(store, "work")).next, "2026-01-01T09:45:00.000Z")
        yield* at("2026-01-01T10:10:00Z")
        yield* comes(startedFor(store, "work"), ["2026-01-01T09:45:00Z"])
        assert.lengthOf((yield* store.dueTimers(Number.MAX_SAFE_INTEGER)).entries, 1)
      })
    )

    it.scoped("that changes the schedule keeps a time that was due, and the new one counts from then on", () =>
      Effect.gen(function* () {
        const store = yield* make
        yield* at("2026-01-01T09:59:50Z")
        const before = yield* Scope.make()
        yield* startedIn(before, store, [Cron.make("work", { ...hourly, catchUp: "all" })])
        yield* Scope.close(before, Exit.void)
        yield* at("2026-01-01T10:30:00Z")
        yield* started(store, [Cron.make("work", { ...hourly, catchUp: "all", schedule: "*/20 * * * *" })])
        yield* comes(startedFor(store, "work"), ["2026-01-01T10:00:00Z"])
        yield* at("2026-01-01T10:40:05Z")
        yield* comes(startedFor(store, "work"), ["2026-01-01T10:00:00Z", "2026-01-01T10:40:00Z"])
      })
    )

    it.scoped("that changes nothing writes nothing, and one that changes the policy leaves the timer", () =>
      Effect.gen(function* () {
        const store = yield* make
        const register = (options: Cron.Options) =>
          Effect.scoped(started(store, [Cron.make("work", options)])).pipe(
            Effect.zipRight(store.load("cron/work")),
            Effect.map((found) =>
              Option.map(found, ({ context, version }) => [version, context["next"], context["catchUp"]])
            )
          )
        yield* at("2026-01-01T09:30:00Z")
        const next = Date.parse("2026-01-01T10:00:00Z") / 1000
        assert.deepStrictEqual(yield* register(hourly), Option.some([1, next, "once"]))
        assert.deepStrictEqual(yield* register(hourly), Option.some([1, next, "once"]))
        assert.deepStrictEqual(yield* register({ ...hourly, catchUp: "all" }), Option.some([2, next, "all"]))
        yield* withStore(store)(Cron.pause("work"))
        assert.deepStrictEqual(yield* register({ ...hourly, schedule: "5 * * * *" }), Option.some([4, null, "once"]))
      })
    )

    it.scoped("begins work again that was removed, or that an operator ended", () =>
      Effect.gen(function* () {
        const store = yield* make
        yield* at("2026-01-01T09:30:00Z")
        const cron = Cron.make("work", hourly)
        yield* Effect.scoped(started(store, [cron]))
        const control = yield* withStore(store)(Control.make())
        yield* control.terminate("cron/work")
        assert.strictEqual((yield* Effect.flip(infoOf(store, "work")))._tag, "CronMissing")
        const process = yield* Scope.make()
        yield* startedIn(process, store, [cron])
        yield* at("2026-01-01T10:00:05Z")
        yield* comes(startedFor(store, "work"), ["2026-01-01T10:00:00Z"])
        yield* Scope.close(process, Exit.void)
        yield* withStore(store)(Cron.remove("work"))
        yield* started(store, [cron])
        yield* at("2026-01-01T11:00:05Z")
        yield* comes(startedFor(store, "work"), ["2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"])
      })
    )

    it.scoped("arms a timer again that was given up", () =>
      Effect.gen(function* () {
        const store = yield* make
        yield* at("2026-01-01T09:30:00Z")
        yield* Effect.scoped(started(store, [Cron.make("work", hourly)]))
        const [timer] = (yield* store.dueTimers(Number.MAX_SAFE_INTEGER)).entries
        if (timer === undefined) assert.fail("no timer is armed")
        yield* store.deadLetters.bury(
          { _tag: "Timer", ...timer },
          { reason: "attempts", error: "no such zone", attempts: 1 }
        )
        yield* started(store, [Cron.make("work", hourly)])
        yield* at("2026-01-01T10:00:05Z")
        yield* comes(startedFor(store, "work"), ["2026-01-01T10:00:00Z"])
      })
    )

    it.scoped("of which one process suspends it catches up when it is resumed", () =>
      Effect.gen(function* () {
        const store = yield* make
        yield* at("2026-01-01T09:30:00Z")
        yield* started(store, [Cron.make("work", hourly)])
        const control = yield* withStore(store)(Control.make())
        yield* control.suspend("cron/work")
        yield* at("2026-01-01T12:30:00Z")
        assert.isTrue((yield* infoOf(store, "work")).paused)
        assert.deepStrictEqual(yield* startedFor(store, "work"), [])
        yield* control.resume("cron/work")
        yield* comes(startedFor(store, "work"), ["2026-01-01T12:00:00Z"])
      })
    )

    it.scoped("leaves work alone that another service has registered", () =>
      Effect.gen(function* () {
        const store = yield* make
        yield* at("2026-01-01T09:30:00Z")
        yield* Effect.scoped(started(store, [Cron.make("theirs", hourly)]))
        const ours = yield* started(store, [Cron.make("ours", hourly)])
        yield* at("2026-01-01T11:30:00Z")
        yield* comes(startedFor(store, "ours"), ["2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"])
        yield* comes(
          Effect.map(ours.health, ({ unknownDefinitions }) =>
            unknownDefinitions.map(({ definitionId }) => definitionId)
          ),
          ["cron/theirs"]
        )
        assert.deepStrictEqual((yield* store.deadLetters.list()).entries, [])
        const [waiting] = (yield* ours.health).unknownDefinitions
        assert.deepStrictEqual(waiting?.oldest, Option.some(Date.parse("2026-01-01T10:00:00Z") / 1000))
        yield* started(store, [Cron.make("theirs", hourly)])
        yield* comes(startedFor(store, "theirs"), ["2026-01-01T11:00:00Z"])
      })
    )
  })

  describe(`A firing on ${name}`, () => {
    it.scoped("starts nothing where its execution was started before it was interrupted", () =>
      Effect.gen(function* () {
        const store = yield* make
        yield* at("2026-01-01T09:30:00Z")
        let lost = 0
        // Dies, as a process would, between the start and the commit of the firing: twice.
        const dying: Store = {
          ...store,
          commit: (execution, commit) =>
            execution.id === "cron/work" && commit?.processed?.startsWith("cron:") === true && lost++ < 2
              ? Effect.die("the process is gone")
              : store.commit(execution, commit)
        }
        const process = yield* Scope.make()
        yield* startedIn(process, dying, [Cron.make("work", hourly)])
        yield* at("2026-01-01T10:00:05Z")
        const id = Cron.firingId("work", new Date("2026-01-01T10:00:00Z"))
        yield* comes(
          Effect.map(Effect.either(withStore(store)(Report.get(id))), ({ _tag }) => _tag),
          "Right"
        )
        yield* Effect.exit(Scope.close(process, Exit.void))
        yield* started(store, [Cron.make("work", hourly)])
        yield* comes(
          Effect.map(infoOf(store, "work"), ({ last }) => last),
          "2026-01-01T10:00:00.000Z"
        )
        const execution = yield* Effect.flatten(store.load(id))
        // It was created and took its Start, and no other process began it again.
        assert.deepStrictEqual([execution.version, execution.processedEvents, execution.status], [2, 1, "DONE"])
        assert.isAbove(lost, 0)
      })
    )

    it.scoped("sends its event once, in its own commit", () =>
      Effect.gen(function* () {
        const store = yield* make
        const client = withStore(store)
        yield* at("2026-01-15T00:00:00Z")
        const cron = Cron.make("month", {
          schedule: "0 0 1 * *",
          timeZone: "America/New_York",
          catchUp: "all",
          action: Cron.send(Account, "account-1", "MonthEnded", ({ at }) => ({ month: DateTime.formatIsoZoned(at) }))
        })
        yield* client(Account.start("account-1", { months: [] }))
        yield* started(store, [cron])
        yield* started(store, [cron])
        yield* at("2026-04-02T00:00:00Z")
        yield* comes(
          Effect.map(client(Account.get("account-1")), ({ context }) => context.months),
          [
            "2026-02-01T00:00:00.000-05:00[America/New_York]",
            "2026-03-01T00:00:00.000-05:00[America/New_York]",
            "2026-04-01T00:00:00.000-04:00[America/New_York]"
          ]
        )
      })
    )

    it.scoped("that fails is a dead letter in the end, and later times are not held up", () =>
      Effect.gen(function* () {
        const store = yield* make
        yield* at("2026-01-01T09:30:00Z")
        let broken = true
        const action = Cron.start(Report, ({ at }) => {
          if (broken && DateTime.formatIso(at).includes("T10")) throw new Error("no such day")
          return { day: "some" }
        })
        const runtime = yield* started(store, [Cron.make("work", { ...hourly, action })], { maxAttempts: 2 })
        yield* at("2026-01-01T10:00:05Z")
        yield* comes(
          Effect.map(runtime.deadLetters.list(), ({ entries }) => entries.map(({ executionId }) => executionId)),
          ["cron/work"]
        )
        yield* at("2026-01-01T11:00:05Z")
        yield* comes(startedFor(store, "work"), ["2026-01-01T11:00:00Z"])
        broken = false
        const [letter] = (yield* runtime.deadLetters.list()).entries
        assert.isTrue(yield* runtime.deadLetters.redrive(letter?.id ?? 0))
        yield* comes(startedFor(store, "work"), ["2026-01-01T10:00:00Z", "2026-01-01T11:00:00Z"])
      })
    )

    it.scoped("comes by the clock of its zone, over its changes", () =>
      Effect.gen(function* () {
        const store = yield* make
        yield* at("2026-03-27T12:00:00Z")
        yield* started(store, [
          Cron.make("berlin", { schedule: "30 2 * * *", timeZone: "Europe/Berlin", action: report, catchUp: "all" }),
          Cron.make("york", { schedule: "30 1 * * *", timeZone: "America/New_York", action: report, catchUp: "all" })
        ])
        yield* at("2026-03-30T12:00:00Z")
        yield* comes(startedFor(store, "berlin"), [
          "2026-03-28T01:30:00Z",
          "2026-03-29T01:30:00Z",
          "2026-03-30T00:30:00Z"
        ])
        const gap = yield* withStore(store)(Report.get("cron:berlin:2026-03-29T01:30:00Z"))
        assert.deepStrictEqual(gap.context.day, "2026-03-29T03:30:00.000+02:00[Europe/Berlin]")
        yield* comes(startedFor(store, "york"), [
          "2026-03-28T05:30:00Z",
          "2026-03-29T05:30:00Z",
          "2026-03-30T05:30:00Z"
        ])
        yield* withStore(store)(Effect.all([Cron.pause("york"), Cron.pause("berlin")]))
        yield* at("2026-10-31T12:00:00Z")
        yield* withStore(store)(Cron.resume("york"))
        yield* at("2026-11-02T12:00:00Z")
        yield* comes(
          Effect.map(startedFor(store, "york"), (times) => times.slice(3)),
          ["2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"]
        )
      })
    )
  })
}

describe("Recurring work on a file that two processes have open", () => {
  it.scoped("is registered once, and done once at each time", () =>
    Effect.gen(function* () {
      const filename = yield* Temp.database
      yield* at("2026-01-01T09:30:00Z")
      const [one, two] = yield* Effect.all([SqliteStore.make({ filename }), SqliteStore.make({ filename })])
      const often: Options = { pollInterval: "1 minute", timerInterval: "1 minute" }
      const cron = Cron.make("work", { ...hourly, catchUp: "all" })
      yield* driven(
        Effect.all([started(one, [cron], often), started(two, [cron], often)], { concurrency: "unbounded" })
      )
      const written = yield* Effect.flatten(one.load("cron/work"))
      assert.strictEqual(written.version, 1)
      for (const hour of [10, 11, 12]) {
        yield* at(`2026-01-01T${hour}:00:30Z`)
        yield* comes(
          Effect.map(infoOf(two, "work"), ({ last }) => last),
          `2026-01-01T${hour}:00:00.000Z`
        )
      }
      const ids = (yield* startedFor(one, "work")).map((time) => `cron:work:${time}`)
      assert.lengthOf(ids, 3)
      yield* comes(
        Effect.map(Effect.forEach(ids, one.load), (all) =>
          all.map(Option.map(({ processedEvents, status }) => [processedEvents, status]))
        ),
        ids.map(() => Option.some([1, "DONE"]))
      )
      assert.deepStrictEqual((yield* one.deadLetters.list()).entries, [])
    })
  )
})

describe("Recurring work that cannot be registered so", () => {
  const [memory] = stores
  const refused = (name: string, options: Cron.Options) =>
    Effect.gen(function* () {
      const store = yield* memory?.make ?? Effect.die("no store")
      const error = yield* Effect.flip(started(store, [Cron.make(name, options)]))
      assert.deepStrictEqual(yield* store.idsWithPrefix(""), [])
      assert.instanceOf(error, Error)
      return Predicate.hasProperty(error, "_tag") && error instanceof Error ? [error._tag, error.message] : []
    })

  it.scoped("is refused with one sentence, and nothing is written", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [string, Partial<Cron.Options>, string]> = [
        ["a", { timeZone: "Mars/Base" }, 'there is no time zone "Mars/Base": give one like "Europe/Berlin" or "UTC"'],
        ["a", { timeZone: undefined }, 'it has no time zone: give one, as timeZone: "UTC"'],
        ["a", { schedule: "0 0 31 2 *" }, "its schedule never comes: no day has this date"],
        [
          "a",
          { schedule: "often" },
          'its schedule "often" is no cron expression (Invalid number of segments in cron expression)'
        ],
        ["a", { limit: 0 }, "limit: expected a whole number of 1 or more"],
        ["a", { grace: Number.POSITIVE_INFINITY }, 'grace: expected a finite duration such as "5 seconds"'],
        ["", {}, "it has no name"]
      ]
      for (const [name, options, problem] of cases) {
        assert.deepStrictEqual(yield* refused(name, { ...hourly, ...options }), [
          "InvalidCron",
          `cron ${JSON.stringify(name)} cannot be registered so: ${problem}`
        ])
      }
      const [tag, message = ""] = yield* refused("n".repeat(1000), hourly)
      assert.strictEqual(tag, "InvalidCron")
      assert.include(message, "the ids that are made of its name are too long (longer than 1024 bytes)")
    })
  )

  it.scoped("is told from somebody's own execution of such an id", () =>
    Effect.gen(function* () {
      const store = yield* memory?.make ?? Effect.die("no store")
      yield* store.save(Execution.make({ id: "cron/mine", definitionId: "report", context: { day: "" } }))
      yield* store.save(Execution.make({ id: "cron/odd", definitionId: "cron/odd" }))
      const listing = yield* withStore(store)(Cron.list)
      assert.deepStrictEqual([listing.items, listing.corrupt], [[], []])
      assert.deepStrictEqual(
        listing.invalid.map(({ executionId }) => executionId),
        ["cron/odd"]
      )
      const error = yield* Effect.flip(started(store, [Cron.make("mine", hourly)]))
      assert.propertyVal(error, "_tag", "OtherDefinition")
    })
  )
})
