/**
 * Whatever text stands in whatever place of an operation: it is data. It is stored and given back as it is, or refused by a typed error in
 * one printable sentence, and in no case part of an SQL text.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import * as sqliteDriver from "holdfast/internal/sqlite/driver"
import * as MemoryStore from "holdfast/MemoryStore"
import * as SqlDriver from "holdfast/SqlDriver"
import { StoreConflict, StoreCorrupt, StoreRejected, StoreUnavailable } from "holdfast/StoreError"
import { hostile, unprintable } from "../support/hostileText.js"
import * as Temp from "../support/temp.js"

/** What no SQL text has by itself. */
const mark = "zq7zq"

const texts: ReadonlyArray<string> = [
  `${mark}'; DELETE FROM harel_executions; --`,
  `${mark}" OR 1=1 --`,
  `${mark}') ON CONFLICT DO NOTHING; DROP TABLE harel_outbox; /*`,
  `${mark}%_*[a-z]\\`,
  `${mark}?1 :a @b $c {"$.x":[1]}`,
  `${mark}\u0000behind`,
  `${mark}\ud800`,
  `${mark}\u{1f469}\u200d\u{1f680}`,
  `${mark}${hostile}`,
  `${mark}${"y".repeat(10_000)}`,
  "__proto__",
  "constructor",
  "$.x",
  ""
]

const event = (text: string): Event.Event => Event.make({ id: text, kind: text, data: { [text]: text } })

const emit = (text: string): Commit.Emit => ({ targetId: text, event: event(text) })

const run = (text: string): Parameters<ExecutionStore["activities"]["drop"]>[0] => ({
  seq: 1,
  claim: text
})

