import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as Activity from "holdfast/Activity"
import * as Commit from "holdfast/Commit"
import * as Definition from "holdfast/Definition"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import { shareOfTests } from "../support/extent.js"
import { servers } from "../support/servers.js"
import { stores } from "../support/workers.js"

const Charge = Activity.make("charge", { payload: Schema.Struct({ amount: Schema.Number }), success: Schema.String })
const Refund = Activity.make("refund", { payload: Schema.Struct({}) })

const Parcel = Definition.make("parcel", {
  context: Schema.Struct({ item: Schema.String }),
  result: Schema.Struct({ tracking: Schema.String })
})

/** What is running. */
const OrderV1 = Definition.make("order", {
  context: Schema.Struct({ total: Schema.String }),
  events: { Paid: Schema.Struct({ amount: Schema.String }), Reminded: Schema.Struct({}) },
  timers: ["payment", "reminder"],
  children: { Parcels: Parcel, Gifts: Parcel },
  activities: { charge: Charge, refund: Refund },
  result: Schema.Struct({ total: Schema.String })
})

const ChargeV2 = Activity.make("charge", { payload: Schema.Struct({ cents: Schema.Number }), success: Schema.Number })

const ParcelV2 = Definition.make("parcel", {
  version: 2,
  context: Schema.Struct({ items: Schema.Array(Schema.String) }),
  result: Schema.Struct({ tracking: Schema.Number })
})

/** What is to be deployed, and forgets about the half of it. */
const OrderV2 = Definition.make("order", {
  version: 2,
  context: Schema.Struct({ cents: Schema.Positive }),
  events: { Paid: Schema.Struct({ amount: Schema.Number }) },
  timers: ["payment"],
  children: { Parcels: ParcelV2 },
  activities: { charge: ChargeV2 },
  result: Schema.Struct({ total: Schema.String }),
  migrations: { 1: ({ context }) => ({ context: { cents: Number(context["total"]) * 100 } }) }
})

/** The same, with all that was forgotten. */
const OrderWell = Definition.make("order", {
  version: 2,
  context: Schema.Struct({ cents: Schema.Number }),
  events: {
    Paid: Schema.Struct({ amount: Schema.Union(Schema.Number, Schema.NumberFromString) }),
    Reminded: Schema.Struct({})
  },
  timers: ["payment", "reminder"],
  children: { Parcels: Parcel, Gifts: Parcel },
  activities: { charge: Charge, refund: Refund },
  result: Schema.Struct({ total: Schema.String }),
  migrations: { 1: ({ context }) => ({ context: { cents: Number(context["total"]) * 100 } }) }
})

const problems = (definitions: Definition.Any | ReadonlyArray<Definition.Any>, options?: Definition.CheckOptions) =>
  Effect.map(Stream.runCollect(Definition.check(definitions, options)), (found) => Array.from(found))

const shown = (found: ReadonlyArray<Definition.CheckProblem>) =>
  found.map(({ executionId, path, problem, subject }) => `${executionId}: ${subject} at ${path}: ${problem}`)

const running = (id: string, total: string, commit: Commit.Commit = {}) =>
  Effect.flatMap(ExecutionStore.ExecutionStore, (store) =>
    store.commit(Execution.make({ id, definitionId: "order", status: "RUNNING", context: { total } }), commit)
  )

const event = (id: string, kind: string, data: Event.Event["data"], dueAt?: number) => ({
  targetId: "a",
  event: Event.make({ id, kind, data }),
  dueAt
})

const child = (key: string, finished: boolean, result: Execution.ChildState["result"] = {}): Execution.ChildState => ({
  rootPath: "",
  finished,
  outcome: null,
  result,
  submachine: true,
  key,
  extra: {}
})

