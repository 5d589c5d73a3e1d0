import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import * as Commit from "holdfast/Commit"
import type { Execution } from "holdfast/Execution"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as Ids from "holdfast/Ids"
import type { StoreConflict, StoreError } from "holdfast/StoreError"
import { emit, everything, order, spawn, step } from "../../src/testing/internal/samples.js"
import { loaded } from "../../src/testing/internal/state.js"
import { longer, share } from "../support/extent.js"
import * as InProcessNode from "../support/rqlite/inProcessNode.js"
import { open, passing } from "../support/rqlite/inProcessStore.js"
import type { Fault } from "../support/rqlite/server.js"

const unbounded = { concurrency: "unbounded" } as const

type Store = Context.Tag.Service<typeof ExecutionStore>
type Failure = StoreConflict | StoreError

const requestError = (error: string) => ({ status: 200, body: JSON.stringify({ results: [], error }), genuine: true })

/** What can befall a request of which nobody then knows whether it was applied; the tests of the client have the whole list. */
const losses: ReadonlyArray<readonly [name: string, answer: NonNullable<Fault["answer"]>]> = [
  ["the connection is dropped", "drop"],
  ["half an answer", "half"],
  ["leadership lost", requestError("leadership lost while committing log")],
  ["a proxy's time-out", { status: 504 }]
]

interface Case {
  readonly name: string
  readonly faults: ReadonlyArray<Fault>
}

const execute = (fault: Fault): Fault => ({ path: "/db/execute", ...fault })
const query = (fault: Fault): Fault => ({ path: "/db/query", ...fault })
const applied = (apply: 0 | 1 | 2): string => (apply === 0 ? "not applied" : apply === 1 ? "applied" : "applied twice")

const lost: ReadonlyArray<Case> = losses.flatMap(([name, answer]) =>
  ([0, 1, 2] as const).map((apply) => ({ name: `${name}, ${applied(apply)}`, faults: [execute({ apply, answer })] }))
)

const drop = "drop" as const
const later = { status: 503, body: "leader not found\n", genuine: true } as const

/** Faults after which every write has to end as it ends without any. */
const cases: ReadonlyArray<Case> = [
  ...lost,
  { name: "applied twice, answered by the second time", faults: [execute({ apply: 2 })] },
  { name: "applied late, when the client has given up", faults: [execute({ before: Effect.sleep("15 seconds") })] },
  {
    name: "applied very late, when it was sent again and answered",
    faults: [execute({ before: Effect.sleep("1 minute") })]
  },
  { name: "applied, and never answered", faults: [execute({ after: Effect.never })] },
  {
    name: "lost twice, applied the first time",
    faults: [execute({ answer: drop }), execute({ apply: 0, answer: drop })]
  },
  {
    name: "lost twice, applied the second time",
    faults: [execute({ apply: 0, answer: drop }), execute({ answer: drop })]
  },
  { name: "lost twice, applied each time", faults: [execute({ answer: drop, times: 2 })] },
  { name: "lost five times", faults: [execute({ apply: 0, answer: drop, times: 5 })] },
  { name: "no leader for a while", faults: [execute({ apply: 0, answer: later, times: 4 })] },
  {
    name: "lost, then no leader for a while",
    faults: [execute({ apply: 0, answer: drop }), execute({ apply: 0, answer: later, times: 10 })]
  },
  {
    name: "lost and applied, and then the reads fail too",
    faults: [execute({ answer: drop }), query({ apply: 0, answer: drop, times: 6 })]
  },
  {
    name: "lost and not applied, and then there is no leader to read from",
    faults: [execute({ apply: 0, answer: drop }), query({ apply: 0, answer: later, times: 20 })]
  },
  {
    name: "lost, and the answer to the read comes late",
    faults: [execute({ answer: drop }), query({ after: Effect.sleep("12 seconds") })]
  }
]

