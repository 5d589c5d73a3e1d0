import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import type { JsonObject } from "holdfast/Json"
import * as Processor from "holdfast/Processor"
import * as Step from "holdfast/Step"
import * as Support from "../support/workers.js"

const { driven, event, execution, load, onEach } = Support

type Store = ExecutionStore.ExecutionStore

class Order extends Schema.Class<Order>("Order")({
  qty: Schema.Int,
  due: Schema.Date,
  lines: Schema.Array(Schema.Struct({ sku: Schema.String, price: Schema.NumberFromString })),
  digits: Schema.optional(Schema.BigIntFromSelf)
}) {}

const Plain = Schema.Struct(Order.fields)

const stored = { qty: 2, due: "2026-11-29T20:00:00.000Z", lines: [{ sku: "a", price: "1.5" }] }

class Declined extends Schema.TaggedError<Declined>()("Declined", {}) {}

onEach("A typed context", (make) => {
  const on = <A, E, R>(context: JsonObject, effect: (store: Store) => Effect.Effect<A, E, R>) =>
    Effect.scoped(
      Effect.gen(function* () {
        const store = yield* make
        yield* store.save(execution("a", { definitionId: "order", context }))
        return yield* Effect.provideService(effect(store), ExecutionStore.ExecutionStore, store)
      })
    )

  const contextOf = (store: Store) => Effect.map(load(store, "a"), ({ context }) => context)

  it.effect("is decoded for the transition, and encoded for the store", () =>
    on(stored, (store) =>
      Effect.gen(function* () {
        const { process } = yield* Processor.make({
          definitions: {
            order: Processor.transition({
              context: Plain,
              transition: (execution, event) =>
                Effect.map(Step.make(execution, event), (step) => {
                  const { due, lines, qty } = execution.context
                  return step.pipe(
                    Step.updateContext((context) => ({
                      ...context,
                      qty: qty + 1,
                      due: new Date(due.getTime() + 1000),
                      lines: [...lines, { sku: "b", price: (lines[0]?.price ?? 0) * 2 }],
                      digits: 2n ** 60n
                    }))
                  )
                })
            })
          }
        })
        yield* process("a", event("e1"))
        yield* process("a", event("e2"))
        assert.deepStrictEqual(yield* contextOf(store), {
          qty: 4,
          due: "2026-11-29T20:00:02.000Z",
          lines: [
            { sku: "a", price: "1.5" },
            { sku: "b", price: "3" },
            { sku: "b", price: "3" }
          ],
          digits: 2n ** 60n
        })
      })
    )
  )

  it.effect("may be of a class", () =>
    on(stored, (store) =>
      Effect.gen(function* () {
        const { process } = yield* Processor.make({
          definitions: {
            order: Processor.transition({
              context: Order,
              transition: (execution) =>
                Effect.succeed({
                  execution: {
                    ...execution,
                    context: new Order({ ...execution.context, qty: execution.context.qty + 1 })
                  }
                })
            })
          }
        })
        yield* process("a", event("e1"))
        assert.deepStrictEqual(yield* contextOf(store), { ...stored, qty: 3 })
      })
    )
  )

  it.effect("is one for all definitions where the processor is given it", () =>
    on(stored, (store) =>
      Effect.gen(function* () {
        const seen: Array<string> = []
        const { process } = yield* Processor.make({
          context: Plain,
          definitions: {
            order: (execution, event) => Effect.map(Step.make(execution, event), Step.advance("A")),
            other: (execution) => {
              seen.push(execution.context.due.toISOString())
              return execution.context.qty > 2 ? Effect.fail(new Declined()) : Effect.succeed({ execution })
            }
          },
          onFailure: (error) => (error._tag === "Declined" || error._tag === "ContextInvalid" ? "fail" : "retry")
        })
        yield* store.save(execution("b", { definitionId: "other", context: { ...stored, qty: 3 } }))
        yield* store.save(execution("c", { definitionId: "other", context: {} }))
        yield* process("a", event("e1"))
        yield* process("b", event("e1"))
        yield* process("c", event("e1"))
        assert.strictEqual((yield* load(store, "a")).activePath, "A")
        assert.deepStrictEqual(yield* contextOf(store), stored)
        assert.deepStrictEqual(seen, ["2026-11-29T20:00:00.000Z"])
        assert.strictEqual((yield* load(store, "b")).status, "FAILED")
        const failed = yield* load(store, "c")
        assert.strictEqual(failed.status, "FAILED")
        assert.match(failed.error ?? "", /^ContextInvalid: the context of execution "c" does not decode/)
        assert.deepStrictEqual(failed.context, {})
      })
    )
  )

  const undecodable: ReadonlyArray<readonly [context: JsonObject, path: string]> = [
    [{ ...stored, qty: "two" }, "qty"],
    [{ qty: 2, due: stored.due }, "lines"],
    [
      {
        ...stored,
        lines: [
          { sku: "a", price: "1" },
          { sku: 7, price: "1" }
        ]
      },
      "lines[1].sku"
    ],
    [{ ...stored, lines: [{ sku: "a", price: "much" }] }, "lines[0].price"]
  ]
  for (const [context, path] of undecodable) {
    it.effect(`that does not decode at ${path} is an error that names the execution and the path`, () =>
      on(context, (store) =>
        Effect.gen(function* () {
          let runs = 0
          const { process } = yield* Processor.make({
            definitions: {
              order: Processor.transition({
                context: Plain,
                transition: (execution) => {
                  runs++
                  return Effect.succeed({ execution })
                }
              })
            }
          })
          const error = yield* Effect.flip(process("a", event("e1")))
          assert.strictEqual(error._tag, "ContextInvalid")
          assert.deepInclude(error, {
            executionId: "a",
            eventId: "e1",
            definitionId: "order",
            operation: "decode",
            path
          })
          assert.include(
            error.message,
            `the context of execution "a" does not decode by definition "order" at ${path}, event "e1": `
          )
          assert.strictEqual(runs, 0)
          assert.strictEqual((yield* load(store, "a")).version, 1)
        })
      )
    )
  }

  it.effect("that does not encode, or not to an object, is an error, and nothing is written", () =>
    on(stored, (store) =>
      Effect.gen(function* () {
        const Tags = Schema.transform(
          Schema.Union(Schema.Array(Schema.String), Schema.Struct({})),
          Schema.Struct({ tags: Schema.Array(Schema.String) }),
          { decode: () => ({ tags: [] }), encode: ({ tags }) => tags }
        )
        const { process } = yield* Processor.make({
          definitions: {
            order: Processor.transition({
              context: Plain,
              transition: (execution) =>
                Effect.succeed({ execution: { ...execution, context: { ...execution.context, qty: 1.5 } } })
            }),
            tags: Processor.transition({
              context: Tags,
              transition: (execution) => Effect.succeed({ execution: { ...execution, context: { tags: ["x"] } } })
            })
          }
        })
        const error = yield* Effect.flip(process("a", event("e1")))
        assert.strictEqual(error._tag, "ContextInvalid")
        assert.deepInclude(error, { operation: "encode", path: "qty" })
        yield* store.save(execution("t", { definitionId: "tags" }))
        const array = yield* Effect.flip(process("t", event("e1")))
        assert.deepInclude(array, { _tag: "ContextInvalid", operation: "encode", path: "" })
        assert.strictEqual((yield* load(store, "a")).version, 1)
        assert.strictEqual((yield* load(store, "t")).version, 1)
      })
    )
  )

  const more = { ...stored, note: { by: "harel" }, lines: [{ sku: "a", price: "1.5", weight: 7 }] }
  const withPolicy = (onExcessProperty?: "preserve" | "ignore" | "error") =>
    Processor.transition({
      context: Plain,
      ...(onExcessProperty === undefined ? undefined : { onExcessProperty }),
      transition: (execution) =>
        Effect.succeed({ execution: { ...execution, context: { ...execution.context, qty: 3 } } })
    })

  it.effect("keeps keys that the schema does not have, at every level, where the transition copies the context", () =>
    on(more, (store) =>
      Effect.gen(function* () {
        const { process } = yield* Processor.make({
          definitions: {
            order: withPolicy(),
            anew: Processor.transition({
              context: Plain,
              transition: (execution) => {
                const { due, lines } = execution.context
                return Effect.succeed({ execution: { ...execution, context: { qty: 9, due, lines } } })
              }
            })
          }
        })
        yield* process("a", event("e1"))
        assert.deepStrictEqual(yield* contextOf(store), { ...more, qty: 3 })
        yield* store.save({ ...(yield* load(store, "a")), definitionId: "anew" })
        yield* process("a", event("e2"))
        assert.deepStrictEqual(yield* contextOf(store), { ...stored, lines: more.lines, qty: 9 })
      })
    )
  )

  it.effect("drops such keys or refuses them, where that is asked for", () =>
    on(more, (store) =>
      Effect.gen(function* () {
        const strict = yield* Processor.make({ definitions: { order: withPolicy("error") } })
        const error = yield* Effect.flip(strict.process("a", event("e1")))
        assert.deepInclude(error, { _tag: "ContextInvalid", operation: "decode" })
        const ignoring = yield* Processor.make({ definitions: { order: withPolicy("ignore") } })
        yield* ignoring.process("a", event("e1"))
        assert.deepStrictEqual(yield* contextOf(store), { ...stored, qty: 3 })
      })
    )
  )

  it.effect("is shown encoded in the trace", () =>
    on(stored, (store) =>
      Effect.gen(function* () {
        const { process } = yield* Processor.make({
          definitions: {
            order: Processor.transition({
              context: Plain,
              transition: (execution, event) =>
                Effect.map(Step.make(execution, event), (step) =>
                  step.pipe(
                    Step.trace({ actions: ["count"] }),
                    Step.advance({ path: "B", context: { ...execution.context, qty: 3 } })
                  )
                )
            })
          }
        })
        yield* process("a", event("e1", { n: 1 }))
        assert.deepStrictEqual((yield* store.readTrace("a")).entries, [
          {
            index: 0,
            eventKind: "Happened",
            eventData: { n: 1 },
            fromPath: null,
            toPath: "B",
            actions: ["count"],
            contextOut: { ...stored, qty: 3 },
            timestamp: 0,
            extra: {}
          }
        ])
      })
    )
  )

  it.effect("may need services to decode and encode", () =>
    on({ secret: "1:x" }, (store) =>
      Effect.gen(function* () {
        class Key extends Context.Tag("test/Key")<Key, string>() {}
        const Sealed = Schema.transformOrFail(Schema.String, Schema.String, {
          decode: (text) => Effect.map(Key, (key) => text.replace(`${key}:`, "")),
          encode: (text) => Effect.map(Key, (key) => `${key}:${text}`)
        })
        const { process } = yield* Processor.make({
          definitions: {
            order: Processor.transition({
              context: Schema.Struct({ secret: Sealed }),
              transition: (execution) =>
                Effect.succeed({ execution: { ...execution, context: { secret: `${execution.context.secret}y` } } })
            })
          }
        }).pipe(Effect.provideService(Key, "1"))
        yield* process("a", event("e1"))
        assert.deepStrictEqual(yield* contextOf(store), { secret: "1:xy" })
      })
    )
  )

  it.effect("works in a runtime, whose failure names the execution", () =>
    on({ qty: "two" }, (store) =>
      Effect.gen(function* () {
        const runtime = yield* ExecutionRuntime.make({ definitions: { order: withPolicy() } })
        yield* runtime.start(execution("b", { definitionId: "order", context: stored }))
        yield* driven(runtime.awaitIdle)
        assert.strictEqual((yield* load(store, "b")).context["qty"], 3)
        const error = yield* Effect.flip(runtime.process("a", event("e1")))
        assert.strictEqual(error._tag, "ContextInvalid")
        assert.include(error.message, 'the context of execution "a" does not decode')
      })
    )
  )
})