/** An order with something of everything on its way. */
const busy = Effect.gen(function* () {
  const store = yield* ExecutionStore.ExecutionStore
  yield* store.commit(
    Execution.make({
      id: "a",
      definitionId: "order",
      status: "RUNNING",
      context: { total: "1" },
      children: {
        "a:Parcels:0": child("Parcels", true, { tracking: "t" }),
        "a:Parcels:1": child("Parcels", false),
        "a:Gifts:0": child("Gifts", false)
      }
    }),
    {
      emits: [
        event("1", "Paid", { amount: "1" }),
        event("2", "Reminded", {}),
        event("3", "Paid", { amount: 5 }),
        event("4", "Paid", { amount: "2" }, 4_000_000_000),
        event("5", "ActivityEnded", { activity: "charge", key: "c", attempts: 1, outcome: "success", value: "ok" })
      ],
      timers: [Commit.scheduleTimer("payment", 4_000_000_000), Commit.scheduleTimer("reminder", 4_000_000_000)],
      activities: [
        Commit.runActivity({ key: "c", name: "charge", payload: { amount: 5 } }),
        Commit.runActivity({ key: "r", name: "refund", payload: {} })
      ],
      spawns: [{ childId: "a:Parcels:1", rootPath: "", context: { item: "lamp", __invoke_fqn__: "parcel" } }]
    }
  )
})

for (const [{ make, name }, named] of [...shareOfTests(stores, 0, 1), ...shareOfTests(servers, 1, 2)]) {
  describe(named(`A check of definitions on ${name}`), () => {
    it.scoped("names all that is on its way and does not fit, and changes nothing", () =>
      Effect.gen(function* () {
        yield* busy
        const store = yield* ExecutionStore.ExecutionStore
        const before = [yield* store.load("a"), yield* store.stats]
        const found = yield* problems(OrderV2)
        assert.deepStrictEqual(
          found.map(({ definition, definitionVersion, executionId }) => [definition, executionId, definitionVersion]),
          found.map(() => ["order", "a", 1])
        )
        assert.sameMembers(shown(found), [
          'a: payload of event "Paid" at amount: Expected number, actual "1"',
          'a: payload of event "Paid" at amount: Expected number, actual "2"',
          'a: event "Reminded" at : the definition does not name it',
          'a: outcome of activity "charge" at : Expected number, actual "ok"',
          'a: timer "reminder" at : the definition does not name it',
          'a: payload of activity "charge" at cents: is missing',
          'a: activity "refund" at : definition "order" does not name it in version 2: its outcome would be a dead letter',
          'a: children "Gifts" at : definition "order" does not name it in version 2: no handler would hear of their end',
          'a: result of child "a:Parcels:0" at tracking: Expected number, actual "t"',
          'a: context of child "a:Parcels:1" at : it is of version 1 of the definition, and this is version 2, to which no migration leads from there'
        ])
        assert.deepStrictEqual([yield* store.load("a"), yield* store.stats], before)
        // what runs there takes it, and so does what forgot nothing
        assert.deepStrictEqual(shown(yield* problems([OrderV1])), [
          'a: payload of event "Paid" at amount: Expected string, actual 5'
        ])
        assert.deepStrictEqual(shown(yield* problems([OrderWell])), [])
      }).pipe(Effect.provide(Layer.scoped(ExecutionStore.ExecutionStore, make)))
    )
  })
}

/** Gives up everything that {@link busy} has on its way. */
const allGivenUp = Effect.gen(function* () {
  const store = yield* ExecutionStore.ExecutionStore
  const why = { reason: "attempts", attempts: 3, error: "no" } as const
  const { events, spawns, timers } = yield* store.workOf("a")
  const activities = yield* store.activities.of("a")
  const works: ReadonlyArray<Commit.Work> = [
    ...events.map(({ seq }) => ({ _tag: "Outbox" as const, seq })),
    ...spawns.map(({ seq }) => ({ _tag: "Spawn" as const, seq })),
    ...timers.map((timer) => ({ _tag: "Timer" as const, ...timer })),
    ...activities.map(({ seq }) => ({ _tag: "Activity" as const, seq }))
  ]
  yield* Effect.forEach(works, (work) => store.deadLetters.bury(work, why), { discard: true })
})

