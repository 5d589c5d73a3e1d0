import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as FiberSet from "effect/FiberSet"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as TestClock from "effect/TestClock"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as sqliteDriver from "holdfast/internal/sqlite/driver"
import * as SqlDriver from "holdfast/SqlDriver"
import { StoreUnavailable } from "holdfast/StoreError"
import { extent, longer } from "../support/extent.js"

/** What befalls a transaction: how often it is applied, how much later once more, in milliseconds, and whether its answer comes. */
interface Chance {
  readonly apply: 0 | 1 | 2
  readonly late: number | undefined
  readonly lost: boolean
  readonly delay: number
}

const chance: FastCheck.Arbitrary<Chance> = FastCheck.record({
  apply: FastCheck.constantFrom(0, 1, 1, 2),
  late: FastCheck.option(FastCheck.constantFrom(0, 20, 100, 1000), { nil: undefined, freq: 2 }),
  lost: FastCheck.boolean(),
  delay: FastCheck.constantFrom(0, 10, 100)
})

const unavailable = (call: SqlDriver.Call, outcome: "not-applied" | "unknown") =>
  new StoreUnavailable({ ...call, reason: "connection", outcome, detail: "the connection broke" })

/** A driver to whose calls these chances happen, one after the other; what nothing is left for goes well. */
const unlucky = (driver: SqlDriver.SqlDriver, chances: ReadonlyArray<Chance>, blind: ReadonlyArray<boolean>) =>
  Effect.gen(function* () {
    const late = yield* FiberSet.make<unknown>()
    const writes = [...chances]
    const reads = [...blind]
    const faulty: SqlDriver.SqlDriver = {
      transaction: (call, statements) =>
        Effect.gen(function* () {
          const next = call.operation === "open" ? undefined : writes.shift()
          if (next === undefined) return yield* driver.transaction(call, statements)
          yield* Effect.sleep(next.delay)
          const apply = driver.transaction(call, statements)
          const first = next.apply > 0 ? yield* apply : undefined
          const result = next.apply > 1 ? yield* apply : first
          if (next.late !== undefined) yield* FiberSet.run(late, Effect.delay(Effect.ignore(apply), next.late))
          return result === undefined || next.lost ? yield* unavailable(call, "unknown") : result
        }),
      query: (call, statement) =>
        call.operation !== "open" && reads.shift() === true
          ? Effect.fail(unavailable(call, "not-applied"))
          : driver.query(call, statement)
    }
    return { faulty, settled: FiberSet.awaitEmpty(late) }
  })

const writers = [0, 1, 2, 3]
const steps = [0, 1, 2]
const ids = ["a", "b"]

const range = writers.flatMap((writer) => steps.map((step) => `${writer}:${step}`))

describe("many writers whose answers get lost", () => {
  it.scoped.prop(
    longer("write what is acknowledged once, and nothing twice"),
    [FastCheck.array(chance, { maxLength: 40 }), FastCheck.array(FastCheck.boolean(), { maxLength: 40 })],
    ([chances, blind]) =>
      Effect.gen(function* () {
        const driver = yield* sqliteDriver.make({ filename: ":memory:" })
        const quiet = yield* SqlDriver.make(driver)
        const { faulty, settled } = yield* unlucky(driver, chances, blind)
        const store = yield* SqlDriver.make(faulty)
        const acknowledged = new Set<string>()
        const enqueued = new Map<string, ReadonlyArray<number>>()

        /** Adds one to a counter, in the way of one who delivers an event at least once. */
        const add = (id: string, name: string) =>
          Effect.gen(function* () {
            const { execution, processed } = yield* store.loadForEvent(id, name)
            if (processed) return
            const before = Option.getOrElse(execution, () =>
              Execution.make({ id, definitionId: "count", context: { counter: 0 } })
            )
            yield* store.commit(
              { ...before, context: { counter: Number(before.context["counter"]) + 1 } },
              { processed: name, emits: [{ targetId: id, event: Event.make({ id: name, kind: "Added" }) }] }
            )
          }).pipe(
            Effect.retry({ schedule: Schedule.spaced("10 millis"), while: (error) => error._tag === "StoreConflict" })
          )

        const write = (writer: number, step: number) =>
          Effect.gen(function* () {
            const name = `${writer}:${step}`
            const added = yield* Effect.either(add(ids[(writer + step) % ids.length] ?? "a", name))
            if (Either.isRight(added)) acknowledged.add(name)
            else assert.strictEqual(added.left._tag, "StoreUnavailable")
            const event = Event.make({ id: `enqueued ${name}`, kind: "Sent" })
            const sent = yield* Effect.either(store.enqueue([{ targetId: null, event }]))
            if (Either.isRight(sent)) enqueued.set(event.id, sent.right)
          })

        const all = yield* Effect.fork(
          Effect.forEach(writers, (writer) => Effect.forEach(steps, (step) => write(writer, step)), {
            concurrency: "unbounded"
          })
        )
        yield* TestClock.adjust("5 minutes")
        yield* Fiber.join(all)
        yield* settled

        const outbox = (yield* quiet.pendingOutbox({ limit: 1000 })).entries
        const applied = yield* Effect.filter(range, (name) =>
          Effect.map(
            Effect.forEach(ids, (id) => quiet.isProcessed(id, name)),
            (found) => found.includes(true)
          )
        )
        const counters = yield* Effect.forEach(ids, (id) =>
          Effect.map(
            quiet.load(id),
            Option.match({ onNone: () => 0, onSome: ({ context }) => Number(context["counter"]) })
          )
        )
        const names = outbox.map((entry) => entry.event.id)
        assert.deepStrictEqual(names.filter((name) => /^\d/.test(name)).sort(), applied)
        assert.strictEqual(
          counters.reduce((sum, counter) => sum + counter, 0),
          applied.length
        )
        for (const name of acknowledged) assert.include(applied, name)
        assert.strictEqual(new Set(names).size, names.length)
        for (const [name, seqs] of enqueued) {
          assert.deepStrictEqual(
            outbox.filter((entry) => entry.event.id === name).map((entry) => entry.seq),
            [...seqs]
          )
        }
      }),
    { fastCheck: { numRuns: extent({ quick: 5, long: 20 }), seed: 20261129 } }
  )
})
