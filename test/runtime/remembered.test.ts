import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as Metrics from "holdfast/Metrics"
import type * as Processor from "holdfast/Processor"
import * as SqliteStore from "holdfast/SqliteStore"
import { counted, isolated } from "../support/metrics.js"
import * as Temp from "../support/temp.js"
import * as Support from "../support/workers.js"

const { driven, event, eventually, execution, load, note, pendingIds, recorder, seen } = Support

type Store = ExecutionStore.ExecutionStore

const ids = Array.from({ length: 12 }, (_, i) => `remembered-${i}`)
const foreign = ids.slice(0, 5)

/** The store of a process on a file, which remembers what it wrote, and that of another process. */
const both = Effect.gen(function* () {
  const filename = yield* Temp.database
  const store = yield* SqliteStore.make({ filename })
  const others = yield* SqliteStore.make({ filename })
  yield* store.commitEach(ids.map((id) => ({ execution: execution(id) })))
  return { store, others }
})

/** Another process writes some of the executions. */
const advance = (others: Store) =>
  Effect.forEach(foreign, (id) =>
    Effect.flatMap(load(others, id), (found) => others.save({ ...found, outcome: "another's" }))
  )

const send = (store: Store, targets = ids) =>
  store.enqueue(targets.map((targetId) => ({ targetId, event: event("e") })))

/** A transition whose calls are counted, and the effects that it gives, which do something before there is a step. */
const counting = () => {
  const calls = new Map<string, number>()
  const effects = new Map<string, number>()
  const more = (counts: Map<string, number>, id: string) => counts.set(id, (counts.get(id) ?? 0) + 1)
  const pure: Processor.Transition = (given, happened) => {
    more(calls, given.id)
    return recorder(given, happened)
  }
  const effectful: Processor.Transition = (given, happened) => {
    more(calls, given.id)
    return Effect.sync(() => {
      more(effects, given.id)
      return { execution: note(given, happened) }
    })
  }
  const of = (counts: Map<string, number>) => ids.map((id) => counts.get(id) ?? 0)
  return { pure, effectful, called: () => of(calls), ran: () => of(effects) }
}

const run = (store: Store, transition: Processor.Transition) =>
  Effect.provideService(
    ExecutionRuntime.make({ concurrency: ids.length, definitions: { recorder: transition } }),
    ExecutionStore.ExecutionStore,
    store
  )

const consumedOnce = (store: Store) =>
  Effect.gen(function* () {
    yield* driven(
      eventually(
        Effect.forEach(ids, (id) => Effect.map(load(store, id), seen)),
        ids.map(() => ["e"])
      )
    )
    const all = yield* Effect.forEach(ids, (id) => load(store, id))
    assert.deepStrictEqual(
      all.map(({ outcome, processedEvents, version }) => [outcome, processedEvents, version]),
      ids.map((id) => (foreign.includes(id) ? ["another's", 1, 3] : [null, 1, 2]))
    )
    assert.deepStrictEqual(yield* pendingIds(store), [])
  })

const outcomes = Effect.all({
  hit: counted(Metrics.executionCache, { outcome: "hit" }),
  stale: counted(Metrics.executionCache, { outcome: "stale" }),
  miss: counted(Metrics.executionCache, { outcome: "miss" })
})

const each = (ofForeign: number, ofOthers: number) => ids.map((id) => (foreign.includes(id) ? ofForeign : ofOthers))

describe("Events to executions that are remembered", () => {
  it.scoped(
    "take effect once where others have written since: these are read again, and their transitions run again",
    () =>
      Effect.gen(function* () {
        const { others, store } = yield* both
        yield* advance(others)
        const { called, pure } = counting()
        yield* send(store)
        yield* run(store, pure)
        yield* consumedOnce(store)
        assert.deepStrictEqual(called(), each(2, 1))
        assert.deepStrictEqual(yield* outcomes, { hit: 7, stale: 5, miss: 0 })
      }).pipe(isolated)
  )

  it.scoped(
    "are read first where a transition gives an effect, which runs once, also where others have written since",
    () =>
      Effect.gen(function* () {
        const { others, store } = yield* both
        yield* advance(others)
        const { called, effectful, ran } = counting()
        yield* send(store)
        yield* run(store, effectful)
        yield* consumedOnce(store)
        assert.deepStrictEqual(called(), each(2, 1))
        assert.deepStrictEqual(ran(), each(1, 1))
        assert.deepStrictEqual(yield* outcomes, { hit: 0, stale: 0, miss: 12 })
      }).pipe(isolated)
  )

  for (const kind of ["effectful", "pure"] as const) {
    it.scoped(`that were consumed before are skipped: ${kind} transitions have no effect`, () =>
      Effect.gen(function* () {
        const { store } = yield* both
        for (const id of ids) {
          yield* store.commit(note(yield* load(store, id), event("e")), { processed: "e" })
          assert.strictEqual(store.recall(id)._tag, "Some")
        }
        const transitions = counting()
        yield* send(store)
        const runtime = yield* run(store, transitions[kind])
        yield* driven(runtime.awaitIdle)
        assert.deepStrictEqual(transitions.ran(), each(0, 0))
        const all = yield* Effect.forEach(ids, (id) => load(store, id))
        assert.deepStrictEqual(
          all.map((found) => [seen(found), found.version]),
          ids.map(() => [["e"], 2])
        )
        assert.strictEqual(yield* counted(Metrics.events, { definition: "recorder", outcome: "processed" }), 12)
        assert.deepStrictEqual(
          yield* outcomes,
          kind === "pure" ? { hit: 0, stale: 12, miss: 0 } : { hit: 0, stale: 0, miss: 12 }
        )
      }).pipe(isolated)
    )
  }
})
