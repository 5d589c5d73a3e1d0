/**
 * What a store remembers of the executions that it wrote, and commits to these, for which nothing is read.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Commit } from "../../Commit.js"
import type { Execution } from "../../Execution.js"
import { ExecutionStore, type Recalled } from "../../ExecutionStore.js"
import * as Lease from "../../Lease.js"
import { refuses } from "../internal/assertions.js"
import { awkwardTexts, emit, everything, order } from "../internal/samples.js"
import { outbox, visible } from "../internal/state.js"
import type { Subject } from "../Subject.js"

const store = ExecutionStore

const recall = (id: string) => Effect.map(store, (store) => store.recall(id))

const state = visible(["a", "b"], ["e", "e-emitted", "other"])

/** An execution that was just written with an event to itself, as it is remembered; a store may remember nothing. */
const remembered = (
  id: string,
  test: (recalled: Recalled, commit: Commit) => Effect.Effect<void, unknown, ExecutionStore>
) =>
  Effect.gen(function* () {
    const { seqs } = yield* (yield* store).commit(order(id, { status: "RUNNING", context: { id } }), {
      emits: [emit("e", id)]
    })
    const recalled = yield* recall(id)
    if (Option.isNone(recalled)) return
    const { token } = recalled.value
    yield* test(recalled.value, { ...everything("e"), ack: { _tag: "Outbox", seq: seqs[0] ?? -1 }, remembered: token })
  })

/** Checks that a commit is a conflict and writes nothing, after something was done that it did not expect. */
const isStale = (done: (execution: Execution, commit: Commit) => Effect.Effect<unknown, unknown, ExecutionStore>) =>
  remembered("a", ({ execution }, commit) =>
    Effect.gen(function* () {
      yield* done(execution, commit)
      const before = yield* state
      const error = yield* Effect.flip((yield* store).commit(execution, commit))
      expect(error).toMatchObject({ _tag: "StoreConflict", executionId: "a", expected: execution.version })
      expect(yield* state).toEqual(before)
    })
  )

const recalls = ({ test }: Subject): void => {
  test("what is recalled is what a load gives, and nobody changes it by changing what he was given", () =>
    Effect.gen(function* () {
      for (const text of awkwardTexts) {
        yield* (yield* store).commit(
          order(text, { status: "RUNNING", context: { text, list: [text], big: 1n << 70n } })
        )
        const first = yield* recall(text)
        if (Option.isNone(first)) return
        expect(Option.some(first.value.execution)).toEqual(yield* (yield* store).load(text))
        Reflect.set(first.value.execution.context, "text", "changed")
        expect(Option.map(yield* recall(text), ({ execution }) => execution)).toEqual(yield* (yield* store).load(text))
      }
    }))

  test("the same of one that took an event from the outbox, in every part", () =>
    Effect.gen(function* () {
      const self = yield* store
      for (const text of awkwardTexts) {
        const key = JSON.parse('{"__proto__":{"own":1}}')
        const context = {
          text,
          parts: [{ text, none: undefined }, [null, true, 0.1]],
          key,
          [text]: { 2: text, 1: {} }
        }
        const committed = yield* self.commit(order(text, { status: "RUNNING", context }), {
          emits: [emit("e", text)]
        })
        const [seq = -1] = committed.seqs
        const { execution } = yield* self.commit(committed.execution, {
          processed: "e",
          ack: { _tag: "Outbox", seq }
        })
        const loaded = yield* self.load(text)
        const changeIn = (execution: Execution): void => {
          Reflect.set(execution.context, "text", "changed")
          for (const part of Object.values(execution.context)) {
            if (typeof part !== "object" || part === null) continue
            for (const inner of Object.values(part))
              if (typeof inner === "object" && inner !== null) Reflect.set(inner, 0, "changed")
            Reflect.set(part, "text", "changed")
          }
        }
        changeIn(execution)
        changeIn({ ...execution, context })
        const first = self.recall(text)
        if (Option.isNone(first)) return
        expect(Option.some(first.value.execution)).toEqual(loaded)
        changeIn(first.value.execution)
        expect(Option.map(self.recall(text), ({ execution }) => execution)).toEqual(loaded)
      }
    }))

  test("nothing is recalled of what is unknown, has ended, was purged, or lost a commit", () =>
    remembered("a", ({ execution }) =>
      Effect.gen(function* () {
        const self = yield* store
        expect(yield* recall("b")).toEqual(Option.none())
        yield* Effect.flip(self.commit({ ...execution, version: 7 }))
        expect(yield* recall("a")).toEqual(Option.none())
        const saved = yield* self.save(execution)
        expect(Option.isSome(yield* recall("a"))).toBe(true)
        const done = yield* self.save({ ...saved, status: "DONE" })
        expect(yield* recall("a")).toEqual(Option.none())
        yield* self.save(order("b"))
        yield* self.purge("b", 1)
        yield* self.purge("a", done.version)
        expect(yield* recall("b")).toEqual(Option.none())
      })
    ))

  test("nothing is recalled that was written under an earlier lease", () =>
    Effect.gen(function* () {
      const self = yield* store
      yield* self.leases.renew({ pool: "p", holder: "h", ttl: 10, claim: ["1"] })
      const { leases } = yield* self.leases.load("p")
      const token = { pool: "p", name: "1", holder: "h", fence: leases[0]?.fence ?? -1 }
      const [seq = -1] = yield* self.enqueue([emit("e", "a")])
      yield* Lease.fencedBy(self.commit(order("a"), { ack: { _tag: "Outbox", seq } }), token)
      if (Option.isNone(self.recall("a"))) return
      expect(Option.isSome(self.recall("a", token))).toBe(true)
      expect(self.recall("a", { ...token, fence: token.fence + 1 })).toEqual(Option.none())
    }))
}

