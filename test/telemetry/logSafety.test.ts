import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as TestClock from "effect/TestClock"
import * as Event from "holdfast/Event"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import type * as Processor from "holdfast/Processor"
import { printableCause } from "../../src/internal/telemetry/log.js"
import { hostile, unprintable } from "../support/hostileText.js"
import * as Tracing from "../support/tracing.js"
import * as Support from "../support/workers.js"
import { execution } from "../support/workers.js"

const hostileError = () => new Error(hostile, { cause: new Error(hostile) })

/** Lines as Effect's own loggers print them, at every level. */
const printed = (lines: Array<string>): Layer.Layer<never> => {
  const keep = (logger: Logger.Logger<unknown, string>) =>
    Logger.add(Logger.map(logger, (text) => void lines.push(text)))
  return Layer.mergeAll(
    keep(Logger.stringLogger),
    keep(Logger.logfmtLogger),
    keep(Logger.jsonLogger),
    Logger.minimumLogLevel(LogLevel.All)
  )
}

const definitions: { readonly [id: string]: Processor.Transition<unknown> } = {
  dies: () => Effect.die(hostileError()),
  fails: () => Effect.fail({ _tag: hostile, detail: hostile }),
  // a child that is taken already, and one of a definition that is not known
  spawns: (execution) =>
    Effect.succeed({
      execution: { ...execution, status: "RUNNING" },
      commit: { spawns: [{ childId: `${hostile}child`, rootPath: hostile, context: { __invoke_fqn__: hostile } }] }
    })
}

Support.onEach("Nothing that is logged or traced has anybody's text as it is", (makeStore) => {
  it.scoped("neither ids and kinds nor errors of transitions", () => {
    const lines: Array<string> = []
    const tracing = Tracing.make()
    return Effect.gen(function* () {
      const store = yield* makeStore
      const runtime = yield* Effect.provideService(
        ExecutionRuntime.make({
          definitions,
          maxAttempts: 3,
          onFailure: (_, { id }) => (id.endsWith("ends") ? "fail" : "retry"),
          deliverExternal: () => Effect.fail(hostile)
        }),
        ExecutionStore.ExecutionStore,
        store
      )
      const event = (n: number) => Event.make({ id: `${hostile}${n}`, kind: hostile, data: {} })
      for (const definitionId of ["dies", "fails", "spawns", hostile]) {
        for (const end of ["", "ends"]) {
          const id = `${definitionId}${hostile}${end}`
          yield* runtime.create(execution(id, { definitionId }))
          yield* runtime.send(id, event(1))
        }
      }
      yield* runtime.send(`${hostile}gone`, event(1))
      yield* runtime.send(null, event(1))
      yield* TestClock.adjust("1 minute")
      const { deadLetters, outbox, problems, spawns } = yield* Effect.map(runtime.health, (health) => ({
        ...health,
        deadLetters: health.outbox.deadLetters
      }))
      assert.isAbove(deadLetters, 3)
      const told = [...problems, outbox.lastError, spawns.lastError].map((told) =>
        typeof told === "string" ? told : told._tag === "Some" ? told.value.message : ""
      )
      for (const text of told) assert.deepStrictEqual(unprintable(text), [])

      assert.isAbove(lines.length, 20)
      for (const line of lines) {
        assert.deepStrictEqual(unprintable(line.replaceAll("\n", "")), [])
        const forged = line
          .split("\n")
          .slice(1)
          .filter((text) => !/^(\s|\}|caused by|Error: x\\n)/i.test(text))
        assert.deepStrictEqual(forged, [])
      }
      assert.isAbove(tracing.spans.length, 10)
      for (const span of tracing.spans) {
        for (const [name, value] of span.attributes) {
          if (typeof value === "string") assert.deepStrictEqual([name, unprintable(value)], [name, []])
        }
      }
    }).pipe(Effect.provide(Layer.merge(printed(lines), tracing.layer)))
  })
})

describe("a cause that is logged", () => {
  it("keeps its shape, the names of its errors and where they come from", () => {
    class Broken extends Error {
      override readonly name = "Broken"
      readonly code = 7
    }
    const broken = new Broken("it broke\nbadly", { cause: { why: "a\u2028b" } })
    const cause = Cause.parallel(Cause.sequential(Cause.fail(broken), Cause.die("dead\n")), Cause.empty)
    const safe = printableCause(cause)
    assert.strictEqual(safe._tag, "Parallel")
    const [failure] = Array.from(Cause.failures(safe))
    assert.instanceOf(failure, Broken)
    assert.strictEqual(failure instanceof Broken ? failure.code : 0, 7)
    const text = Cause.pretty(safe, { renderErrorCause: true })
    assert.include(text, "Broken: it broke\\nbadly\n    at ")
    assert.include(text, "logSafety.test.ts")
    assert.include(text, '{"why":"a\\u2028b"}')
    assert.include(text, "Error: dead\\n")
  })

  it("ends where errors are each other's cause", () => {
    const [one, other] = [new Error("one"), new Error("other")]
    one.cause = other
    other.cause = one
    assert.include(Cause.pretty(printableCause(Cause.fail(one)), { renderErrorCause: true }), "Error: other")
  })
})

describe("the sources", () => {
  it("log through one module, which makes texts printable", () => {
    const src = path.resolve(import.meta.dirname, "../../src")
    const others = fs
      .readdirSync(src, { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.endsWith(path.join("telemetry", "log.ts")))
      .filter((file) =>
        /Effect\.(log[A-Z]?[a-z]*|annotateLogs|annotateCurrentSpan)\b|Console\.|console\./.test(
          // An example in a docstring may log: it is a program of the reader's.
          fs.readFileSync(path.join(src, file), "utf8").replaceAll(/\/\*\*[\s\S]*?\*\//g, "")
        )
      )
    assert.deepStrictEqual(others, [])
  })
})
