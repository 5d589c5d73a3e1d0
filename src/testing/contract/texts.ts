/**
 * Any text as an id, a target, a path.
 *
 * @since 0.1.0
 */
import { describe, expect } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Effect from "effect/Effect"
import { scheduleTimer } from "../../Commit.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import * as Generators from "../Generators.js"
import { awkwardTexts, emit, order, spawn, step } from "../internal/samples.js"
import { listed, loaded, outbox, spawns, timers, trace } from "../internal/state.js"
import type { Subject } from "../Subject.js"

/** Uses a text wherever a text can be, then takes it all away again by that text. */
const useAsEverything = (text: string) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const timer = { executionId: text, path: text, fireAt: 10.5 }
    const execution = order(text, {
      definitionId: text,
      outcome: text,
      error: text,
      activePath: text,
      history: { [text]: text },
      parentId: text
    })
    const saved = yield* store.commit(execution, {
      emits: [emit(text, text)],
      processed: text,
      timers: [scheduleTimer(text, 10.5)],
      spawns: [{ ...spawn(text), rootPath: text }],
      trace: step(text, { fromPath: text, actions: [text] })
    })
    deepStrictEqual(yield* loaded(text), saved.execution)
    expect(yield* store.isProcessed(text, text)).toBe(true)
    expect((yield* store.loadForEvent(text, text)).processed).toBe(true)
    expect(yield* store.idsWithPrefix(text)).toEqual([text])
    expect(yield* listed({ definitionId: text, limit: 1 })).toEqual([text])
    expect((yield* store.listExecutions()).items).toMatchObject([{ id: text, outcome: text, parentId: text }])
    expect(yield* outbox()).toEqual([{ seq: saved.seqs[0], ...emit(text, text) }])
    expect(yield* spawns()).toMatchObject([{ parentId: text, childId: text, rootPath: text }])
    expect(yield* timers()).toEqual([timer])
    expect(yield* trace(text)).toMatchObject([{ eventKind: text, fromPath: text, actions: [text] }])
    const rearmed = yield* store.commit(saved.execution, {
      ack: { _tag: "Timer", ...timer },
      timers: [scheduleTimer(text, 11)]
    })
    expect(yield* timers()).toEqual([{ ...timer, fireAt: 11 }])
    yield* store.commit(rearmed.execution, { timers: [{ _tag: "Cancel", path: text }] })
    expect(yield* timers()).toEqual([])
    expect(yield* store.purge(text, 3)).toBe(true)
    expect(yield* outbox()).toEqual([])
    expect(yield* spawns()).toEqual([])
    expect(yield* trace(text)).toEqual([])
    expect(yield* store.isProcessed(text, text)).toBe(false)
    expect(yield* store.idsWithPrefix("")).toEqual([])
  })

/**
 * @since 0.1.0
 * @category tests
 */
export const texts = ({ property, test }: Subject): void => {
  describe("texts", () => {
    for (const text of awkwardTexts) {
      test(`${JSON.stringify(text)} is an id, a target, a path like any other`, () => useAsEverything(text))
    }

    property("so is any text", Generators.id, 10, useAsEverything)

    test("texts that look alike are not the same", () =>
      Effect.gen(function* () {
        const store = yield* ExecutionStore
        const alike = ["\u00e9", "e\u0301", "E\u0301", "\u00c9", "e", "e ", " e", "e\u0000", "x'65'", "\uff45"]
        yield* Effect.forEach(alike, (id) =>
          store.commit(order(id), { processed: "e", timers: [scheduleTimer(id, 1)] })
        )
        expect(yield* listed()).toHaveLength(alike.length)
        expect(yield* timers()).toHaveLength(alike.length)
        for (const id of alike) expect(yield* store.isProcessed("e", id)).toBe(id === "e")
      }))
  })
}
