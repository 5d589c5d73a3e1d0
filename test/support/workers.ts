import { isDeepStrictEqual } from "node:util"
import { assert, describe } from "@effect/vitest"
import * as Array from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as Tracer from "effect/Tracer"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import type * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import type * as Processor from "holdfast/Processor"
import * as SqliteStore from "holdfast/SqliteStore"
import type { StoreError } from "holdfast/StoreError"

/** The time of the test, in seconds. */
export const now = Effect.map(Clock.currentTimeMillis, (millis) => millis / 1000)

/** What the transition below has seen, in order. */
export const seen = (execution: Execution.Execution): ReadonlyArray<string> =>
  Array.isArray(execution.context["seen"]) ? execution.context["seen"].map(String) : []

export const note = (execution: Execution.Execution, event: Event.Event): Execution.Execution => ({
  ...execution,
  status: "RUNNING",
  context: { ...execution.context, seen: [...seen(execution), event.id] }
})

/** Writes down the id of each event. */
export const recorder: Processor.Transition = (execution, event) =>
  Effect.succeed({ execution: note(execution, event) })

export const event = (id: string, data: Event.Event["data"] = {}): Event.Event =>
  Event.make({ id, kind: "Happened", data })

export const execution = (
  id: string,
  options: { readonly [K in keyof Execution.Execution]?: Execution.Execution[K] } = {}
): Execution.Execution => Execution.make({ definitionId: "recorder", ...options, id })

export const load = (store: ExecutionStore.ExecutionStore, id: string): Effect.Effect<Execution.Execution, unknown> =>
  Effect.flatMap(store.load(id), (found) => found)

export const pendingIds = (store: ExecutionStore.ExecutionStore) =>
  Effect.map(store.pendingOutbox({ limit: 1000 }), (page) => page.entries.map((entry) => entry.event.id))

export const armed = (store: ExecutionStore.ExecutionStore) =>
  Effect.map(store.dueTimers(Number.MAX_SAFE_INTEGER), ({ entries }) =>
    entries.map((timer) => [timer.executionId, timer.path, timer.fireAt])
  )

/** The errors are of one kind and say the same. */
export const assertError = (
  actual: { readonly _tag: string; readonly message: string },
  expected: { readonly _tag: string; readonly message: string }
): void => assert.deepStrictEqual([actual._tag, actual.message], [expected._tag, expected.message])

/** The stores on which what workers promise is tested, each new and empty. */
export const stores: ReadonlyArray<{
  readonly name: string
  readonly make: Effect.Effect<ExecutionStore.ExecutionStore, StoreError, Scope.Scope>
}> = [
  { name: "memory", make: MemoryStore.make() },
  { name: "SQLite", make: SqliteStore.make({ filename: ":memory:" }) }
]

/** The same suite on each of the {@link stores}. */
export const onEach = (
  name: string,
  suite: (make: Effect.Effect<ExecutionStore.ExecutionStore, StoreError, Scope.Scope>, store: string) => void
): void => {
  for (const store of stores) describe(`${name} on ${store.name}`, () => suite(store.make, store.name))
}

/** The same store to one whom its notices do not reach: every write seems to be of another process. */
export const deaf = (store: ExecutionStore.ExecutionStore): ExecutionStore.ExecutionStore => ({
  ...store,
  listen: () => Effect.void,
  exclusive: false
})

/** Runs an effect to its end while the clock goes on: stores on a file need turns of the event loop, and a lost race a pause. */
export const driven = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(effect)
    yield* Effect.repeat(Effect.zipRight(TestClock.adjust("10 millis"), Fiber.poll(fiber)), {
      until: Option.isSome,
      times: 1000
    })
    return yield* Fiber.join(fiber)
  })

/** Waits until a value is as expected, while the clock stands still. */
export const eventually = <A, E, R>(effect: Effect.Effect<A, E, R>, expected: A): Effect.Effect<void, E, R> =>
  Effect.repeat(Effect.zipRight(TestClock.adjust(0), effect), {
    until: (actual) => isDeepStrictEqual(actual, expected),
    times: 300
  }).pipe(Effect.map((actual) => assert.deepStrictEqual(actual, expected)))

/** Keeps what is logged, as `LEVEL text`. */
export const logs = (): { readonly lines: ReadonlyArray<string>; readonly layer: Layer.Layer<never> } => {
  const lines: Array<string> = []
  const logger = Logger.make<unknown, void>(({ logLevel, message }) => {
    lines.push(`${logLevel.label} ${Array.ensure(message).map(String).join(" ")}`)
  })
  return { lines, layer: Logger.add(logger) }
}

/** Keeps the annotations of what is logged. */
export const annotations = (into: Array<unknown>): Layer.Layer<never> =>
  Logger.add(Logger.make<unknown, void>(({ annotations }) => void into.push(Object.fromEntries(annotations))))

/** Keeps the names of the spans that begin, and whether each has a parent. */
export const spans = (): {
  readonly started: ReadonlyArray<{ readonly name: string; readonly root: boolean }>
  readonly layer: Layer.Layer<never>
} => {
  const started: Array<{ readonly name: string; readonly root: boolean }> = []
  const layer = Layer.unwrapEffect(
    Effect.map(Effect.tracer, (tracer) =>
      Layer.setTracer(
        Tracer.make({
          span: (name, parent, ...rest) => {
            started.push({ name, root: Option.isNone(parent) })
            return tracer.span(name, parent, ...rest)
          },
          context: (f, fiber) => tracer.context(f, fiber)
        })
      )
    )
  )
  return { started, layer }
}