/** Every operation, with the text in all of its places. Those of the bystander have its id where something must exist to be reached. */
const operations: {
  readonly [path: string]: (store: ExecutionStore, text: string) => Effect.Effect<unknown, unknown>
} = {
  load: (store, text) => store.load(text),
  loadForEvent: (store, text) => store.loadForEvent(text, text),
  loadForEvents: (store, text) => store.loadForEvents([{ id: text, eventId: text }]),
  recall: (store, text) => Effect.sync(() => store.recall(text)),
  commit: (store, text) =>
    store.commit(
      Execution.make({
        id: text,
        definitionId: text,
        definitionFqn: text,
        rootPath: text,
        outcome: text,
        error: text,
        activePath: text,
        history: { [text]: text },
        context: { [text]: text },
        parentId: text,
        childId: text,
        extra: { [`x${text}`]: text }
      }),
      {
        emits: [emit(text)],
        processed: text,
        timers: [Commit.scheduleTimer(text, 1)],
        spawns: [{ childId: `${text}!`, rootPath: text, context: { [text]: text } }],
        activities: [Commit.runActivity({ key: text, name: text, payload: { [text]: text }, limitKey: text })],
        attributes: { [text]: text },
        trace: Commit.traceStep({ eventKind: text, timestamp: 1, fromPath: text, actions: [text] })
      }
    ),
  commitEach: (store, text) => store.commitEach([{ execution: Execution.make({ id: text, definitionId: text }) }]),
  save: (store, text) => store.save(Execution.make({ id: `${text}#`, definitionId: text })),
  isProcessed: (store, text) => store.isProcessed(text, text),
  listExecutions: (store, text) =>
    store.listExecutions({ definitionId: text, idPrefix: text, parentId: text, attributes: { [text]: text } }),
  countExecutions: (store, text) =>
    store.countExecutions({ definitionId: text, idPrefix: text, parentId: text, attributes: { [text]: text } }),
  "listExecutions at a cursor": (store, text) => store.listExecutions({ cursor: text }),
  enqueue: (store, text) => store.enqueue([emit(text), { ...emit(`${text}later`), dueAt: 5 }]),
  pendingOutbox: (store, text) => store.pendingOutbox({ except: [text] }),
  ackOutbox: (store) => store.ackOutbox(987_654),
  pendingSpawns: (store, text) => store.pendingSpawns({ except: [text] }),
  ackSpawn: (store) => store.ackSpawn(987_654),
  dueTimers: (store, text) =>
    store.dueTimers(0, { except: [text], after: { executionId: text, path: text, fireAt: 1 } }),
  deleteTimer: (store, text) => store.deleteTimer({ executionId: text, path: text, fireAt: 2 }),
  unserved: (store, text) => store.unserved({ definitions: [text], activities: [text] }),
  workOf: (store, text) => store.workOf(text),
  verify: (store, text) => store.verify({ cursor: text }),
  appendTrace: (store, text) =>
    store.appendTrace(
      "bystander's trace",
      Commit.traceStep({ eventKind: text, timestamp: 1, contextOut: { [text]: 1 } })
    ),
  readTrace: (store, text) => store.readTrace(text),
  purge: (store, text) => store.purge(text, 12),
  idsWithPrefix: (store, text) => store.idsWithPrefix(text === "" ? mark : text),
  publishDefinition: (store, text) =>
    store.publishDefinition({ definitionId: text, version: 1, digest: text, source: text, publishedAt: 1 }),
  loadDefinition: (store, text) => store.loadDefinition(text),
  "spawns.isParent": (store, text) => store.spawns.isParent(text),
  "spawns.isPending": (store, text) => store.spawns.isPending(text),
  "spawns.drop": (store, text) => store.spawns.drop(text),
  "timers.isArmed": (store, text) => store.timers.isArmed({ executionId: text, path: text, fireAt: 1 }),
  "attributes.of": (store, text) => store.attributes.of(text),
  "attributes.set": (store, text) => store.attributes.set(text, 1, { [text]: text }),
  "deadLetters.recordFailure": (store, text) =>
    store.deadLetters.recordFailure({
      work: { _tag: "Timer", executionId: text, path: text, fireAt: 1 },
      attempts: 1,
      error: text,
      retryAt: 1
    }),
  "deadLetters.bury": (store, text) =>
    store.deadLetters.bury(
      { _tag: "Timer", executionId: text, path: text, fireAt: 1 },
      { reason: "attempts", attempts: 1, error: text },
      { emit: emit(`${text}buried`) }
    ),
  "deadLetters.list": (store, text) => store.deadLetters.list({ executionId: text }),
  "deadLetters.redrive": (store) => store.deadLetters.redrive(987_654),
  "deadLetters.discard": (store) => store.deadLetters.discard(987_654),
  "activities.list": (store) => store.activities.list(),
  "activities.of": (store, text) => store.activities.of(text),
  "activities.waiting": (store, text) => store.activities.waiting(text),
  "activities.claim": (store, text) =>
    store.activities.claim({ name: text, owner: text, limit: 1, concurrency: 1, after: text }),
  "activities.complete": (store, text) => store.activities.complete(run(text), text, event(`${text}done`)),
  "activities.fail": (store, text) => store.activities.fail(run(text), { attempts: 1, error: text, retryAt: 1 }),
  "activities.release": (store, text) => store.activities.release(run(text), 1),
  "activities.drop": (store, text) => store.activities.drop(run(text)),
  "activities.releaseAll": (store, text) => store.activities.releaseAll(text),
  "activities.owned": (store, text) => store.activities.owned(text),
  "activities.cancel": (store, text) => store.activities.cancel(text, text, () => event(`${text}cancelled`)),
  "leases.load": (store, text) => store.leases.load(text),
  "leases.renew": (store, text) =>
    store.leases.renew({
      pool: text,
      holder: text,
      ttl: 1000,
      evict: [{ holder: text, beat: text }],
      release: [{ name: text, fence: 1 }],
      claim: [text]
    }),
  "leases.leave": (store, text) => store.leases.leave(text, text)
}

/** What takes no text from outside. */
const withoutText = ["delayed.release", "ledger.prune", "listen", "listenToOthers"]

const isRecord = (value: unknown): value is { readonly [key: string]: unknown } =>
  typeof value === "object" && value !== null

/** The paths of all functions of a store. */
const functionsOf = (store: ExecutionStore): ReadonlyArray<string> =>
  Object.entries(store).flatMap(([key, value]) => {
    if (typeof value === "function") return [key]
    if (!isRecord(value) || Effect.isEffect(value) || Option.isOption(value)) return []
    return Object.entries(value).flatMap(([name, inner]) => (typeof inner === "function" ? [`${key}.${name}`] : []))
  })

const isTyped = (error: unknown): error is Error =>
  error instanceof StoreRejected ||
  error instanceof StoreConflict ||
  error instanceof StoreCorrupt ||
  error instanceof StoreUnavailable

const bystander = Execution.make({ id: "bystander", definitionId: "d", context: { n: 1 } })