for (const { make, name } of stores) {
  describe(`A check of dead letters on ${name}`, () => {
    it.scoped("names those that could not be taken if they were redriven, each by its number", () =>
      Effect.gen(function* () {
        yield* busy
        const before = shown(yield* problems(OrderV2)).toSorted()
        yield* allGivenUp
        const store = yield* ExecutionStore.ExecutionStore
        const { entries } = yield* store.deadLetters.list()
        const found = yield* problems(OrderV2)
        const plain = shown(found).map((line) => line.replace(/ of dead letter \d+ at/, " at"))
        assert.deepStrictEqual(plain.toSorted(), before)
        const ofLetters = found.filter(({ subject }) => subject.includes(" of dead letter "))
        assert.lengthOf(ofLetters, 7)
        for (const { subject } of ofLetters) {
          const id = Number(/ of dead letter (\d+)$/.exec(subject)?.[1])
          assert.isTrue(entries.some((letter) => letter.id === id))
        }
        assert.deepStrictEqual(shown(yield* problems([OrderWell])), [])
        const others = yield* problems(OrderV2, { deadLetters: false })
        assert.deepStrictEqual(
          shown(others),
          shown(found.filter(({ subject }) => !subject.includes(" of dead letter ")))
        )
      }).pipe(Effect.provide(Layer.scoped(ExecutionStore.ExecutionStore, make)))
    )
  })

  describe(`A check of many executions on ${name}`, () => {
    it.scoped("names contexts that do not fit after their migration, through all pages", () =>
      Effect.gen(function* () {
        const ids = Array.from({ length: 105 }, (_, i) => `order-${String(i).padStart(3, "0")}`)
        yield* Effect.forEach(ids, (id, i) => running(id, i % 50 === 3 ? "none" : "1"), { concurrency: 64 })
        assert.deepStrictEqual(
          shown(yield* problems(OrderV2)),
          ["003", "053", "103"].map(
            (n) => `order-${n}: context at cents: the migration from version 1 to 2 failed: NaN is not a JSON number`
          )
        )
        const { migrated, problems: left } = yield* Definition.migrateAll(OrderV2)
        assert.deepStrictEqual([migrated, left], [102, yield* problems(OrderV2)])
        const again = yield* Definition.migrateAll(OrderV2)
        assert.deepStrictEqual([again.migrated, again.problems], [0, left])
        const { items } = yield* OrderV2.list({ limit: 2 })
        assert.deepStrictEqual(
          items.map(({ context, definitionVersion, version }) => [context, definitionVersion, version]),
          [
            [{ cents: 100 }, 2, 2],
            [{ cents: 100 }, 2, 2]
          ]
        )
      }).pipe(Effect.provide(Layer.scoped(ExecutionStore.ExecutionStore, make)))
    )
  })
}

const inMemory = Effect.provide(MemoryStore.layer)

