/**
 * When events were emitted, and in which span: it travels with them through the outbox.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as Tracer from "effect/Tracer"
import * as Event from "../../Event.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import { refuses } from "../internal/assertions.js"
import { emit, order } from "../internal/samples.js"
import { outboxEntries } from "../internal/state.js"
import type { Subject } from "../Subject.js"

const traceId = "0af7651916cd43dd8448eb211c80319c"
const spanId = "b7ad6b7169203331"
const traceparent = `00-${traceId}-${spanId}-01`

const within = (options: { readonly traceId?: string; readonly spanId?: string; readonly sampled?: boolean }) =>
  Effect.withParentSpan(Tracer.externalSpan({ traceId, spanId, ...options }))

const emitted = Effect.map(outboxEntries(), (entries) =>
  entries.map(({ emittedAt, traceparent }) => ({ emittedAt, traceparent }))
)

/**
 * @since 0.1.0
 * @category tests
 */
export const emissions = ({ rawTest, test }: Subject): void => {
  describe("emissions", () => {
    test("an entry tells when it was emitted, by a commit or from outside", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* TestClock.setTime(1_790_000_000_125)
        yield* store.commit(order("a"), { emits: [emit("1"), emit("2")] })
        yield* TestClock.adjust("3 seconds")
        yield* store.enqueue([emit("3")])
        expect((yield* emitted).map(({ emittedAt }) => emittedAt)).toEqual([
          1790000000.125, 1790000000.125, 1790000003.125
        ])
      }))

    test("and the span around it", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* within({})(store.commit(order("a"), { emits: [emit("1")] }))
        yield* within({})(store.enqueue([emit("2")]))
        expect(yield* emitted).toEqual([
          { emittedAt: 0, traceparent },
          { emittedAt: 0, traceparent }
        ])
      }))

    test("but none that nobody keeps, that is not to be propagated, or that has ids of another form", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        yield* within({ sampled: false })(store.enqueue([emit("1")]))
        yield* within({ traceId: "trace-1" })(store.enqueue([emit("2")]))
        yield* within({ spanId: "0000000000000000" })(store.enqueue([emit("3")]))
        yield* store.enqueue([emit("4")])
        expect((yield* emitted).map(({ traceparent }) => traceparent)).toEqual([null, null, null, null])
      }))

    test("they are no part of the event, which cannot hold them", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const event = Event.make({ id: "1", kind: "K", extra: { zone: "eu" } })
        yield* within({})(store.enqueue([{ targetId: "x", event }]))
        expect((yield* outboxEntries()).map((entry) => entry.event)).toEqual([event])
        for (const key of ["traceparent", "emitted_at"]) {
          const extra = { [key]: "mine" }
          yield* refuses(store.enqueue([{ targetId: "x", event: { ...event, extra } }]), `emits[0].event.extra.${key}`)
        }
      }))

    rawTest("rows of others have neither, and one that is wrong keeps no event", (insert) =>
      Effect.gen(function* () {
        const row = (seq: number, more: string) =>
          insert("outbox", { seq, target_id: "x", event: `{"id":"${seq}","kind":"K"${more}}` })
        yield* row(1, "")
        yield* row(2, ',"traceparent":7,"emitted_at":"soon"')
        yield* row(3, `,"traceparent":"00-${traceId}","emitted_at":null`)
        yield* row(4, `,"traceparent":"${traceparent}","emitted_at":1790000000.5`)
        const none = { emittedAt: null, traceparent: null }
        expect(yield* emitted).toEqual([none, none, none, { emittedAt: 1790000000.5, traceparent }])
        expect((yield* outboxEntries()).map(({ event }) => event)).toEqual(
          ["1", "2", "3", "4"].map((id) => Event.make({ id, kind: "K" }))
        )
      })
    )
  })
}
