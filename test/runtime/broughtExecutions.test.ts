import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import type * as Processor from "holdfast/Processor"
import * as SqlDriver from "holdfast/SqlDriver"
import { StoreRejected } from "holdfast/StoreError"
import * as drivers from "../support/drivers.js"
import * as Support from "../support/workers.js"

const { driven, event, eventually, execution, load, note, recorder, seen } = Support

const ids = Array.from({ length: 40 }, (_, i) => `brought-${i}`)
const each = <A>(value: A): Array<A> => ids.map(() => value)
const call = { operation: "test" }

const loads = new Set(["load", "loadForEvent", "loadForEvents"])

/** What a request asked for: a page is of how many rows, and brought how many executions. */
const describedAs = (operation: string, rows: ReadonlyArray<ReadonlyArray<unknown>>): string | undefined => {
  if (operation === "pendingOutbox" && rows.length > 0) {
    return `page of ${rows.length} with ${rows.filter(([, , , data]) => typeof data === "string").length}`
  }
  return loads.has(operation) ? operation : undefined
}

/**
 * The store of a process on a server, and what requests it makes for events. `others` is the store of another process, `driver` its
 * database; `between` runs when the next page has been read, before the process gets it.
 */
const open = ([, make]: (typeof drivers.servers)[number], options?: SqlDriver.Options) =>
  Effect.gen(function* () {
    const { driver, received } = yield* make
    const requests: Array<string> = []
    const hooks: { between: Effect.Effect<unknown, unknown>; refused: boolean } = {
      between: Effect.void,
      refused: false
    }
    const others = yield* SqlDriver.make(driver)
    const { transactions } = driver
    const store = yield* SqlDriver.make(
      {
        ...driver,
        query: (call, statement) =>
          Effect.gen(function* () {
            if (hooks.refused && statement.sql.includes("RECURSIVE")) {
              requests.push("refused page")
              return yield* new StoreRejected({ ...call, reason: "sql", detail: "no text" })
            }
            const rows = yield* driver.query(call, statement)
            const described = describedAs(call.operation, rows)
            if (described !== undefined) requests.push(described)
            if (described?.startsWith("page") === true) {
              const { between } = hooks
              hooks.between = Effect.void
              yield* Effect.orDie(between)
            }
            return rows
          }),
        transactions:
          transactions &&
          ((given) => {
            requests.push(`${given.length} commits`)
            return transactions(given)
          })
      },
      options
    )
    return { driver, hooks, others, received, requests, store }
  })

const fill = (store: ExecutionStore.ExecutionStore, context: { readonly [key: string]: string } = {}) =>
  store.commitEach(ids.map((id) => ({ execution: execution(id, { context }) })))

const send = (store: ExecutionStore.ExecutionStore, eventId: string, targets = ids) =>
  store.enqueue(targets.map((targetId) => ({ targetId, event: event(eventId) })))

const runtimeOn = (store: ExecutionStore.ExecutionStore, transition: Processor.Transition = recorder) =>
  Effect.provideService(
    ExecutionRuntime.make({
      concurrency: ids.length,
      definitions: { recorder: transition },
      pollInterval: "1 second",
      maxAttempts: 1
    }),
    ExecutionStore.ExecutionStore,
    store
  )

const allSeen = (store: ExecutionStore.ExecutionStore, of = ids) =>
  Effect.forEach(of, (id) => Effect.map(load(store, id), seen), { concurrency: "unbounded" })

const consumed = (store: ExecutionStore.ExecutionStore, ...expected: ReadonlyArray<string>) =>
  driven(eventually(allSeen(store), each(expected)))

