import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import type * as Commit from "holdfast/Commit"
import * as Control from "holdfast/Control"
import * as Event from "holdfast/Event"
import type * as Execution from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import { StoreUnavailable } from "holdfast/StoreError"
import * as Support from "../support/workers.js"

type Store = ExecutionStore.ExecutionStore

const controlOn = (store: Store) => Effect.provideService(Control.make(), ExecutionStore.ExecutionStore, store)

const save = (
  store: Store,
  id: string,
  options: { readonly [K in keyof Execution.Execution]?: Execution.Execution[K] },
  attributes: Commit.Commit["attributes"] = { customer: "c-1" }
) => store.commit(Support.execution(id, options), { attributes })

const statuses = (store: Store) =>
  Effect.map(store.listExecutions({ limit: 1000 }), ({ items }) =>
    Object.fromEntries(items.map(({ id, status }) => [id, status]))
  )

const all = <E>(pages: Stream.Stream<Control.BulkPage, E>) =>
  Effect.map(Stream.runCollect(pages), (chunk) => [...chunk])

const ids = (pages: ReadonlyArray<Control.BulkPage>) => pages.map(({ selected }) => selected.map(({ id }) => id))

const customer = { attributes: { customer: "c-1" } }

describe("Control.many", () => {
  it.effect("changes what the filter selects, in pages, and nothing else", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const { many } = yield* controlOn(store)
      for (const id of ["a", "b", "c", "d", "e"]) yield* save(store, id, { status: "RUNNING" })
      yield* save(store, "f", { status: "RUNNING" }, { customer: "c-2" })
      yield* save(store, "g", { status: "DONE" })
      const pages = yield* all(many.suspend(customer, { limit: 2, reason: { text: "a dispute" } }))
      assert.deepStrictEqual(ids(pages), [["a", "b"], ["c", "d"], ["e"]])
      assert.deepStrictEqual(pages[0]?.changed, [
        { executionId: "a", changed: ["a"] },
        { executionId: "b", changed: ["b"] }
      ])
      assert.deepInclude((yield* store.readTrace("c")).entries[0]?.eventData, { reason: { text: "a dispute" } })
      const now = yield* statuses(store)
      assert.deepStrictEqual([now["a"], now["e"], now["f"], now["g"]], ["SUSPENDED", "SUSPENDED", "RUNNING", "DONE"])
      const nothing = { selected: 0, changed: 0, unchanged: 0, failed: 0, corrupt: 0 }
      assert.deepStrictEqual(yield* Control.total(many.suspend(customer)), nothing)
      assert.deepStrictEqual(yield* Control.total(many.resume(customer)), { ...nothing, selected: 5, changed: 5 })
      assert.deepStrictEqual(yield* Control.total(many.terminate({ idPrefix: "b" })), {
        ...nothing,
        selected: 1,
        changed: 1
      })
      assert.deepStrictEqual(yield* Control.total(many.purge({ definitionId: "recorder" })), {
        ...nothing,
        selected: 2,
        changed: 2
      })
      assert.deepStrictEqual(Object.keys(yield* statuses(store)), ["a", "c", "d", "e", "f"])
    })
  )

  it.effect("changes nothing in a dry run", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const { many } = yield* controlOn(store)
      for (const id of ["a", "b", "c"]) yield* save(store, id, { status: "FAILED", error: "it broke" })
      const pages = yield* all(many.redrive(customer, { limit: 2, dryRun: true }))
      assert.deepStrictEqual(ids(pages), [["a", "b"], ["c"]])
      assert.deepStrictEqual(
        pages.flatMap(({ changed, unchanged }) => [...changed, ...unchanged]),
        []
      )
      assert.strictEqual((yield* statuses(store))["a"], "FAILED")
    })
  )

  it.effect("goes on behind the last page that was done, after the store was down", () =>
    Effect.gen(function* () {
      const inner = yield* MemoryStore.make()
      let commits = 0
      const down = new StoreUnavailable({
        operation: "commit",
        reason: "connection",
        outcome: "not-applied",
        detail: "gone"
      })
      const store: Store = {
        ...inner,
        commit: (execution, commit) => (++commits > 3 ? Effect.fail(down) : inner.commit(execution, commit))
      }
      for (const id of ["a", "b", "c", "d", "e"]) yield* save(inner, id, { status: "RUNNING" })
      const failing = yield* controlOn(store)
      let cursor: string | undefined
      const first = failing.many.cancel(customer, { limit: 2 }).pipe(
        Stream.runForEach((page) => Effect.sync(() => (cursor = Option.getOrUndefined(page.nextCursor)))),
        Effect.flip
      )
      assert.strictEqual((yield* first)._tag, "StoreUnavailable")
      const working = yield* controlOn(inner)
      const rest = yield* all(working.many.cancel(customer, { limit: 2, cursor }))
      // "c" was cancelled before the store went down, in a page that was not done.
      assert.deepStrictEqual(
        ids(rest)
          .flat()
          .filter((id) => id !== "c"),
        ["d", "e"]
      )
      assert.deepStrictEqual(new Set(Object.values(yield* statuses(inner))), new Set(["CANCELLING"]))
      const traces = yield* Effect.forEach(["a", "b", "c", "d", "e"], inner.readTrace)
      assert.deepStrictEqual(
        traces.map(({ entries }) => entries.length),
        [1, 1, 1, 1, 1]
      )
    })
  )

  it.effect("leaves a child to its parent where that is selected too, wherever the two are", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const { many } = yield* controlOn(store)
      yield* save(store, "m", { status: "RUNNING", activePath: "Waiting" })
      for (const id of ["a", "n", "z"]) yield* save(store, id, { status: "RUNNING", parentId: "m", childId: id })
      yield* save(store, "other", { status: "RUNNING" }, { customer: "c-2" })
      yield* save(store, "y", { status: "RUNNING", parentId: "other", childId: "y" })
      for (const limit of [1, 2, 100]) {
        const pages = yield* all(many.suspend(customer, { limit, dryRun: true }))
        assert.deepStrictEqual(ids(pages).flat(), ["m", "y"], `pages of ${limit}`)
      }
      // "z" comes in a later page than its parent, which is being cancelled by then.
      const pages = yield* all(many.cancel(customer, { limit: 1, children: "cancel" }))
      assert.deepStrictEqual(ids(pages).flat(), ["m", "y"])
      const failed = yield* all(many.redrive({ status: ["FAILED"] }))
      assert.deepStrictEqual(ids(failed).flat(), [])
    })
  )

  it.effect("redrives children by themselves, and purges roots alone", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const { many } = yield* controlOn(store)
      yield* save(store, "p", { status: "FAILED" })
      yield* save(store, "p:1", { status: "FAILED", parentId: "p", childId: "p:1" })
      assert.deepStrictEqual(ids(yield* all(many.redrive(customer, { dryRun: true }))), [["p", "p:1"]])
      assert.deepStrictEqual(ids(yield* all(many.purge(customer, { dryRun: true }))), [[]])
      assert.deepStrictEqual(ids(yield* all(many.purge(customer, { dryRun: true, failed: true }))), [["p"]])
      assert.deepStrictEqual((yield* all(many.purge(customer, { failed: true })))[0]?.changed, [
        { executionId: "p", changed: ["p:1", "p"] }
      ])
    })
  )

  it.effect("tells which could not be changed, and goes on", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const { many } = yield* controlOn(store)
      yield* save(store, "a", { status: "DONE" })
      yield* save(store, "a:1", { status: "RUNNING", parentId: "a", childId: "a:1" })
      yield* save(store, "b", { status: "DONE" })
      const [page] = yield* all(many.purge(customer))
      assert.deepStrictEqual(
        page?.failed.map(({ error, executionId }) => [executionId, error._tag]),
        [["a", "ChildrenLive"]]
      )
      assert.deepStrictEqual(page?.changed, [{ executionId: "b", changed: ["b"] }])
    })
  )

  it.effect(
    "refuses statuses and options that a command has not, and a filter with a part that there is none of or with an undefined value",
    () =>
      Effect.gen(function* () {
        const store = yield* MemoryStore.make()
        const { many } = yield* controlOn(store)
        yield* save(store, "a", { status: "RUNNING" })
        const undefinedValue: object = { customer: undefined }
        const misspelled: object = { definitonId: "order" }
        const undefinedKey: object = { limit: undefined }
        const wrong = [
          [many.terminate({ ...misspelled }), "definitonId"],
          [many.purge({ idPrefix: "a", ...misspelled }, { dryRun: true }), "definitonId"],
          [many.deadLetters.discard({ ...misspelled }), "definitonId"],
          [many.cancel({ status: ["DONE"] }), "status"],
          [many.redrive({ status: ["FAILED", "RUNNING"] }), "status"],
          [many.terminate({ attributes: { ...undefinedValue } }), "attributes.customer"],
          [many.terminate({}, { limit: 0 }), "limit"],
          [many.terminate({}, { limit: 1001 }), "limit"],
          [many.terminate({}, { cursor: "garbage" }), "cursor"]
        ] as const
        for (const [pages, path] of wrong) {
          const error = yield* Effect.flip(Control.total(pages))
          assert.deepInclude(error, { _tag: "StoreRejected", path })
        }
        assert.deepStrictEqual(yield* statuses(store), { a: "RUNNING" })
        assert.strictEqual((yield* Control.total(many.terminate({ ...undefinedKey }))).changed, 1)
      })
  )
})

