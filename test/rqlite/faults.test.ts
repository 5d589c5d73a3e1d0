import { expect, it } from "@effect/vitest"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/TestClock"
import { ExecutionStore } from "holdfast/ExecutionStore"
import type { StoreConflict, StoreError } from "holdfast/StoreError"
import { emit, order, spawn, step } from "../../src/testing/internal/samples.js"
import { loaded } from "../../src/testing/internal/state.js"
import { extent, longer } from "../support/extent.js"
import * as InProcessNode from "../support/rqlite/inProcessNode.js"
import { open, passing } from "../support/rqlite/inProcessStore.js"
import type { Fault } from "../support/rqlite/server.js"

const unbounded = { concurrency: "unbounded" } as const

type Store = Context.Tag.Service<typeof ExecutionStore>

const requestError = (error: string) => ({ status: 200, body: JSON.stringify({ results: [], error }), genuine: true })

const path = FastCheck.constantFrom("/db/execute", "/db/execute", "/db/query")

/** A fault as it is printed where the property does not hold: what it waits for in seconds. */
interface Plan extends Omit<Fault, "before" | "after"> {
  readonly before?: number
  readonly after?: number
}

const toFault = ({ after = 0, before = 0, ...fault }: Plan): Fault => ({
  ...fault,
  before: Effect.sleep(`${before} seconds`),
  after: Effect.sleep(`${after} seconds`)
})

/** Answers that leave open what was done, after any of it. */
const lost: FastCheck.Arbitrary<Plan> = FastCheck.record({
  path,
  apply: FastCheck.constantFrom(0, 1, 1, 2),
  answer: FastCheck.constantFrom<NonNullable<Fault["answer"]>>(
    "drop",
    "half",
    { status: 502, body: "bad gateway" },
    requestError("leadership lost while committing log")
  )
})

/** Answers that say that nothing was done. */
const refused: FastCheck.Arbitrary<Plan> = FastCheck.record({
  path,
  apply: FastCheck.constant(0),
  answer: FastCheck.constantFrom(
    { status: 503, body: "leader not found\n", genuine: true },
    requestError("leadership transfer in progress")
  )
})

/** What is done late, or answered late, or both, perhaps when nobody waits any more. */
const late: FastCheck.Arbitrary<Plan> = FastCheck.record({
  path,
  apply: FastCheck.constantFrom(1, 2),
  before: FastCheck.integer({ min: 0, max: 40 }),
  after: FastCheck.constantFrom(0, 1, 9, 15)
})

const fault: FastCheck.Arbitrary<Plan> = FastCheck.oneof(
  { weight: 5, arbitrary: FastCheck.record({ path }) },
  { weight: 4, arbitrary: lost },
  { weight: 2, arbitrary: refused },
  { weight: 2, arbitrary: late }
)

interface Step {
  readonly id: string
  readonly name: string
  readonly consumes: boolean
}

const ids = ["a", "b"]

const plan = FastCheck.record({
  writers: FastCheck.array(
    FastCheck.array(
      FastCheck.record({ id: FastCheck.constantFrom(...ids), consumes: FastCheck.boolean(), wait: FastCheck.nat(3) }),
      { minLength: 1, maxLength: 4 }
    ),
    { minLength: 2, maxLength: 5 }
  ),
  faults: FastCheck.array(fault, { minLength: 20, maxLength: 40 })
})

/** Takes one step from what is stored, once. */
const take = (store: Store, { consumes, id, name }: Step) =>
  Effect.gen(function* () {
    const execution = yield* Effect.retry(Effect.provideService(loaded(id), ExecutionStore, store), Schedule.recurs(20))
    const context = { ...execution.context, [name]: true }
    return yield* store.commit(
      { ...execution, context },
      {
        emits: [emit(`${name} one`, name), emit(`${name} two`, name)],
        spawns: [spawn(name)],
        trace: step(name),
        ...(consumes ? { processed: name } : {})
      }
    )
  })

it.scoped.prop(
  longer(
    "random steps of writers of many processes under random faults: each is there at most once, and as it was answered"
  ),
  [plan],
  ([{ faults, writers }]) =>
    Effect.gen(function* () {
      const node = yield* InProcessNode.make()
      const first = yield* open(node)
      for (const id of ids) yield* first.save(order(id))
      const stores = yield* Effect.forEach(writers, () => open(node))
      const steps = writers.map((writer, w) => writer.map((step, n) => ({ ...step, name: `writer ${w} step ${n}` })))
      yield* node.inject(...faults.map(toFault))

      const { exit } = yield* passing(
        "30 minutes",
        Effect.forEach(
          steps,
          (steps, w) =>
            Effect.forEach(steps, (step) =>
              Effect.sleep(`${step.wait} seconds`).pipe(
                Effect.zipRight(Effect.either(take(stores[w] ?? first, step))),
                Effect.map((result) => ({ ...step, result }))
              )
            ),
          unbounded
        )
      )
      yield* node.heal
      // What is on its way still arrives.
      yield* TestClock.adjust("5 minutes")
      const results = (yield* exit).flat()

      const { entries: outbox } = yield* first.pendingOutbox({ limit: 1000 })
      const { entries: spawns } = yield* first.pendingSpawns({ limit: 1000 })
      const traces = yield* Effect.forEach(ids, first.readTrace)
      const stored = yield* Effect.forEach(ids, (id) => Effect.provideService(loaded(id), ExecutionStore, first))
      const seen = results.map(({ consumes, id, name, result }) => {
        const emitted = outbox.filter(({ targetId }) => targetId === name)
        const times = {
          emits: emitted.length / 2,
          spawns: spawns.filter(({ childId }) => childId === name).length,
          trace: traces.flatMap(({ entries }) => entries).filter(({ eventKind }) => eventKind === name).length
        }
        return { consumes, id, name, result, times, emitted }
      })

      for (const { consumes, emitted, name, result, times } of seen) {
        const why = { name, times, result }
        // All of it or nothing, once at most.
        expect({ ...why, times }).toEqual({
          ...why,
          times: { emits: times.emits, spawns: times.emits, trace: times.emits }
        })
        expect({ ...why, once: times.emits <= 1 }).toEqual({ ...why, once: true })
        if (Either.isRight(result)) {
          expect({ ...why, times: times.emits }).toEqual({ ...why, times: 1 })
          expect({ ...why, seqs: result.right.seqs }).toEqual({ ...why, seqs: emitted.map(({ seq }) => seq) })
        } else if (saysNothingApplied(result.left, consumes)) {
          expect({ ...why, times: times.emits }).toEqual({ ...why, times: 0 })
        }
      }
      // Each version is somebody's step, and no step lost what an earlier one left.
      for (const execution of stored) {
        const mine = seen.filter(({ id, times }) => id === execution.id && times.emits === 1)
        expect(execution.version).toBe(1 + mine.length)
        expect(Object.keys(execution.context).toSorted()).toEqual(mine.map(({ name }) => name).toSorted())
      }
    }),
  {
    // Making a failing plan smaller would take minutes.
    fastCheck: { numRuns: extent({ quick: 4, long: 15 }), seed: 20260730, endOnFailure: true }
  }
)

/** A conflict of a step that consumed an event tells to reload, which shows whether it is there. */
const saysNothingApplied = (error: StoreConflict | StoreError, consumes: boolean): boolean =>
  error._tag === "StoreConflict" ? !consumes : error._tag === "StoreUnavailable" && error.outcome === "not-applied"