/** All that the store has of the bystander. */
const stateOf = (store: ExecutionStore) =>
  Effect.all([
    store.load("bystander"),
    store.workOf("bystander"),
    store.readTrace("bystander"),
    store.isProcessed("bystander", "seen"),
    store.attributes.of("bystander"),
    store.loadDefinition("d")
  ])

interface Subject {
  readonly store: ExecutionStore
  /** The SQL texts that reached the database. */
  readonly statements: ReadonlySet<string>
}

const memory: Effect.Effect<Subject, unknown, Scope.Scope> = Effect.map(MemoryStore.make(), (store) => ({
  store,
  statements: new Set()
}))

const sqlite: Effect.Effect<Subject, unknown, Scope.Scope> = Effect.gen(function* () {
  const driver = yield* sqliteDriver.make({ filename: yield* Temp.database })
  const statements = new Set<string>()
  const noted = (of: ReadonlyArray<SqlDriver.Statement>) => {
    for (const { sql } of of) statements.add(sql)
  }
  const { transactions } = driver
  const store = yield* SqlDriver.make({
    ...driver,
    transaction: (call, of) => {
      noted(of)
      return driver.transaction(call, of)
    },
    transactions:
      transactions === undefined
        ? undefined
        : (all) => {
            for (const { statements } of all) noted(statements)
            return transactions(all)
          },
    query: (call, statement) => {
      noted([statement])
      return driver.query(call, statement)
    }
  })
  return { store, statements }
})

const backends: ReadonlyArray<readonly [name: string, make: Effect.Effect<Subject, unknown, Scope.Scope>]> = [
  ["memory", memory],
  ["SQLite", sqlite]
]

describe.each(backends)("A hostile text on %s", (_, make) => {
  it.scoped("is data in each place of each operation", () =>
    Effect.gen(function* () {
      const { statements, store } = yield* make
      yield* store.publishDefinition({ definitionId: "d", version: 1, digest: "x", source: "{}", publishedAt: 1 })
      yield* store.commit(bystander, {
        emits: [{ targetId: "bystander", event: Event.make({ id: "e", kind: "k" }) }],
        processed: "seen",
        timers: [Commit.scheduleTimer("t", 7)],
        activities: [Commit.runActivity({ key: "k", name: "n" })],
        attributes: { a: "b" },
        trace: Commit.traceStep({ eventKind: "k", timestamp: 1 })
      })
      const before = yield* stateOf(store)
      for (const [name, operation] of Object.entries(operations)) {
        for (const text of texts) {
          const exit = yield* Effect.exit(Effect.suspend(() => operation(store, text)))
          const what = `${name} with ${JSON.stringify(text.slice(0, 40))}`
          if (Exit.isFailure(exit)) {
            const error = Option.getOrElse(Cause.failureOption(exit.cause), () => Cause.pretty(exit.cause))
            assert.isTrue(isTyped(error), `${what}: ${error}`)
            if (isTyped(error)) assert.deepStrictEqual(unprintable(error.message), [], what)
          }
        }
      }
      assert.deepStrictEqual(yield* stateOf(store), before)
      for (const sql of statements) assert.notInclude(sql, mark)
      if (statements.size > 0) assert.isAtLeast(statements.size, 60)
    })
  )

  it.scoped("comes back as it was stored", () =>
    Effect.gen(function* () {
      const { store } = yield* make
      let stored = 0
      for (const [i, text] of texts.entries()) {
        const id = `${i}`
        const execution = Execution.make({ id, definitionId: "d", activePath: text, context: { text, [text]: [text] } })
        const exit = yield* Effect.exit(
          store.commit(execution, { emits: [{ targetId: id, event: Event.make({ id, kind: "k", data: { text } }) }] })
        )
        if (Exit.isFailure(exit)) continue
        stored++
        const loaded = yield* Effect.flatMap(store.load(id), (found) => found)
        assert.deepStrictEqual([loaded.activePath, loaded.context], [text, { text, [text]: [text] }])
        const { events } = yield* store.workOf(id)
        assert.deepStrictEqual(
          events.map(({ event }) => event.data),
          [{ text }]
        )
      }
      // All but half of a character, which no database can hold.
      assert.strictEqual(stored, texts.length - 1)
    })
  )

  it.scoped("has a place in this test for each operation that there is", () =>
    Effect.gen(function* () {
      const { store } = yield* make
      assert.deepStrictEqual(
        functionsOf(store).filter((path) => !(path in operations) && !withoutText.includes(path)),
        []
      )
    })
  )
})