describe("A check of definitions", () => {
  it.effect("takes each execution by the version that would run it", () =>
    Effect.gen(function* () {
      const Pinned = Definition.make("order", { version: 2, context: Schema.Struct({ cents: Schema.Number }) })
      yield* running("a", "1")
      assert.deepStrictEqual(shown(yield* problems([Pinned])), [
        "a: version at : it is of version 1, and nothing leads from there to 2: its work would wait"
      ])
      assert.deepStrictEqual(shown(yield* problems([Pinned, OrderV1])), [])
      assert.deepStrictEqual(yield* Definition.migrateAll([OrderV2, OrderV1]), { migrated: 0, problems: [] })
    }).pipe(inMemory)
  )

  it.effect("leaves ended executions out, unless they are asked for", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore.ExecutionStore
      const ended = { id: "a", definitionId: "order", status: "DONE", context: { total: "1" } } as const
      yield* store.save(Execution.make({ ...ended, result: { total: 1 } }))
      yield* running("b", "1")
      assert.deepStrictEqual(shown(yield* problems(OrderWell)), [])
      assert.deepStrictEqual(shown(yield* problems(OrderWell, { ended: true })), [
        "a: result at total: Expected string, actual 1"
      ])
      assert.deepStrictEqual((yield* Definition.migrateAll(OrderWell)).migrated, 1)
      const { definitionVersion } = yield* Effect.flatten(store.load("a"))
      assert.strictEqual(definitionVersion, 1)
    }).pipe(inMemory)
  )

  it.effect("looks at all work of an execution, and at all of its dead letters, page by page", () =>
    Effect.gen(function* () {
      const self = yield* ExecutionStore.ExecutionStore
      let read = 0
      const store: ExecutionStore.ExecutionStore = {
        ...self,
        workOf: (id, query) => Effect.tap(self.workOf(id, query), () => read++),
        deadLetters: {
          ...self.deadLetters,
          list: (query) => Effect.tap(self.deadLetters.list(query), () => read++)
        }
      }
      const many = Array.from({ length: 2100 }, (_, i) => event(String(i), "Reminded", {}))
      yield* running("a", "1", { emits: many })
      yield* running("b", "1")
      const counted = (definitions: Definition.Any) =>
        Effect.map(problems(definitions), (found) => found.filter(({ executionId }) => executionId === "a").length)
      const check = Effect.provideService(counted(OrderV2), ExecutionStore.ExecutionStore, store)
      assert.strictEqual(yield* check, 2100)
      // Three pages of work and one of letters, and one of each for the other execution.
      assert.strictEqual(read, 6)
      // What is asked for is read, and no more.
      read = 0
      const first = Stream.runHead(Definition.check(OrderV2))
      yield* Effect.provideService(first, ExecutionStore.ExecutionStore, store)
      assert.isAtMost(read, 4)

      for (const { seq } of (yield* self.workOf("a", { limit: 1000 })).events) {
        yield* self.deadLetters.bury({ _tag: "Outbox", seq }, { reason: "attempts", attempts: 1, error: "no" })
      }
      for (const { seq } of (yield* self.workOf("a", { limit: 1 })).events) {
        yield* self.deadLetters.bury({ _tag: "Outbox", seq }, { reason: "attempts", attempts: 1, error: "no" })
      }
      assert.strictEqual(yield* check, 2100)
      assert.strictEqual(yield* counted(OrderWell), 0)
    }).pipe(inMemory)
  )

  it.effect("has nothing against what the definition ignores", () =>
    Effect.gen(function* () {
      const Lenient = Definition.make("order", { context: Schema.Struct({}), onUnknownEvent: "ignore" })
      yield* busy
      assert.deepStrictEqual(
        (yield* problems(Lenient)).map(({ subject }) => subject),
        // whose end is no event that could be ignored: somebody waits for it
        ['children "Parcels"', 'children "Gifts"']
      )
    }).pipe(inMemory)
  )

  it.effect("refuses what is no definition", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(problems(JSON.parse('[{"name":"order"}]')))
      assert.include(Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "", "order was not made by Definition.make")
    }).pipe(inMemory)
  )
})

describe("Migrating all", () => {
  it.effect("goes on behind an execution that the store refuses in its new version", () =>
    Effect.gen(function* () {
      const Grown = Definition.make("order", {
        version: 2,
        context: Schema.Struct({ text: Schema.String }),
        migrations: { 1: ({ context }) => ({ context: { text: "x".repeat(Number(context["total"])) } }) }
      })
      for (const [id, total] of [
        ["a", "1"],
        ["b", "2000"],
        ["c", "1"]
      ] as const) {
        yield* running(id, total)
      }
      const { migrated, problems: left } = yield* Definition.migrateAll(Grown)
      assert.strictEqual(migrated, 2)
      assert.deepStrictEqual(
        left.map(({ executionId, subject }) => [executionId, subject]),
        [["b", "context"]]
      )
      assert.include(left[0]?.problem ?? "", "1000")
    }).pipe(Effect.provide(Layer.effect(ExecutionStore.ExecutionStore, MemoryStore.make({ maxContextBytes: 1000 }))))
  )

  it.effect("keeps what waits, and says in the trace what it did", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore.ExecutionStore
      yield* TestClock.setTime(5000)
      yield* busy
      const before = yield* store.stats
      assert.deepStrictEqual(yield* Definition.migrateAll([OrderWell]), { migrated: 1, problems: [] })
      assert.deepStrictEqual(yield* store.stats, before)
      const { entries } = yield* store.readTrace("a")
      assert.deepStrictEqual(
        entries.map(({ eventData, eventKind, timestamp }) => [eventKind, eventData, timestamp]),
        [["Control", { command: "migrate", from_version: 1, to_version: 2 }, 5]]
      )
    }).pipe(inMemory)
  )

  it.effect("writes what executions are found by, and names of whom that cannot be made", () =>
    Effect.gen(function* () {
      const Found = Definition.make("order", {
        version: 2,
        context: Schema.Struct({ cents: Schema.Number }),
        attributes: {
          cents: ({ cents }) => {
            if (cents === 0) throw new Error("nothing")
            return cents
          }
        },
        migrations: { 1: ({ context }) => ({ context: { cents: Number(context["total"]) * 100 } }) }
      })
      yield* running("a", "1")
      yield* running("b", "0")
      const found = yield* problems(Found)
      assert.deepStrictEqual(shown(found), ["b: attribute at cents: its function died: Error: nothing"])
      assert.deepStrictEqual(yield* Definition.migrateAll(Found), { migrated: 1, problems: found })
      const { items } = yield* Found.list({ where: { cents: 100 } })
      assert.deepStrictEqual(
        items.map(({ definitionVersion, id }) => [id, definitionVersion]),
        [["a", 2]]
      )
    }).pipe(inMemory)
  )

  it.effect("takes an execution again where another commit came first", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore.ExecutionStore
      yield* running("a", "1")
      let raced = false
      const racing: ExecutionStore.ExecutionStore = {
        ...store,
        load: (id) =>
          Effect.tap(store.load(id), (found) => {
            if (raced || Option.isNone(found)) return Effect.void
            raced = true
            return Effect.orDie(store.save({ ...found.value, context: { total: "2" } }))
          })
      }
      const fiber = yield* Effect.fork(
        Effect.provideService(Definition.migrateAll(OrderWell), ExecutionStore.ExecutionStore, racing)
      )
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* fiber, { migrated: 1, problems: [] })
      assert.deepStrictEqual((yield* OrderWell.get("a")).context, { cents: 200 })
    }).pipe(inMemory)
  )
})