interface Method {
  readonly name: string
  /** `first` is what is stored as "a". */
  readonly run: (store: Store, first: Execution) => Effect.Effect<unknown, Failure>
  /** Whether what became of it may stay unknown: an execution that is gone may have been purged after the commit. */
  readonly uncertain?: boolean
  /** Whether it reads before it writes: where that fails it fails, and nothing was sent. */
  readonly reads?: boolean
}

const why = { reason: "attempts", attempts: 20, error: "no answer" } as const

/** What is there before each of the methods: "a" at version 1, which is given, "b" at version 2, and a dead letter. */
const prepare = (store: Store) =>
  Effect.gen(function* () {
    const first = yield* store.commit(order("a"), everything("first"))
    const [seq = 0] = yield* store.enqueue([emit("given up")])
    yield* store.deadLetters.bury({ _tag: "Outbox", seq }, why)
    yield* store.save(yield* store.save(order("b")))
    return first.execution
  })

const methods: ReadonlyArray<Method> = [
  { name: "the first commit of an execution", run: (store) => store.commit(order("new"), everything("e")) },
  {
    name: "a commit that carries everything",
    run: (store, first) =>
      store.commit(
        { ...first, status: "RUNNING", context: { n: 1 } },
        {
          ...everything("e"),
          emits: [emit("e1"), emit("e2", "b"), emit("e3", null)],
          timers: [Commit.scheduleTimer("p", 5), Commit.cancelTimer("first-path")],
          spawns: [spawn("c1"), spawn("c2")],
          ack: { _tag: "Outbox", seq: 1 }
        }
      )
  },
  { name: "a commit that writes nothing beside", run: (store, first) => store.save(first) },
  { name: "a commit that conflicts", run: (store) => store.commit({ ...order("b"), version: 1 }, everything("e")) },
  { name: "a first commit of an id that is taken", run: (store) => store.commit(order("b"), everything("e")) },
  {
    name: "a commit of what is not there",
    run: (store) => store.commit({ ...order("gone"), version: 3 }, everything("e")),
    uncertain: true
  },
  {
    name: "a commit of a version that is not there yet",
    run: (store) => store.commit({ ...order("a"), version: 3 }, everything("e")),
    uncertain: true
  },
  { name: "enqueue", run: (store) => store.enqueue([emit("1"), emit("2", null), emit("3", "b")]) },
  { name: "ackOutbox", run: (store) => store.ackOutbox(1) },
  { name: "ackSpawn", run: (store) => store.ackSpawn(1) },
  {
    name: "deleteTimer",
    run: (store) => store.deleteTimer({ executionId: "a", path: "first-path", fireAt: 1790000060 })
  },
  { name: "deleteTimer of none", run: (store) => store.deleteTimer({ executionId: "a", path: "q", fireAt: 1 }) },
  {
    name: "recordFailure",
    run: (store) =>
      store.deadLetters.recordFailure({ work: { _tag: "Outbox", seq: 1 }, attempts: 1, error: "no", retryAt: 5 })
  },
  { name: "bury", run: (store) => store.deadLetters.bury({ _tag: "Outbox", seq: 1 }, why) },
  {
    name: "bury of a timer",
    run: (store) =>
      store.deadLetters.bury({ _tag: "Timer", executionId: "a", path: "first-path", fireAt: 1790000060 }, why)
  },
  { name: "redrive", run: (store) => store.deadLetters.redrive(1), reads: true },
  { name: "discard", run: (store) => store.deadLetters.discard(1) },
  { name: "appendTrace", run: (store) => store.appendTrace("a", step("e")) },
  { name: "purge", run: (store) => store.purge("a", 1) },
  { name: "purge of another version", run: (store) => store.purge("a", 2) },
  {
    name: "publishDefinition",
    run: (store) =>
      store.publishDefinition({ definitionId: "d", version: 1, digest: "x", source: "s", publishedAt: null }),
    // what is stored, perhaps another's, is read after it
    uncertain: true
  }
]