for (const server of drivers.servers) {
  describe(`A page of events on ${server[0]}`, () => {
    it.scoped("brings their executions: a round of it is two requests", () =>
      Effect.gen(function* () {
        const { others, received, requests, store } = yield* open(server)
        yield* fill(others)
        yield* send(others, "e0")
        const before = yield* received
        yield* runtimeOn(store)
        yield* consumed(others, "e0")
        assert.deepStrictEqual(requests, ["page of 40 with 40", "40 commits"])
        // All others look for work of other kinds.
        const bodies = (yield* received).slice(before.length).filter((body) => body.includes("brought-"))
        assert.lengthOf(
          bodies.filter((body) => body.includes("harel_outbox")),
          1
        )
      })
    )

    it.scoped("does not bring those that the process has written last", () =>
      Effect.gen(function* () {
        const { others, requests, store } = yield* open(server)
        yield* fill(others)
        yield* send(others, "e0")
        yield* runtimeOn(store)
        yield* consumed(others, "e0")
        requests.length = 0
        yield* send(others, "e1")
        yield* consumed(others, "e0", "e1")
        assert.deepStrictEqual(requests, ["page of 40 with 0", "40 commits"])
      })
    )

    it.scoped("is asked for without an id while nothing new comes, and then it is two requests as ever", () =>
      Effect.gen(function* () {
        const { others, received, requests, store } = yield* open(server)
        yield* fill(others)
        yield* send(others, "e0")
        yield* runtimeOn(store)
        yield* consumed(others, "e0")
        yield* driven(TestClock.adjust("2 seconds"))
        const before = yield* received
        yield* driven(TestClock.adjust("10 seconds"))
        const idle = (yield* received).slice(before.length)
        assert.isAtLeast(idle.filter((body) => body.includes("RECURSIVE")).length, 3)
        assert.lengthOf(
          idle.filter((body) => body.includes("brought-")),
          0
        )
        requests.length = 0
        yield* send(others, "e1")
        yield* consumed(others, "e0", "e1")
        assert.deepStrictEqual(requests, ["page of 40 with 40", "40 commits"])
        requests.length = 0
        yield* send(others, "e2")
        yield* consumed(others, "e0", "e1", "e2")
        assert.deepStrictEqual(requests, ["page of 40 with 0", "40 commits"])
      })
    )

    it.scoped(
      "is a guess: what another process has written since is read again, and each event takes effect once",
      () =>
        Effect.gen(function* () {
          const { hooks, others, requests, store } = yield* open(server)
          yield* fill(others)
          yield* send(others, "e0")
          const advanced = ids.slice(0, 10)
          hooks.between = Effect.forEach(advanced, (id) =>
            Effect.flatMap(load(others, id), (found) => others.save({ ...found, outcome: "another's" }))
          )
          yield* runtimeOn(store)
          yield* consumed(others, "e0")
          for (const id of advanced) assert.strictEqual((yield* load(others, id)).outcome, "another's")
          // It may look for more meanwhile, and find those again.
          const [page, ...later] = requests
          assert.deepStrictEqual(
            [page, ...later.filter((request) => !request.startsWith("page"))],
            ["page of 40 with 40", "40 commits", "loadForEvents", "10 commits"]
          )
          for (const id of ids) assert.strictEqual((yield* load(others, id)).processedEvents, 1)
        })
    )

    it.scoped("runs no effect of a transition for what another process has consumed since", () =>
      Effect.gen(function* () {
        const { hooks, others, requests, store } = yield* open(server)
        yield* fill(others)
        const seqs = yield* send(others, "e0")
        const taken = ids.slice(0, 10)
        hooks.between = Effect.forEach(taken, (id, i) =>
          Effect.flatMap(load(others, id), (found) =>
            others.commit(note(found, event("e0")), {
              processed: "e0",
              ack: { _tag: "Outbox", seq: seqs[i] ?? -1 }
            })
          )
        )
        const ran: Array<string> = []
        yield* runtimeOn(store, (given, happened) =>
          Effect.sync(() => {
            ran.push(given.id)
            return { execution: note(given, happened) }
          })
        )
        yield* consumed(others, "e0")
        assert.deepStrictEqual(ran, ids.slice(10))
        assert.deepStrictEqual(requests.slice(0, 2), ["page of 40 with 40", "loadForEvents"])
      })
    )

    it.scoped("brings none whose event is in the ledger, or has others of its target before it", () =>
      Effect.gen(function* () {
        const { others, requests, store } = yield* open(server)
        yield* fill(others)
        const [twice = ""] = ids
        yield* others.commit({ ...execution(twice), version: 1 }, { processed: "e0" })
        yield* send(others, "e0")
        yield* send(others, "e1")
        const page = yield* store.pendingOutbox({ executions: true, limit: 60 })
        assert.lengthOf(page.entries, 60)
        const rest = yield* store.pendingOutbox({ executions: true, after: page.entries.at(-1)?.seq ?? 0 })
        assert.lengthOf(rest.entries, 20)
        assert.deepStrictEqual(requests, ["page of 61 with 39", "page of 20 with 0"])
      })
    )

    it.scoped("stops bringing where they are too large altogether", () =>
      Effect.gen(function* () {
        const { others, requests, store } = yield* open(server, { executionCache: { maxBytes: 16 * 5000 } })
        yield* fill(others, { text: "x".repeat(1000) })
        yield* others.save({ ...execution(ids[3] ?? "", { context: { text: "x".repeat(10_000) } }), version: 1 })
        yield* send(others, "e0")
        yield* runtimeOn(store)
        yield* consumed(others, "e0")
        assert.deepStrictEqual(requests, ["page of 40 with 3", "loadForEvents", "40 commits"])
      })
    )

    it.scoped("is not hurt by an execution that does not decode, nor one that another program has written", () =>
      Effect.gen(function* () {
        const { driver, others, requests, store } = yield* open(server)
        yield* fill(others)
        const [nonsense = "", cut = "", foreign = ""] = ids
        const update = (id: string, sql: string) =>
          driver.transaction(call, [{ sql: `UPDATE harel_executions SET data = ${sql} WHERE id = ?`, params: [id] }])
        yield* update(nonsense, `'nonsense'`)
        yield* update(cut, `'{,' || substr(data, -60)`)
        yield* update(foreign, `json_remove(data, '$.commit_token')`)
        yield* send(others, "e0")
        yield* runtimeOn(store)
        yield* driven(
          eventually(
            allSeen(others, ids.slice(2)),
            ids.slice(2).map(() => ["e0"])
          )
        )
        assert.deepStrictEqual(requests.slice(0, 3), ["page of 40 with 40", "loadForEvents", "38 commits"])
        yield* driven(
          eventually(
            Effect.map(others.deadLetters.list(), ({ entries }) =>
              entries.map((letter) => (letter._tag === "Outbox" ? letter.executionId : undefined)).toSorted()
            ),
            [nonsense, cut].toSorted()
          )
        )
      })
    )

    it.scoped("comes without them where the database does not give it with them", () =>
      Effect.gen(function* () {
        const { hooks, others, requests, store } = yield* open(server)
        yield* fill(others)
        yield* send(others, "e0")
        hooks.refused = true
        yield* runtimeOn(store)
        yield* consumed(others, "e0")
        assert.include(requests, "refused page")
        assert.deepStrictEqual(
          requests.filter((request) => request !== "refused page"),
          ["page of 40 with 0", "loadForEvents", "40 commits"]
        )
      })
    )

    it.scoped("brings none where nothing is to be remembered", () =>
      Effect.gen(function* () {
        const { others, requests, store } = yield* open(server, { executionCache: false })
        yield* fill(others)
        yield* send(others, "e0")
        yield* runtimeOn(store)
        yield* consumed(others, "e0")
        assert.deepStrictEqual(requests, ["page of 40 with 0", "loadForEvents", "40 commits"])
      })
    )
  })
}