const givenUp = (store: Store, id: string, targetId: string) =>
  Effect.gen(function* () {
    const [seq = 0] = yield* store.enqueue([{ targetId, event: Event.make({ id, kind: "Paid" }) }])
    yield* store.deadLetters.bury({ _tag: "Outbox", seq }, { reason: "attempts", attempts: 3, error: "no answer" })
  })

describe("Control.many.deadLetters", () => {
  const letterIds = (pages: ReadonlyArray<Control.DeadLetterBulkPage>) =>
    pages.map(({ selected }) => selected.map(({ executionId }) => executionId))

  const collect = <E>(pages: Stream.Stream<Control.DeadLetterBulkPage, E>) =>
    Effect.map(Stream.runCollect(pages), (chunk) => [...chunk])

  const filled = Effect.gen(function* () {
    const store = yield* MemoryStore.make()
    const { many } = yield* controlOn(store)
    for (const target of ["a", "b", "c", "d", "e"]) yield* givenUp(store, `shop:${target}`, target)
    yield* save(store, "a", { definitionId: "refund" })
    return { store, letters: many.deadLetters }
  })

  const nothing = { selected: 0, changed: 0, unchanged: 0, failed: 0, corrupt: 0 }

  it.effect("redrives and discards what the filter selects, in pages, and counts", () =>
    Effect.gen(function* () {
      const { letters, store } = yield* filled
      const dry = yield* collect(letters.redrive({ executionIdPrefix: "" }, { limit: 2, dryRun: true }))
      assert.deepStrictEqual(letterIds(dry), [["a", "b"], ["c", "d"], ["e"]])
      assert.lengthOf((yield* store.deadLetters.list()).entries, 5)
      const one = { ...nothing, selected: 1, changed: 1 }
      assert.deepStrictEqual(yield* Control.total(letters.redrive({ definitionId: "refund" })), one)
      const { entries } = yield* store.pendingOutbox()
      assert.deepStrictEqual(
        entries.map(({ targetId }) => targetId),
        ["a"]
      )
      assert.deepStrictEqual(yield* Control.total(letters.discard({ executionId: "b" })), one)
      assert.deepStrictEqual(yield* Control.total(letters.discard({ reason: ["corrupt"] })), nothing)
      const rest = yield* Control.total(letters.redrive({}, { limit: 1 }))
      assert.deepStrictEqual(rest, { ...nothing, selected: 3, changed: 3 })
      assert.deepStrictEqual((yield* store.deadLetters.list()).entries, [])
    })
  )

  it.effect("goes on behind a page, and says of which nothing came", () =>
    Effect.gen(function* () {
      const { letters, store } = yield* filled
      const [first] = yield* collect(Stream.take(letters.discard({}, { limit: 2 }), 1))
      assert.deepStrictEqual(first?.changed, [1, 2])
      const cursor = Option.getOrUndefined(first?.nextCursor ?? Option.none())
      // Somebody else is quicker.
      const racing: Store = {
        ...store,
        deadLetters: {
          ...store.deadLetters,
          list: (query) => Effect.tap(store.deadLetters.list(query), () => store.deadLetters.discard(4))
        }
      }
      const { many } = yield* controlOn(racing)
      const [rest] = yield* collect(many.deadLetters.discard({}, { cursor }))
      assert.deepStrictEqual([rest?.changed, rest?.unchanged], [[3, 5], [4]])
    })
  )

  it.effect("ends, whatever of it is given up again meanwhile", () =>
    Effect.gen(function* () {
      const { letters, store } = yield* filled
      yield* TestClock.adjust("1 second")
      let rounds = 0
      const giveUpAgain = Effect.gen(function* () {
        yield* TestClock.adjust("1 second")
        for (const { seq } of (yield* store.pendingOutbox()).entries) {
          const why = { reason: "attempts", attempts: 3, error: "no answer" } as const
          yield* store.deadLetters.bury({ _tag: "Outbox", seq }, why)
        }
        assert.isAtMost(++rounds, 5)
      })
      const pages = letters.redrive({}, { limit: 1 }).pipe(Stream.tap(() => giveUpAgain))
      assert.deepStrictEqual(yield* Control.total(pages), { ...nothing, selected: 5, changed: 5 })
      assert.lengthOf((yield* store.deadLetters.list()).entries, 5)
    })
  )

  it.effect("refuses options and filters that are none, before anything is changed", () =>
    Effect.gen(function* () {
      const { letters, store } = yield* filled
      const wrong: ReadonlyArray<
        readonly [ExecutionStore.DeadLetterFilter, Control.DeadLetterBulkOptions, path: string]
      > = [
        [{}, { limit: 0 }, "limit"],
        [{}, { cursor: -1 }, "cursor"],
        [{ diedBefore: Number.NaN }, {}, "diedBefore"],
        [{ executionId: "" }, {}, "executionId"]
      ]
      for (const [filter, options, path] of wrong) {
        const error = yield* Effect.flip(Control.total(letters.discard(filter, options)))
        assert.deepInclude(error, { _tag: "StoreRejected", reason: "invalid-input", path })
      }
      assert.lengthOf((yield* store.deadLetters.list()).entries, 5)
    })
  )
})