const tables = [
  ...["executions", "outbox", "processed_events", "timers", "spawns", "trace", "definitions"],
  ...["holdfast_listing", "holdfast_outbox_failures", "holdfast_dead_letters", "sqlite_sequence"]
]

/** What a method gives, and what it leaves on a cluster whose requests these faults befall. */
const outcome = (method: Method, faults: ReadonlyArray<Fault>) =>
  Effect.gen(function* () {
    const node = yield* InProcessNode.make()
    const store = yield* open(node)
    const first = yield* prepare(store)
    yield* node.inject(...faults)
    const { exit } = yield* passing("2 minutes", method.run(store, first))
    // What is on its way still arrives.
    yield* TestClock.adjust("5 minutes")
    const state = yield* Effect.forEach(tables, (table) => node.rows(`SELECT * FROM ${table} ORDER BY 1, 2`))
    return { exit, state }
  }).pipe(Effect.scoped, Effect.provide(Ids.layerSequential()), Effect.provide(TestContext.TestContext))

const isUnknown = (cause: Cause.Cause<Failure>): boolean =>
  Option.exists(Cause.failureOption(cause), (error) => error._tag === "StoreUnavailable" && error.outcome === "unknown")

describe(longer("whatever befalls the request of a write, it is applied once, and said to be what it is"), () => {
  it.effect.each(methods.map((method, index) => ({ ...method, index })))("$name", (method) =>
    Effect.gen(function* () {
      const plain = yield* outcome(method, [])
      const befalling = share(cases, method.index, 12).filter(
        ({ faults }) => method.reads !== true || faults.every(({ path }) => path !== "/db/query")
      )
      const outcomes = yield* Effect.forEach(
        befalling,
        ({ faults, name }) => Effect.map(outcome(method, faults), (outcome) => ({ name, ...outcome })),
        { concurrency: 5 }
      )
      const told = outcomes.map(({ exit, name, state }) => {
        const unknown = method.uncertain === true && Exit.isFailure(exit) && isUnknown(exit.cause)
        return { name, state, exit: unknown ? plain.exit : exit }
      })
      expect(told).toEqual(befalling.map(({ name }) => ({ name, ...plain })))
    })
  )
})

describe("where nothing can be found out", () => {
  const never: ReadonlyArray<readonly [name: string, faults: ReadonlyArray<Fault>]> = [
    [
      "for nothing answers any more",
      [execute({ answer: drop }), { apply: 0, answer: drop, times: Number.POSITIVE_INFINITY }]
    ],
    ["for each sending is lost", [execute({ apply: 0, answer: drop, times: Number.POSITIVE_INFINITY })]],
    [
      "for there is no leader to ask",
      [execute({ answer: drop }), { apply: 0, answer: later, times: Number.POSITIVE_INFINITY }]
    ],
    [
      "for no answer comes in time",
      [execute({ after: Effect.never }), { before: Effect.never, times: Number.POSITIVE_INFINITY }]
    ]
  ]

  const some = ["the first commit of an execution", "enqueue", "ackOutbox", "purge"]

  it.effect.each(never)("a write fails within its budget and says that nobody knows, %s", ([, faults]) =>
    Effect.gen(function* () {
      for (const method of methods.filter(({ name }) => some.includes(name))) {
        const node = yield* InProcessNode.make()
        const store = yield* open(node)
        const first = yield* prepare(store)
        yield* node.inject(...faults)
        const { exit, seconds } = yield* passing("2 minutes", method.run(store, first))
        expect({ name: method.name, exit }).toMatchObject({
          exit: { _tag: "Failure", cause: { error: { _tag: "StoreUnavailable", outcome: "unknown" } } }
        })
        // The request itself, the time to find out, and the request that is on its way when that is over.
        expect(seconds).toBeGreaterThanOrEqual(30)
        expect(seconds).toBeLessThanOrEqual(50)
      }
    }).pipe(Effect.scoped)
  )

  it.scoped("for ever without a leader is no unknown outcome and no conflict: nothing was applied", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const store = yield* open(node)
      yield* node.lead(false)
      const { exit, seconds } = yield* passing("2 minutes", store.commit(order("a"), everything("e")))
      expect(exit).toMatchObject({
        cause: { error: { _tag: "StoreUnavailable", reason: "no-leader", outcome: "not-applied", operation: "commit" } }
      })
      expect(seconds).toBeLessThanOrEqual(12)
      yield* node.lead(true)
      expect(Option.isNone(yield* store.load("a"))).toBe(true)
    })
  )

  it.scoped("the budget is an option", () =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const store = yield* open(node, { resolveTimeout: "3 seconds" })
      yield* node.inject({ apply: 0, answer: drop, times: Number.POSITIVE_INFINITY })
      const { exit, seconds } = yield* passing("2 minutes", store.save(order("a")))
      expect(exit).toMatchObject({ cause: { error: { outcome: "unknown", executionId: "a" } } })
      expect(seconds).toBeGreaterThanOrEqual(3)
      expect(seconds).toBeLessThanOrEqual(13)
    })
  )
})