/** Makes a store forget an execution: it lost a commit of it. */
const forget = (execution: Execution) =>
  Effect.flatMap(store, (store) => Effect.flip(store.commit({ ...execution, version: 7 })))

const pages = ({ test }: Subject): void => {
  test("what a page of the outbox brings is what a load gives, and the page is the same without it", () =>
    Effect.gen(function* () {
      const self = yield* store
      for (const text of awkwardTexts) {
        yield* self.save(order(text, { status: "RUNNING", context: { text, list: [text], big: 1n << 70n } }))
        yield* forget(order(text))
        yield* self.enqueue([emit("e", text), emit("other", text)])
      }
      for (const query of [{}, { except: ["another"] }, { limit: 3 }, { after: 2, limit: 2 }]) {
        const page = yield* self.pendingOutbox(query)
        expect(yield* self.pendingOutbox({ ...query, executions: true })).toEqual(page)
      }
      for (const text of awkwardTexts) {
        const recalled = yield* recall(text)
        if (Option.isSome(recalled)) expect(Option.some(recalled.value.execution)).toEqual(yield* self.load(text))
      }
    }))

  test("a commit to what a page has brought is one to what was read, and a conflict where another came first", () =>
    Effect.gen(function* () {
      const self = yield* store
      for (const id of ["a", "b"]) {
        yield* self.save(order(id, { status: "RUNNING" }))
        yield* forget(order(id))
      }
      const seqs = yield* self.enqueue([emit("e", "a"), emit("e", "b")])
      yield* self.pendingOutbox({ executions: true })
      const [a, b] = [self.recall("a"), self.recall("b")]
      if (Option.isNone(a) || Option.isNone(b)) return
      const commit = ({ token }: Recalled, seq = -1): Commit => ({
        ...everything("e"),
        ack: { _tag: "Outbox", seq },
        remembered: token
      })
      yield* self.commit(a.value.execution, commit(a.value, seqs[0]))
      expect(yield* self.isProcessed("a", "e")).toBe(true)
      yield* self.save(b.value.execution)
      const before = yield* state
      const error = yield* Effect.flip(self.commit(b.value.execution, commit(b.value, seqs[1])))
      expect(error).toMatchObject({ _tag: "StoreConflict", executionId: "b" })
      expect(yield* state).toEqual(before)
    }))

  test("a page brings nothing of what has ended, and nothing older than what was written since", () =>
    Effect.gen(function* () {
      const self = yield* store
      yield* self.save(order("a", { status: "DONE" }))
      const saved = yield* self.save(order("b", { status: "RUNNING" }))
      yield* self.enqueue([emit("e", "a"), emit("e", "b")])
      const after = yield* self.save({ ...saved, outcome: "on" })
      yield* self.pendingOutbox({ executions: true })
      expect(self.recall("a")).toEqual(Option.none())
      const b = self.recall("b")
      if (Option.isSome(b)) expect(b.value.execution).toEqual(after)
    }))
}

