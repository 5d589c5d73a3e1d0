import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Inspectable from "effect/Inspectable"
import * as Logger from "effect/Logger"
import * as Execution from "holdfast/Execution"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as SqldServer from "../support/sqld/server.js"

/** Opens a store, uses it, and gives what was logged. */
const logged = (options: Partial<LibsqlStore.Options>, server: SqldServer.Options) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const logger = Logger.make(
      ({ logLevel, message }) => void lines.push(`${logLevel.label} ${Inspectable.format(message)}`)
    )
    const sqld = yield* SqldServer.make(server)
    const opened = Effect.flatMap(LibsqlStore.make({ url: sqld.url, ...options }), ({ store }) =>
      Effect.zipRight(store.load("order-1"), store.load("order-1"))
    )
    yield* Effect.provide(opened, Logger.replace(Logger.defaultLogger, logger))
    return lines
  })

const powerLoss = /WARN .*loss of power.*durability_mode to strong/s

describe("a server that does not sync its disk at each commit", () => {
  it.scoped("is warned of once when the store opens", () =>
    Effect.gen(function* () {
      const lines = yield* logged({}, { durability: "relaxed" })
      assert.lengthOf(lines, 1)
      assert.match(lines[0] ?? "", powerLoss)
    })
  )

  it.scoped("is accepted where that is asked for", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* logged({ durability: "normal" }, { durability: "relaxed" }), [])
    })
  )

  it.scoped("is refused where more is asked for", () =>
    Effect.gen(function* () {
      const sqld = yield* SqldServer.make({ durability: "relaxed" })
      const error = yield* Effect.flip(LibsqlStore.make({ url: sqld.url, durability: "full" }))
      assert.deepInclude(error, { _tag: "StoreRejected", operation: "open", reason: "open", path: "durability" })
      assert.include(error.message, "but not a loss of power")
    })
  )
})

describe("a server that syncs its disk at each commit", () => {
  for (const durability of [undefined, "full", "normal"] as const) {
    it.scoped(`is what it takes for ${durability ?? "no durability in particular"}`, () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* logged({ durability }, { durability: "strong" }), [])
      })
    )
  }
})

describe("a server that has forgotten to sync its disk", () => {
  const order = Execution.make({ id: "order-1", definitionId: "order" })

  it.scoped("is an outage, in which nothing is written, for one who needs it to", () =>
    Effect.gen(function* () {
      const sqld = yield* SqldServer.make({ durability: "strong" })
      const { store } = yield* LibsqlStore.make({ url: sqld.url, durability: "full", busyTimeout: 0 })
      yield* sqld.configure("relaxed")
      const error = yield* Effect.flip(store.save(order))
      assert.deepInclude(error, { _tag: "StoreUnavailable", reason: "busy", outcome: "not-applied" })
      assert.include(error.message, "does not sync its disk")
      assert.deepStrictEqual(yield* sqld.rows("SELECT * FROM harel_executions"), [])
      yield* sqld.configure("strong")
      assert.strictEqual((yield* store.save(order)).version, 1)
    })
  )

  it.scoped("is nothing to one who does not", () =>
    Effect.gen(function* () {
      const sqld = yield* SqldServer.make({ durability: "strong" })
      const { store } = yield* LibsqlStore.make({ url: sqld.url })
      yield* sqld.configure("relaxed")
      assert.strictEqual((yield* store.save(order)).version, 1)
    })
  )
})

describe("a server that does not tell how it syncs", () => {
  const silent = {
    apply: 0,
    answer: {
      status: 200,
      type: "application/json",
      body: JSON.stringify({
        baton: null,
        results: [
          { type: "error", error: { message: "no PRAGMA here", code: "SQL_PARSE_ERROR" } },
          { type: "ok", response: { type: "close" } }
        ]
      })
    }
  } as const

  it.scoped("is refused only where its word is needed", () =>
    Effect.gen(function* () {
      const sqld = yield* SqldServer.make()
      yield* sqld.inject(silent)
      yield* LibsqlStore.make({ url: sqld.url })
      yield* sqld.inject(silent)
      const error = yield* Effect.flip(LibsqlStore.make({ url: sqld.url, durability: "full" }))
      assert.deepInclude(error, { _tag: "StoreRejected", reason: "open", path: "durability" })
      assert.include(error.message, "does not tell")
    })
  )
})
