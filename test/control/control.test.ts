import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import type * as Commit from "holdfast/Commit"
import * as Control from "holdfast/Control"
import { ChildrenLive, ControlConflict, HasParent, NoSuchExecution, WrongStatus } from "holdfast/ControlError"
import type * as Execution from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import * as SqliteStore from "holdfast/SqliteStore"
import * as Temp from "../support/temp.js"
import * as Support from "../support/workers.js"

const { assertError, event, execution, load } = Support

type Store = ExecutionStore.ExecutionStore

const backends: ReadonlyArray<readonly [name: string, open: Effect.Effect<Store, unknown, Scope.Scope>]> = [
  ["MemoryStore", MemoryStore.make()],
  ["SqliteStore", Effect.flatMap(Temp.database, (filename) => SqliteStore.make({ filename }))]
]

const controlOn = (store: Store, options?: Control.Options) =>
  Effect.provideService(Control.make(options), ExecutionStore.ExecutionStore, store)

const child = (
  id: string,
  parentId: string,
  options: { readonly [K in keyof Execution.Execution]?: Execution.Execution[K] } = {}
) => execution(id, { ...options, parentId, childId: id })

/** A root with children in every status, and grandchildren below two of them. */
const family = (store: Store, root: { readonly [K in keyof Execution.Execution]?: Execution.Execution[K] } = {}) =>
  Effect.forEach(
    [
      execution("p", { status: "RUNNING", activePath: "Waiting", ...root }),
      child("running", "p", { status: "RUNNING" }),
      child("pending", "p"),
      child("done", "p", { status: "DONE" }),
      child("cancelled", "p", { status: "CANCELLED" }),
      child("failed", "p", { status: "FAILED", error: "it broke" }),
      child("cancelling", "p", { status: "CANCELLING" }),
      child("suspended", "p", { status: "SUSPENDED" }),
      child("below running", "running", { status: "RUNNING" }),
      child("below done", "done", { status: "RUNNING" }),
      execution("stranger", { status: "RUNNING" })
    ],
    store.save,
    { discard: true }
  )

const statuses = (store: Store) =>
  Effect.map(store.listExecutions({ limit: 1000 }), ({ items }) =>
    Object.fromEntries(items.map(({ id, status }) => [id, status]))
  )

const untouched: { readonly [id: string]: Execution.Status } = {
  p: "RUNNING",
  running: "RUNNING",
  pending: "PENDING",
  done: "DONE",
  cancelled: "CANCELLED",
  failed: "FAILED",
  cancelling: "CANCELLING",
  suspended: "SUSPENDED",
  "below running": "RUNNING",
  "below done": "RUNNING",
  stranger: "RUNNING"
}

const pending = (store: Store) =>
  Effect.map(store.pendingOutbox({ limit: 1000 }), ({ entries }) =>
    entries.map(({ event, targetId }) => ({ targetId, id: event.id, kind: event.kind, data: event.data }))
  )

const spawn = (childId: string): Commit.Spawn => ({ childId, rootPath: "", context: {} })

const sorted = (ids: ReadonlyArray<string>) => ids.toSorted()

/** The commits of the store lose against another writer, the first `times` of them. */
const contested = (store: Store, times: number): Store => {
  let left = times
  return {
    ...store,
    commit: (execution, commit) =>
      Effect.suspend(() => {
        if (left-- <= 0) return store.commit(execution, commit)
        return Effect.flatMap(load(store, execution.id), (stored) =>
          store.save({ ...stored, context: { raced: true } })
        ).pipe(
          Effect.catchAll(() => Effect.void),
          Effect.zipRight(store.commit(execution, commit))
        )
      })
  }
}