describe("where others write in the meantime", () => {
  /** Runs an effect before the read that finds out what became of a write. */
  const meanwhile = (node: InProcessNode.InProcessNode, apply: 0 | 1, others: Effect.Effect<unknown, Failure>) =>
    node.inject(execute({ apply, answer: drop }), query({ before: Effect.ignore(others) }))

  const setUp = Effect.gen(function* () {
    const node = yield* InProcessNode.make()
    const store = yield* open(node)
    const other = yield* open(node)
    const execution = yield* prepare(store)
    return { node, store, other, execution }
  })

  /** Advances "a" from its stored version. */
  const advance = (store: Store) =>
    Effect.flatMap(Effect.provideService(loaded("a"), ExecutionStore, store), store.save)

  it.scoped("a commit that was not applied, and lost against another, is a conflict and left nothing", () =>
    Effect.gen(function* () {
      const { execution, node, other, store } = yield* setUp
      yield* meanwhile(node, 0, other.save(execution))
      const { exit } = yield* passing("2 minutes", store.commit(execution, everything("e")))
      expect(exit).toEqual(
        Exit.fail(expect.objectContaining({ _tag: "StoreConflict", expected: 1, found: Option.some(2) }))
      )
      expect(yield* store.isProcessed("a", "e")).toBe(false)
      expect((yield* store.pendingOutbox()).entries.map(({ event }) => event.id)).toEqual(["first-emitted"])
    })
  )

  it.scoped("one that was applied is a success, also when it arrives again after others", () =>
    Effect.gen(function* () {
      const { execution, node, other, store } = yield* setUp
      yield* node.inject(
        execute({ before: Effect.sleep("20 seconds") }),
        // the second sending, and a commit of another after it
        execute({ after: Effect.ignore(advance(other)) })
      )
      const { exit } = yield* passing("2 minutes", store.commit(execution, everything("e")))
      expect(Exit.isSuccess(exit)).toBe(true)
      yield* TestClock.adjust("1 minute")
      expect((yield* Effect.provideService(loaded("a"), ExecutionStore, store)).version).toBe(3)
      expect((yield* store.pendingOutbox()).entries.map(({ event }) => event.id)).toEqual([
        "first-emitted",
        "e-emitted"
      ])
    })
  )

  it.scoped("one that lies under others and consumed an event is unknown, and a reload shows the event", () =>
    Effect.gen(function* () {
      const { execution, node, other, store } = yield* setUp
      yield* meanwhile(node, 1, advance(other))
      const { exit } = yield* passing("2 minutes", store.commit(execution, { processed: "e", emits: [emit("1")] }))
      expect(exit).toMatchObject({ cause: { error: { _tag: "StoreUnavailable", outcome: "unknown" } } })
      expect((yield* store.loadForEvent("a", "e")).processed).toBe(true)
      expect((yield* store.pendingOutbox()).entries).toHaveLength(2)
    })
  )

  it.scoped("one that consumed none and may lie under others is unknown, applied or not", () =>
    Effect.gen(function* () {
      for (const apply of [0, 1] as const) {
        const { execution, node, other, store } = yield* setUp
        const others = Effect.zipRight(advance(other), apply === 0 ? advance(other) : Effect.void)
        yield* meanwhile(node, apply, others)
        const { exit } = yield* passing("2 minutes", store.commit(execution, { emits: [emit("1")] }))
        expect(exit).toMatchObject({ cause: { error: { _tag: "StoreUnavailable", outcome: "unknown" } } })
        expect((yield* store.pendingOutbox()).entries).toHaveLength(1 + apply)
      }
    })
  )

  it.scoped("one of an execution that was purged does not bring it back", () =>
    Effect.gen(function* () {
      for (const [apply, version] of [
        [0, 1],
        [1, 2]
      ] as const) {
        const { execution, node, other, store } = yield* setUp
        yield* meanwhile(node, apply, other.purge("a", version))
        const { exit } = yield* passing("2 minutes", store.commit(execution, everything("e")))
        expect(exit).toMatchObject({ cause: { error: { _tag: "StoreUnavailable", outcome: "unknown" } } })
        expect(Option.isNone(yield* store.load("a"))).toBe(true)
      }
    })
  )

  it.scoped("the seqs of emits are found where some of them are delivered already", () =>
    Effect.gen(function* () {
      const { execution, node, other, store } = yield* setUp
      yield* meanwhile(node, 1, Effect.zipRight(other.ackOutbox(3), other.ackOutbox(5)))
      const { exit } = yield* passing(
        "2 minutes",
        store.commit(execution, { emits: ["1", "2", "3", "4"].map((id) => emit(id)) })
      )
      expect(Exit.map(exit, ({ seqs }) => seqs)).toEqual(Exit.succeed([3, 4, 5, 6]))
    })
  )
})