describe("Publishing a definition", () => {
  it.effect("stores its version, what it names and its schemas", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore.ExecutionStore
      yield* TestClock.setTime(5000)
      const published = yield* Definition.publish(OrderV2)
      assert.deepStrictEqual([published.definitionId, published.version, published.publishedAt], ["order", 2, 5])
      assert.match(published.digest, /^sha256:[0-9a-f]{64}$/)
      const source = JSON.parse(published.source)
      assert.deepStrictEqual(Object.keys(source), [
        "name",
        "version",
        "migratesFrom",
        "context",
        "events",
        "timers",
        "children",
        "activities",
        "result"
      ])
      assert.deepStrictEqual(
        [source.migratesFrom, source.timers, source.children],
        [[1], ["payment"], { Parcels: { definition: "parcel", version: 2 } }]
      )
      assert.include(published.source, '"exclusiveMinimum": 0')
      assert.deepStrictEqual(Object.keys(source.activities.charge), ["name", "payload", "success"])
      assert.deepStrictEqual(yield* store.loadDefinition("order"), Option.some(published))
    }).pipe(inMemory)
  )

  it.effect("keeps what was published first under a version, and each version", () =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore.ExecutionStore
      const first = yield* Definition.publish(OrderV1)
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual(yield* Definition.publish(OrderV1), first)
      const second = yield* Definition.publish(OrderV2)
      assert.deepStrictEqual(yield* Definition.publish(OrderWell), second)
      assert.deepStrictEqual(yield* store.loadDefinition("order", 1), Option.some(first))
      assert.deepStrictEqual(yield* store.loadDefinition("order"), Option.some(second))
    }).pipe(inMemory)
  )

  it.effect("tells a schema that has no JSON Schema by its name", () =>
    Effect.gen(function* () {
      const Odd = Schema.declare((u: unknown): u is bigint => typeof u === "bigint", { identifier: "Odd" })
      const { source } = yield* Definition.publish(
        Definition.make("odd", { context: Schema.Struct({}), result: Odd, error: Schema.Date })
      )
      assert.deepStrictEqual(JSON.parse(source).result, { $comment: "Odd" })
      assert.include(source, "to be decoded into a Date")
    }).pipe(inMemory)
  )
})

describe("What is a definition", () => {
  it("is told from other values", () => {
    const values: ReadonlyArray<unknown> = [OrderV1, Charge, {}, null, "order", () => OrderV1]
    assert.deepStrictEqual(values.map(Definition.isDefinition), [true, false, false, false, false, false])
  })
})
