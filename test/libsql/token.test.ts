import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Inspectable from "effect/Inspectable"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Ref from "effect/Ref"
import * as Execution from "holdfast/Execution"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as SqldServer from "../support/sqld/server.js"
import * as Tracing from "../support/tracing.js"

const order = Execution.make({ id: "order-1", definitionId: "order" })

const open = (options: Partial<LibsqlStore.Options> = {}, server: SqldServer.Options = {}) =>
  Effect.gen(function* () {
    const sqld = yield* SqldServer.make(server)
    const { client, store } = yield* LibsqlStore.make({ url: sqld.url, ...options })
    return { sqld, client, store }
  })

/** All that a failure could show to anybody. */
const shown = (error: unknown): string =>
  `${String(error)} ${JSON.stringify(error)} ${Inspectable.format(error)} ${error instanceof Error ? String(error.cause) + (error.stack ?? "") : ""}`

describe("a token for a libSQL server", () => {
  const secret = "s3cret-token"

  const tokens = (valid: Ref.Ref<HashSet.HashSet<string>>) => ({
    accept: (token: string): SqldServer.Access => (HashSet.has(Effect.runSync(valid), token) ? "rw" : "expired")
  })

  it.scoped("is sent, and one that is wrong is told without showing it", () =>
    Effect.gen(function* () {
      const valid = yield* Ref.make(HashSet.make(secret))
      const { sqld, store } = yield* open({ authToken: Redacted.make(secret) }, tokens(valid))
      yield* store.save(order)
      assert.isTrue((yield* sqld.received).every(({ authorization }) => authorization === `Bearer ${secret}`))
      yield* Ref.set(valid, HashSet.empty())
      const save = store.save({ ...order, id: "order-2" })
      for (const operation of [Effect.asVoid(save), Effect.asVoid(store.load("order-1"))]) {
        const error = yield* Effect.flip(operation)
        assert.deepInclude(error, { _tag: "StoreRejected", reason: "auth" })
        assert.include(error.message, "The JWT has expired")
        assert.notInclude(shown(error), secret)
      }
    })
  )

  it.scoped("comes with the URL too, which is then shown without it", () =>
    Effect.gen(function* () {
      const valid = yield* Ref.make(HashSet.make(secret))
      const sqld = yield* SqldServer.make(tokens(valid))
      const url = `${sqld.url}?authToken=${secret}`
      const { store } = yield* LibsqlStore.make({ url })
      yield* store.save(order)
      yield* Ref.set(valid, HashSet.empty())
      const error = yield* Effect.flip(LibsqlStore.make({ url }))
      assert.deepInclude(error, { _tag: "StoreRejected", reason: "auth", path: sqld.url })
      assert.notInclude(shown(error), secret)
    })
  )

  it.scoped("that expires while the store runs is replaced by the one that is valid then", () =>
    Effect.gen(function* () {
      const valid = yield* Ref.make(HashSet.make("first"))
      const current = yield* Ref.make("first")
      const asked = yield* Ref.make(0)
      const authToken = Effect.zipRight(
        Ref.update(asked, (n) => n + 1),
        Effect.map(Ref.get(current), (token) => Redacted.make(token))
      )
      const { client, store } = yield* open({ authToken }, tokens(valid))
      yield* store.save(order)
      assert.strictEqual(yield* Ref.get(asked), 1)

      yield* Ref.set(valid, HashSet.make("second"))
      const error = yield* Effect.flip(store.save({ ...order, id: "order-2" }))
      assert.deepInclude(error, { _tag: "StoreRejected", reason: "auth" })

      yield* Ref.set(current, "second")
      yield* store.save({ ...order, id: "order-2" })
      assert.isTrue(Option.isSome(yield* store.load("order-2")))

      yield* Ref.set(valid, HashSet.make("third"))
      yield* Ref.set(current, "third")
      const before = yield* Ref.get(asked)
      yield* store.save({ ...order, id: "order-3" })
      yield* Effect.promise(() => client.execute({ sql: "SELECT 1", args: [] }))
      assert.strictEqual(yield* Ref.get(asked), before + 1)
    })
  )

  it.scoped("that cannot be had is told as that", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(open({ authToken: Effect.fail("the vault is sealed") }))
      assert.deepInclude(error, { _tag: "StoreUnavailable", reason: "connection", outcome: "not-applied" })
      assert.include(String(error), "there is no token")
    })
  )

  it.scoped("that only reads is told of a write", () =>
    Effect.gen(function* () {
      const sqld = yield* SqldServer.make()
      yield* LibsqlStore.make({ url: sqld.url })
      const reader = yield* SqldServer.make({ accept: () => "ro" })
      const error = yield* Effect.flip(LibsqlStore.make({ url: reader.url, authToken: Redacted.make(secret) }))
      assert.deepInclude(error, { _tag: "StoreRejected", reason: "auth" })
      assert.include(error.message, "Write permission")
    })
  )

  const plain: ReadonlyArray<readonly [what: string, options: object, repeats: boolean]> = [
    ["is wrong", { authToken: secret }, false],
    ["is wrong, of a server that repeats it", { authToken: secret }, true],
    ["is for a server that is not there", { authToken: secret, url: "http://127.0.0.1:1" }, false],
    ["comes from an effect", { authToken: Effect.succeed(secret) }, true],
    ["is of another type", { authToken: { value: secret } }, false],
    ["is of another type and comes from an effect", { authToken: Effect.succeed({ value: secret }) }, false],
    ["is a secret of another type", { authToken: Redacted.make({ value: secret }) }, false],
    ["is no token", { authToken: `${secret} ${secret}` }, false]
  ]
  for (const [what, options, repeats] of plain) {
    it.scoped(`is shown nowhere where it is given as a plain text and ${what}`, () =>
      Effect.gen(function* () {
        const seen: Array<string> = []
        const logger = Logger.make((entry) => {
          const annotations = Array.from(HashMap.entries(entry.annotations))
          seen.push(shown([entry.message, entry.cause, annotations]), Logger.logfmtLogger.log(entry))
        })
        const tracing = Tracing.make()
        const sqld = yield* SqldServer.make({ accept: () => "expired" })
        if (repeats) {
          yield* sqld.inject({
            times: 100,
            apply: 0,
            answer: { status: 401, body: `the token ${secret} is not valid` }
          })
        }
        const given: LibsqlStore.Options = Object.assign({ url: sqld.url, busyTimeout: 0 }, options)
        const exit = yield* LibsqlStore.layer(given).pipe(
          Layer.build,
          Effect.withSpan("application"),
          Effect.tapErrorCause((cause) => Effect.logError("it does not open", cause)),
          Effect.exit,
          Effect.provide(Layer.merge(tracing.layer, Logger.replace(Logger.defaultLogger, logger)))
        )
        assert.isTrue(Exit.isFailure(exit) && Cause.isFailure(exit.cause), String(exit))
        if (Exit.isFailure(exit))
          seen.push(shown(Cause.squash(exit.cause)), Cause.pretty(exit.cause, { renderErrorCause: true }))
        seen.push(String(exit), Inspectable.format(exit))
        assert.isAbove(seen.length, 4)
        assert.isAbove(tracing.spans.length, 0)
        seen.push(inspect(tracing.spans, { depth: 8 }), inspect(yield* Metric.snapshot, { depth: 8 }))
        for (const text of seen) assert.notInclude(text, secret)
      })
    )
  }

  it.scoped("is taken as a plain text, and from an effect of one", () =>
    Effect.gen(function* () {
      for (const authToken of [secret, Effect.succeed(secret), Redacted.make(secret)]) {
        const { sqld, store } = yield* open({ authToken }, { accept: (token) => (token === secret ? "rw" : "expired") })
        yield* store.save(order)
        assert.isTrue((yield* sqld.received).every(({ authorization }) => authorization === `Bearer ${secret}`))
      }
    })
  )

  it.scoped("is shown neither by a server that repeats it, nor in a log, nor by the client that is handed on", () =>
    Effect.gen(function* () {
      const logged: Array<string> = []
      const logger = Logger.make(({ cause, message }) => void logged.push(shown([message, cause])))
      const body = Effect.gen(function* () {
        const { client, sqld, store } = yield* open({ authToken: Redacted.make(secret) })
        const answer = { status: 401, body: `the token ${secret} is not valid` }
        yield* sqld.inject({ times: 2, apply: 0, answer })
        const error = yield* Effect.flip(store.load("order-1"))
        assert.include(error.message, "the token <redacted> is not valid")
        yield* Effect.logError("it failed", error)
        const thrown = yield* Effect.flip(Effect.tryPromise(() => client.execute({ sql: "SELECT 1", args: [] })))
        yield* Effect.logError("so did this", thrown.error)
        assert.include(String(thrown.error), "<redacted>")
      })
      yield* Effect.provide(body, Logger.replace(Logger.defaultLogger, logger))
      assert.strictEqual(logged.length, 2)
      for (const line of logged) assert.notInclude(line, secret)
    })
  )

  it.scoped("is not shown of a failure that an answer of success tells, and data that is the same text stays", () =>
    Effect.gen(function* () {
      const { client, sqld, store } = yield* open({ authToken: Redacted.make(secret) })
      const results = [
        { type: "error", error: { code: "SQL_NO", message: `"${secret}" may not do this` } },
        { type: "ok", response: { type: "close" } }
      ]
      yield* sqld.inject({
        times: 2,
        apply: 0,
        answer: { status: 200, body: JSON.stringify({ baton: null, results }) }
      })
      const error = yield* Effect.flip(store.load("order-1"))
      assert.include(error.message, '"<redacted>" may not do this')
      assert.notInclude(shown(error), secret)
      const select = Effect.tryPromise(() => client.execute({ sql: "SELECT ? AS message", args: [secret] }))
      const thrown = yield* Effect.flip(select)
      assert.include(String(thrown.error), "<redacted>")
      assert.notInclude(shown(thrown.error), secret)
      assert.strictEqual((yield* select).rows[0]?.["message"], secret)
    })
  )
})