const commits = ({ test }: Subject): void => {
  test("a commit to what is remembered writes what one does to what was read", () =>
    Effect.gen(function* () {
      const self = yield* store
      yield* remembered("a", ({ execution }, commit) =>
        Effect.gen(function* () {
          const { execution: after, seqs } = yield* self.commit({ ...execution, outcome: "on" }, commit)
          expect(Option.some(after)).toEqual(yield* self.load("a"))
          expect((yield* outbox()).map(({ event, seq }) => [event.id, seq])).toEqual([["e-emitted", seqs[0]]])
          const written = yield* state
          const { seqs: again } = yield* self.commit(order("b", { status: "RUNNING" }), { emits: [emit("e", "b")] })
          const read = { ...commit, ack: { _tag: "Outbox", seq: again[0] ?? -1 }, remembered: undefined } as const
          yield* self.commit({ ...order("b"), version: 1 }, read)
          expect(yield* self.isProcessed("a", "e")).toBe(true)
          expect(yield* self.readTrace("a")).toEqual(yield* self.readTrace("b"))
          expect(yield* self.attributes.of("a")).toEqual(yield* self.attributes.of("b"))
          expect(written).not.toEqual(yield* state)
        })
      )
    }))

  test("it is a conflict where another commit came first", () =>
    isStale((execution) => Effect.flatMap(store, (store) => store.save(execution))))

  test("it is a conflict where the event is in the ledger", () =>
    Effect.gen(function* () {
      const self = yield* store
      // The same event was sent twice, and is consumed once.
      yield* isStale((execution) =>
        Effect.flatMap(self.enqueue([emit("e", "a")]), ([seq = -1]) =>
          self.commit(execution, { processed: "e", ack: { _tag: "Outbox", seq } })
        )
      )
    }))

  test("it is a conflict where the event alone is in the ledger, at the version that is remembered", () =>
    Effect.gen(function* () {
      const self = yield* store
      const [seq = -1] = yield* self.enqueue([emit("e", "a")])
      yield* self.commit(order("a", { status: "RUNNING" }), { processed: "e" })
      const recalled = self.recall("a")
      if (Option.isNone(recalled)) return
      const { execution, token } = recalled.value
      const commit: Commit = { ...everything("e"), ack: { _tag: "Outbox", seq }, remembered: token }
      const before = yield* state
      expect(yield* Effect.flip(self.commit(execution, commit))).toMatchObject({ _tag: "StoreConflict" })
      expect(yield* state).toEqual(before)
      expect(yield* self.load("a")).toEqual(Option.some(execution))
    }))

  test("it is a conflict where the event's row is gone", () =>
    isStale((_, { ack }) =>
      Effect.flatMap(store, (store) => (ack?._tag === "Outbox" ? store.ackOutbox(ack.seq) : Effect.void))
    ))

  test("it is a conflict where the execution was purged, and made anew up to the same version", () =>
    remembered("a", ({ execution }, commit) =>
      Effect.gen(function* () {
        const self = yield* store
        yield* self.purge("a", execution.version)
        const anew = order("a", { status: "RUNNING", context: { another: true } })
        const { execution: stored, seqs } = yield* self.commit(anew, { emits: [emit("e", "a")] })
        const ack = { _tag: "Outbox", seq: seqs[0] ?? -1 } as const
        const before = yield* state
        const error = yield* Effect.flip(self.commit(execution, { ...commit, ack }))
        expect(error).toMatchObject({ _tag: "StoreConflict" })
        expect(yield* state).toEqual(before)
        expect(yield* self.load("a")).toEqual(Option.some(stored))
      })
    ))

  test("it is a conflict where it is another execution's event", () =>
    Effect.gen(function* () {
      const self = yield* store
      yield* self.save(order("a"))
      const [seq = -1] = yield* self.enqueue([emit("other", "b")])
      const recalled = self.recall("a")
      if (Option.isNone(recalled)) return
      const { execution, token } = recalled.value
      const commit: Commit = { processed: "other", ack: { _tag: "Outbox", seq }, remembered: token }
      expect(yield* Effect.flip(self.commit(execution, commit))).toMatchObject({ _tag: "StoreConflict" })
    }))

  test("it is refused where it consumes no event of the outbox", () =>
    remembered("a", ({ execution, token }, { ack }) =>
      Effect.gen(function* () {
        const self = yield* store
        yield* refuses(self.commit(execution, { ack, remembered: token }), "processed")
        yield* refuses(self.commit(execution, { processed: "e", remembered: token }), "ack")
      })
    ))
}

/**
 * @since 0.1.0
 * @category tests
 */
export const remembering = (subject: Subject): void => {
  describe("remembered", () => {
    recalls(subject)
    pages(subject)
    commits(subject)
  })
}