describe("commits that share a request", () => {
  const ids = Array.from({ length: 20 }, (_, i) => `x${i}`)

  for (const [name, fault] of [
    ["applied", { answer: drop }],
    ["not applied", { apply: 0, answer: drop }],
    ["applied late", { before: Effect.sleep("15 seconds") }]
  ] as const) {
    it.scoped(`each resolve by themselves where its answer is lost: ${name}`, () =>
      Effect.gen(function* () {
        const node = yield* InProcessNode.make()
        const store = yield* open(node)
        yield* prepare(store)
        yield* node.asked
        yield* node.inject(execute(fault))
        const stale = { ...order("b"), version: 1 }
        const { exit } = yield* passing(
          "2 minutes",
          Effect.all(
            [
              Effect.forEach(ids, (id) => store.commit(order(id), everything(id)), unbounded),
              Effect.flip(store.commit(stale, everything("stale"))),
              store.enqueue([emit("enqueued")])
            ],
            unbounded
          )
        )
        yield* TestClock.adjust("1 minute")
        const [committed, conflict, enqueued] = yield* exit
        expect(conflict).toMatchObject({ _tag: "StoreConflict", expected: 1, found: Option.some(2) })
        const { entries } = yield* store.pendingOutbox()
        const bySeq = new Map(entries.map(({ event, seq }) => [seq, event.id]))
        expect(committed.map(({ seqs }) => seqs.map((seq) => bySeq.get(seq)))).toEqual(
          ids.map((id) => [`${id}-emitted`])
        )
        expect(enqueued.map((seq) => bySeq.get(seq))).toEqual(["enqueued"])
        expect(entries).toHaveLength(ids.length + 2)
        // To find out, they share a request again.
        const looks = (yield* node.asked).filter(({ path }) => path === "/db/query")
        expect(looks[0]?.statements.length).toBe(ids.length + 2)
      })
    )
  }
})
