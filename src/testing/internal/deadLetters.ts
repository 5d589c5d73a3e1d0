import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Timer, Work, WorkItem } from "../../Commit.js"
import type { Burial } from "../../DeadLetter.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { emit } from "./samples.js"
import { deadLetters as letters } from "./state.js"

export const timer = (path: string, fireAt: number, executionId = "a"): Timer => ({ executionId, path, fireAt })

export const timerWork = (timer: Timer): WorkItem => ({ _tag: "Timer", ...timer })

export const outboxWork = (seq: number): WorkItem => ({ _tag: "Outbox", seq })

export const why: Burial = { reason: "attempts", attempts: 20, error: "no answer" }

export const bury = (work: Work, burial: Burial = why) =>
  Effect.flatMap(ExecutionStore, (store) => store.deadLetters.bury(work, burial))

/** Enqueues events and gives them up at once; gives the ids of the dead letters. */
export const buried = (...emits: ReadonlyArray<ReturnType<typeof emit>>) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const before = (yield* letters()).length
    for (const seq of yield* store.enqueue(emits)) expect(yield* bury(outboxWork(seq))).toBe(true)
    return (yield* letters()).slice(before).map((letter) => letter.id)
  })