for (const [name, open] of backends) {
  describe(`Control on ${name}`, () => {
    it.scoped("suspends an execution and all below it that would run, and resumes them as they were", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* family(store)
        const control = yield* controlOn(store)
        const suspended = yield* control.suspend("p")
        const changed = ["below done", "below running", "p", "pending", "running"]
        assert.deepStrictEqual(sorted(suspended.changed), changed)
        assert.deepStrictEqual(suspended.corrupt, [])
        assert.deepStrictEqual(yield* statuses(store), {
          ...untouched,
          p: "SUSPENDED",
          running: "SUSPENDED",
          pending: "SUSPENDED",
          "below running": "SUSPENDED",
          "below done": "SUSPENDED"
        })
        const resumed = yield* control.resume("p")
        assert.deepStrictEqual(sorted(resumed.changed), [...changed, "suspended"].toSorted())
        // what was suspended by itself before is resumed with the tree
        assert.deepStrictEqual(yield* statuses(store), { ...untouched, suspended: "RUNNING" })
        for (const id of changed) assert.deepStrictEqual((yield* load(store, id)).extra, {})
      })
    )

    it.scoped("leaves a running execution as another reader of the format suspends it", () =>
      Effect.gen(function* () {
        const store = yield* open
        const before = yield* store.save(execution("a", { status: "RUNNING", context: { n: 1 }, extra: { mine: 1 } }))
        const control = yield* controlOn(store)
        yield* TestClock.setTime(5000)
        yield* control.suspend("a")
        assert.deepStrictEqual(yield* load(store, "a"), { ...before, status: "SUSPENDED", version: 2, updatedAt: 5 })
        yield* control.resume("a")
        assert.deepStrictEqual(yield* load(store, "a"), { ...before, version: 3, updatedAt: 5 })
      })
    )

    it.scoped("keeps the reason of a command in the trace of every execution that it changes", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* family(store)
        const control = yield* controlOn(store)
        const reason = { text: "maintenance", ticket: 12 }
        const reasons = (id: string) =>
          Effect.map(store.readTrace(id), ({ entries }) =>
            entries.map(({ eventData: { command, reason } }) => [command, reason])
          )
        yield* control.suspend("p", { reason })
        yield* control.resume("p")
        yield* control.cancel("p", { reason })
        yield* control.redrive("failed", { reason }).pipe(Effect.ignore)
        assert.deepStrictEqual(yield* reasons("p"), [
          ["suspend", reason],
          ["resume", undefined],
          ["cancel", reason]
        ])
        assert.deepStrictEqual((yield* reasons("below running")).slice(0, 1), [["suspend", reason]])
        assert.deepStrictEqual((yield* reasons("running")).at(-1), ["cancel", reason])
        yield* store.save(execution("f", { status: "FAILED" }))
        yield* control.redrive("f", { reason })
        yield* control.terminate("f", { reason })
        assert.deepStrictEqual(yield* reasons("f"), [
          ["redrive", reason],
          ["terminate", reason]
        ])
      })
    )

    it.scoped("goes on with a tree that was suspended in part", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* family(store, { status: "SUSPENDED" })
        const control = yield* controlOn(store)
        assert.deepStrictEqual(sorted((yield* control.suspend("p")).changed), [
          "below done",
          "below running",
          "pending",
          "running"
        ])
        assert.deepStrictEqual((yield* control.suspend("p")).changed, [])
      })
    )

    it.scoped("resumes the root last, so that a resumption that was cut off can be repeated", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* family(store)
        const control = yield* controlOn(store)
        yield* control.suspend("p")
        const order: Array<string> = []
        yield* store.listen(({ committed }) => {
          if (Option.isSome(committed)) order.push(committed.value.execution.id)
        })
        yield* control.resume("p")
        assert.strictEqual(order.at(-1), "p")
        assert.isBelow(order.indexOf("below running"), order.indexOf("running"))
      })
    )

    it.scoped("asks an execution to end: a Cancel event in the commit, and the children end at once", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* family(store)
        const { seqs } = yield* store.commit(yield* load(store, "running"), {
          spawns: [spawn("running:1")]
        })
        assert.deepStrictEqual(seqs, [])
        const control = yield* controlOn(store)
        const { changed } = yield* control.cancel("p", { reason: { by: "operator" } })
        assert.strictEqual(changed[0], "p")
        assert.deepStrictEqual(yield* statuses(store), {
          ...untouched,
          p: "CANCELLING",
          running: "CANCELLED",
          pending: "CANCELLED",
          failed: "CANCELLED",
          cancelling: "CANCELLED",
          suspended: "CANCELLED",
          "below running": "CANCELLED",
          "below done": "CANCELLED"
        })
        // the parent of those below is being cancelled itself: it is told nothing
        assert.deepStrictEqual(yield* pending(store), [
          { targetId: "p", id: "cancel:p:1", kind: "Cancel", data: { by: "operator" } }
        ])
        assert.deepStrictEqual((yield* store.pendingSpawns()).entries, [])
        assert.deepStrictEqual((yield* control.cancel("p")).changed, [])
        assert.strictEqual((yield* pending(store)).length, 1)
      })
    )

    it.scoped("asks the children too, where it is told to", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* family(store)
        const control = yield* controlOn(store)
        yield* control.cancel("p", { children: "cancel" })
        assert.deepStrictEqual(yield* statuses(store), {
          ...untouched,
          p: "CANCELLING",
          running: "CANCELLING",
          suspended: "CANCELLED",
          pending: "CANCELLED",
          failed: "CANCELLED",
          "below running": "CANCELLING",
          "below done": "CANCELLING"
        })
        assert.deepStrictEqual(
          (yield* pending(store)).map(({ id }) => id).toSorted(),
          ["below done", "below running", "p", "running"].map((id) => `cancel:${id}:1`)
        )
      })
    )

    it.scoped("leaves children alone that the clean-up creates", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* store.commit(execution("p", { status: "RUNNING" }), { spawns: [spawn("old")] })
        // the clean-up runs as soon as the Cancel event is there
        const hasty: Store = {
          ...store,
          commit: (execution, commit) =>
            Effect.tap(store.commit(execution, commit), ({ execution: after }) =>
              after.status === "CANCELLING"
                ? Effect.zipRight(
                    store.save(child("undo", "p", { status: "RUNNING" })),
                    store.commit({ ...after, status: "CANCELLED" }, { spawns: [spawn("undo:2")] })
                  )
                : Effect.void
            )
        }
        const control = yield* controlOn(hasty)
        yield* control.cancel("p")
        assert.deepStrictEqual((yield* control.cancel("p")).changed, [])
        assert.deepStrictEqual(yield* statuses(store), { p: "CANCELLED", undo: "RUNNING" })
        assert.deepStrictEqual(
          (yield* store.pendingSpawns()).entries.map(({ childId }) => childId),
          ["undo:2"]
        )
      })
    )

    for (const status of ["PENDING", "FAILED"] as const) {
      it.scoped(`ends an execution that is ${status} without asking it, and tells its parent`, () =>
        Effect.gen(function* () {
          const store = yield* open
          yield* store.save(execution("p", { status: "RUNNING" }))
          yield* store.commit(child("c", "p", { status, error: status === "FAILED" ? "it broke" : null }), {
            spawns: [spawn("c:1")]
          })
          const control = yield* controlOn(store)
          yield* TestClock.setTime(7000)
          yield* control.cancel("c")
          const stored = yield* load(store, "c")
          assert.strictEqual(stored.status, "CANCELLED")
          assert.strictEqual(stored.error, status === "FAILED" ? "it broke" : null)
          assert.strictEqual(stored.finishedAt, 7)
          assert.deepStrictEqual(yield* pending(store), [
            { targetId: "p", id: "finished:c:0:1", kind: "Finished", data: { child_id: "c", outcome: "cancelled" } }
          ])
          assert.deepStrictEqual((yield* store.pendingSpawns()).entries, [])
        })
      )
    }

    it.scoped("terminates an execution and all below it, with what was still to be created", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* family(store)
        yield* store.commit(yield* load(store, "p"), { spawns: [spawn("p:1")] })
        yield* store.commit(yield* load(store, "done"), { spawns: [spawn("done:1")] })
        yield* store.commit(yield* load(store, "stranger"), { spawns: [spawn("stranger:1")] })
        const control = yield* controlOn(store)
        yield* control.terminate("p")
        assert.deepStrictEqual(yield* statuses(store), {
          ...Object.fromEntries(Object.keys(untouched).map((id) => [id, "CANCELLED"])),
          done: "DONE",
          stranger: "RUNNING"
        })
        assert.deepStrictEqual(
          (yield* store.pendingSpawns()).entries.map(({ childId }) => childId),
          ["stranger:1"]
        )
        assert.deepStrictEqual(yield* pending(store), [])
        assert.strictEqual((yield* load(store, "failed")).error, "it broke")
        assert.deepStrictEqual((yield* control.terminate("p")).changed, [])
      })
    )

    it.scoped("terminates children that are created while it is on its way", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* store.save(execution("p", { status: "RUNNING" }))
        yield* store.save(child("z", "p", { status: "RUNNING" }))
        const late: Store = {
          ...store,
          commit: (execution, commit) =>
            Effect.zipLeft(
              store.commit(execution, commit),
              // it comes before the place where the listing is
              execution.id === "z" ? store.save(child("a", "p")) : Effect.void
            )
        }
        const control = yield* controlOn(late)
        assert.deepStrictEqual(sorted((yield* control.terminate("p")).changed), ["a", "p", "z"])
        assert.deepStrictEqual(yield* statuses(store), { p: "CANCELLED", z: "CANCELLED", a: "CANCELLED" })
      })
    )

    it.scoped("tells the parent of a terminated child, unless it is finished or gone", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* store.save(execution("p", { status: "RUNNING" }))
        yield* store.save(execution("over", { status: "DONE" }))
        yield* store.save(child("c", "p", { status: "RUNNING" }))
        yield* store.save(child("d", "over", { status: "RUNNING" }))
        yield* store.save(child("e", "nobody", { status: "RUNNING" }))
        const control = yield* controlOn(store)
        yield* Effect.forEach(["c", "d", "e"], (id) => control.terminate(id))
        assert.deepStrictEqual(
          (yield* pending(store)).map(({ id, targetId }) => [targetId, id]),
          [["p", "finished:c:0:1"]]
        )
      })
    )

    it.scoped("tells the parent again of a child that was purged and created again", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* store.save(execution("p", { status: "RUNNING" }))
        const control = yield* controlOn(store)
        for (const seconds of [1, 2]) {
          yield* TestClock.setTime(seconds * 1000)
          yield* store.save(child("c", "p", { status: "RUNNING" }))
          yield* control.terminate("c")
          yield* store.purge("c", 2)
        }
        assert.deepStrictEqual(
          (yield* pending(store)).map(({ id }) => id),
          ["finished:c:1:1", "finished:c:2:1"]
        )
      })
    )

    it.scoped("gives a failed execution another chance", () =>
      Effect.gen(function* () {
        const store = yield* open
        const failed = yield* store.save(
          execution("a", { status: "FAILED", error: "it broke", activePath: "Paying", history: { "": "Cart" } })
        )
        const control = yield* controlOn(store)
        const { changed } = yield* control.redrive("a", { event: event("again") })
        assert.deepStrictEqual(changed, ["a"])
        assert.deepStrictEqual(yield* load(store, "a"), { ...failed, version: 2, status: "RUNNING", error: null })
        assert.deepStrictEqual(
          (yield* pending(store)).map(({ id, targetId }) => [targetId, id]),
          [["a", "again"]]
        )
      })
    )

    it.scoped("lets a failed execution go on elsewhere, but not past children that live", () =>
      Effect.gen(function* () {
        const store = yield* open
        const children = {
          known: {
            rootPath: "",
            finished: false,
            outcome: null,
            result: {},
            submachine: false,
            key: "",
            extra: {}
          }
        }
        const failed = yield* store.save(
          execution("a", { status: "FAILED", activePath: "Paying", history: { "": "Cart" }, children })
        )
        const stored = yield* store.save(child("stored", "a", { status: "SUSPENDED" }))
        yield* store.save(child("over", "a", { status: "DONE" }))
        const control = yield* controlOn(store)
        assertError(
          yield* Effect.flip(control.redrive("a", { activePath: "Cart" })),
          new ChildrenLive({ command: "redrive", executionId: "a", live: ["known", "stored"] })
        )
        assert.strictEqual((yield* load(store, "a")).version, 1)
        yield* store.save({ ...stored, status: "DONE" })
        yield* store.save({ ...failed, children: {} })
        yield* control.redrive("a", { activePath: "Cart" })
        const redriven = yield* load(store, "a")
        assert.deepStrictEqual([redriven.status, redriven.activePath, redriven.history], ["RUNNING", "Cart", {}])
      })
    )

    it.scoped("purges a tree, children first", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* store.commit(execution("p", { status: "DONE" }), {
          processed: "e",
          emits: [{ targetId: "p", event: event("x") }]
        })
        yield* store.save(child("a", "p", { status: "CANCELLED" }))
        yield* store.save(child("b", "a", { status: "DONE" }))
        yield* store.save(execution("stranger", { status: "DONE" }))
        const control = yield* controlOn(store)
        assert.deepStrictEqual((yield* control.purge("p")).changed, ["b", "a", "p"])
        assert.deepStrictEqual(yield* statuses(store), { stranger: "DONE" })
        assert.isFalse(yield* store.isProcessed("p", "e"))
        assert.deepStrictEqual(yield* pending(store), [])
        assertError(yield* Effect.flip(control.purge("p")), new NoSuchExecution({ command: "purge", executionId: "p" }))
      })
    )

    it.scoped("purges nothing of a tree with something in it that lives, or is to be created", () =>
      Effect.gen(function* () {
        const store = yield* open
        const p = yield* store.save(execution("p", { status: "DONE" }))
        const a = yield* store.save(child("a", "p", { status: "DONE" }))
        const b = yield* store.save(child("b", "a", { status: "FAILED" }))
        const control = yield* controlOn(store)
        const refused = (live: ReadonlyArray<string>, options?: Control.PurgeOptions) =>
          Effect.map(Effect.flip(control.purge("p", options)), (error) =>
            assertError(error, new ChildrenLive({ command: "purge", executionId: "p", live }))
          )
        yield* refused(["b"])
        const { seqs } = yield* store.commit(a, { spawns: [spawn("a:1")] })
        assert.deepStrictEqual(seqs, [])
        yield* refused(["a:1"], { failed: true })
        const [entry] = (yield* store.pendingSpawns()).entries
        yield* store.ackSpawn(entry?.seq ?? -1)
        yield* store.save(child("a:1", "a", { status: "SUSPENDED" }))
        yield* refused(["a:1"], { failed: true })
        yield* control.terminate("a:1")
        assert.deepStrictEqual(sorted(Object.keys(yield* statuses(store))), sorted(["p", "a", "b", "a:1"]))
        yield* control.purge("p", { failed: true })
        assert.deepStrictEqual(yield* statuses(store), {})
        assert.deepStrictEqual([p.version, b.version], [1, 1])
      })
    )

    it.scoped("purges a child alone only where its parent is gone", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* store.save(execution("p", { status: "DONE" }))
        yield* store.save(child("c", "p", { status: "DONE" }))
        const control = yield* controlOn(store)
        assertError(
          yield* Effect.flip(control.purge("c")),
          new HasParent({ command: "purge", executionId: "c", parentId: "p" })
        )
        yield* store.purge("p", 1)
        assert.deepStrictEqual((yield* control.purge("c")).changed, ["c"])
      })
    )

    it.scoped("looks at a tree again where a member moves on while it is purged", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* store.save(execution("p", { status: "DONE" }))
        yield* store.save(child("c", "p", { status: "DONE" }))
        let moved = false
        const moving: Store = {
          ...store,
          purge: (id, version) =>
            Effect.suspend(() => {
              if (moved) return store.purge(id, version)
              moved = true
              return Effect.orDie(
                Effect.flatMap(load(store, "c"), (c) => store.save({ ...c, status: "RUNNING" }))
              ).pipe(Effect.zipRight(store.purge(id, version)))
            })
        }
        const control = yield* controlOn(moving)
        assertError(
          yield* Support.driven(Effect.flip(control.purge("p"))),
          new ChildrenLive({ command: "purge", executionId: "p", live: ["c"] })
        )
        assert.deepStrictEqual(yield* statuses(store), { p: "DONE", c: "RUNNING" })
      })
    )

    const wrong: ReadonlyArray<
      readonly [
        command: "suspend" | "resume" | "cancel" | "terminate" | "redrive" | "purge",
        refused: ReadonlyArray<Execution.Status>,
        expected: ReadonlyArray<Execution.Status>
      ]
    > = [
      ["suspend", ["DONE", "CANCELLED", "FAILED", "CANCELLING"], ["PENDING", "RUNNING"]],
      ["resume", ["PENDING", "RUNNING", "DONE", "CANCELLED", "FAILED", "CANCELLING"], ["SUSPENDED"]],
      ["cancel", ["DONE"], ["PENDING", "RUNNING", "SUSPENDED", "CANCELLING", "FAILED"]],
      ["terminate", ["DONE"], ["PENDING", "RUNNING", "SUSPENDED", "CANCELLING", "FAILED"]],
      ["redrive", ["PENDING", "RUNNING", "DONE", "CANCELLED", "SUSPENDED", "CANCELLING"], ["FAILED"]],
      ["purge", ["PENDING", "RUNNING", "FAILED", "SUSPENDED", "CANCELLING"], ["DONE", "CANCELLED"]]
    ]
    for (const [command, refused, expected] of wrong) {
      it.scoped(`refuses to ${command} what is in another status, and writes nothing`, () =>
        Effect.gen(function* () {
          const store = yield* open
          const control = yield* controlOn(store)
          for (const status of refused) {
            const id = `it is ${status}`
            yield* store.save(execution(id, { status, activePath: "Here" }))
            yield* store.save(child(`below ${id}`, id, { status: "SUSPENDED" }))
            assertError(
              yield* Effect.flip(control[command](id)),
              new WrongStatus({ command, executionId: id, status, expected })
            )
          }
          assertError(
            yield* Effect.flip(control[command]("nobody")),
            new NoSuchExecution({ command, executionId: "nobody" })
          )
          for (const { version } of (yield* store.listExecutions()).items) assert.strictEqual(version, 1)
          assert.deepStrictEqual(yield* pending(store), [])
        })
      )
    }

    it.scoped("records each command in the trace, and tells who listens", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* store.save(execution("a", { status: "RUNNING", activePath: "Here", context: { n: 1 } }))
        const causes: Array<Commit.Origin | undefined> = []
        yield* store.listen(({ origin }) => causes.push(origin))
        const control = yield* controlOn(store)
        yield* TestClock.setTime(3000)
        yield* control.suspend("a")
        yield* control.resume("a")
        yield* control.cancel("a", { reason: { why: "late" } })
        const entries = (yield* store.readTrace("a")).entries
        assert.deepStrictEqual(
          entries.map(({ eventData, eventKind }) => [eventKind, eventData]),
          [
            ["Control", { command: "suspend", from_status: "RUNNING", to_status: "SUSPENDED" }],
            ["Control", { command: "resume", from_status: "SUSPENDED", to_status: "RUNNING" }],
            ["Control", { command: "cancel", from_status: "RUNNING", to_status: "CANCELLING", reason: { why: "late" } }]
          ]
        )
        for (const entry of entries) {
          assert.deepStrictEqual(
            [entry.timestamp, entry.fromPath, entry.toPath, entry.contextOut],
            [3, "Here", "Here", { n: 1 }]
          )
        }
        assert.deepStrictEqual(
          causes.map((cause) => [cause?.command, cause?.status]),
          [
            ["suspend", "RUNNING"],
            ["resume", "SUSPENDED"],
            ["cancel", "RUNNING"]
          ]
        )
      })
    )

    it.scoped("runs a command again where another commit comes first", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* store.save(execution("a", { status: "RUNNING" }))
        const control = yield* controlOn(contested(store, 3))
        yield* Support.driven(control.suspend("a"))
        const stored = yield* load(store, "a")
        assert.deepStrictEqual([stored.status, stored.version, stored.context], ["SUSPENDED", 5, { raced: true }])
      })
    )

    it.scoped("fails where others come first each time", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* store.save(execution("a", { status: "RUNNING" }))
        const control = yield* controlOn(contested(store, 100), { conflictRetry: Schedule.recurs(4) })
        assertError(
          yield* Effect.flip(control.suspend("a")),
          new ControlConflict({ command: "suspend", executionId: "a", attempts: 5 })
        )
        assert.strictEqual((yield* load(store, "a")).status, "RUNNING")
      })
    )

    it.scoped("ends in a circle of parents too", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* store.save(child("a", "b", { status: "RUNNING" }))
        yield* store.save(child("b", "a", { status: "RUNNING" }))
        const control = yield* controlOn(store)
        assert.deepStrictEqual(sorted((yield* control.terminate("a")).changed), ["a", "b"])
      })
    )

    it.scoped("serves an operator's process without workers, as a layer", () =>
      Effect.gen(function* () {
        const store = yield* open
        yield* store.save(execution("a", { status: "RUNNING" }))
        const suspend = Effect.flatMap(Control.Control, (control) => control.suspend("a"))
        yield* suspend.pipe(
          Effect.provide(Control.layer()),
          Effect.provideService(ExecutionStore.ExecutionStore, store)
        )
        assert.deepStrictEqual(yield* statuses(store), { a: "SUSPENDED" })
      })
    )
  })
}
