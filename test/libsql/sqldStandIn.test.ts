import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { decimal } from "../support/sqld/numbers.js"
import * as SqldServer from "../support/sqld/server.js"

const Recording = Schema.Struct({
  name: Schema.String,
  authorization: Schema.optionalWith(Schema.String, { exact: true }),
  method: Schema.String,
  path: Schema.String,
  body: Schema.optionalWith(Schema.String, { exact: true }),
  status: Schema.Number,
  type: Schema.NullOr(Schema.String),
  answer: Schema.String
})

/** What was asked of sqld 0.24.33, one after the other, and what it answered, less what differs each time. */
const recordings = (group: string) =>
  Schema.decodeUnknownSync(Schema.parseJson(Schema.Array(Recording)))(
    readFileSync(new URL(`../fixtures/sqld/${group}.json`, import.meta.url), "utf8")
  )

/** Where the text of a message is the server's own parser's: what comes before it must be the same. */
const ownWords: Readonly<Record<string, string>> = {
  syntax: "SQL string could not be parsed: ",
  "syntax of a query": "SQL string could not be parsed: "
}

const unreadable = "Cannot deserialize client message from JSON: "

const prefixOf = ({ answer, name }: typeof Recording.Type): string | undefined =>
  answer.startsWith(unreadable) ? unreadable : ownWords[name]

/** The server's log is not the stand-in's. */
const withoutFrames = (answer: string): string => answer.replace(/,"replication_index":(null|"\d+")/g, "")

const placeholder = "<baton>"

const ask = (
  url: string,
  { body, method, path }: typeof Recording.Type,
  headers: Record<string, string>,
  baton: string
) =>
  Effect.promise(async () => {
    const response = await fetch(url + path, {
      method,
      headers: { ...(method === "POST" ? { "content-type": "application/json" } : {}), ...headers },
      ...(body === undefined ? {} : { body: body.replace(placeholder, baton) })
    })
    const answer = withoutFrames(await response.text())
    return { status: response.status, type: response.headers.get("content-type"), answer }
  })

const batonOf = (answer: string): string | undefined => /"baton":"([^"]*)"/.exec(answer)?.[1]

describe("the stand-in for sqld answers as a real server was recorded to", () => {
  for (const [group, what] of [
    ["open", "from an empty database"],
    ["strict", "to what is not as it must be"]
  ] as const) {
    it.scoped(what, () =>
      Effect.gen(function* () {
        const { url } = yield* SqldServer.make()
        let baton = ""
        for (const recording of recordings(group)) {
          const found = yield* ask(url, recording, {}, baton)
          // Each answer brings a new one, which is to be used once.
          if (!recording.name.startsWith("its first")) baton = batonOf(found.answer) ?? baton
          const answer = found.answer.replace(/"baton":"[^"]*"/, `"baton":"${placeholder}"`)
          const prefix = prefixOf(recording)
          const cut = (text: string) =>
            prefix === undefined ? text : text.slice(0, text.indexOf(prefix) + prefix.length)
          assert.deepStrictEqual(
            { ...found, answer: cut(answer) },
            { status: recording.status, type: recording.type, answer: cut(recording.answer) },
            recording.name
          )
          if (prefix !== undefined) assert.include(recording.answer, prefix)
        }
      })
    )
  }

  it.scoped("to what is too large", () =>
    Effect.gen(function* () {
      const { url } = yield* SqldServer.make()
      const ask = (sql: string, ...lengths: ReadonlyArray<number>) =>
        Effect.promise(async () => {
          const args = lengths.map((length) => ({ type: "text", value: "x".repeat(length) }))
          const body = JSON.stringify({ requests: [{ type: "execute", stmt: { sql, args } }, { type: "close" }] })
          const answer = await (await fetch(`${url}/v2/pipeline`, { method: "POST", body })).text()
          return /"code":"([A-Z_]*)"/.exec(answer)?.[1] ?? "ok"
        })
      assert.strictEqual(yield* ask("CREATE TABLE t (a, b)"), "ok")
      assert.strictEqual(yield* ask("SELECT length(?)", 5_000_000), "ok")
      assert.strictEqual(yield* ask("SELECT length(?)", 5_000_001), "ARGS_INVALID")
      assert.strictEqual(yield* ask("INSERT INTO t VALUES (?, ?)", 2_500_000, 2_500_000), "SQLITE_TOOBIG")
      assert.strictEqual(yield* ask("INSERT INTO t VALUES (?, ?)", 2_499_000, 2_499_000), "ok")
      assert.strictEqual(yield* ask("SELECT * FROM t UNION ALL SELECT * FROM t"), "ok")
      const three = "SELECT * FROM t UNION ALL SELECT * FROM t UNION ALL SELECT * FROM t"
      assert.strictEqual(yield* ask(three), "RESPONSE_TOO_LARGE")
    })
  )

  it.scoped("packed, unless that is not wanted", () =>
    Effect.gen(function* () {
      const { url } = yield* SqldServer.make()
      const encodings = yield* Effect.forEach(["gzip", "identity"], (encoding) =>
        Effect.promise(async () => {
          const body = JSON.stringify({ requests: [] })
          const headers = { "accept-encoding": encoding }
          const response = await fetch(`${url}/v2/pipeline`, { method: "POST", body, headers })
          await response.text()
          return response.headers.get("content-encoding")
        })
      )
      assert.deepStrictEqual(encodings, ["gzip", null])
    })
  )

  it.scoped("to tokens", () =>
    Effect.gen(function* () {
      const tokens = new Map<string, SqldServer.Access>([
        ["rw", "rw"],
        ["ro", "ro"],
        ["expired", "expired"]
      ])
      const { url } = yield* SqldServer.make({ accept: (token) => tokens.get(token) ?? "invalid" })
      for (const recording of recordings("auth")) {
        const [token = ""] = recording.name.split(" ")
        const authorization = recording.authorization ?? `Bearer ${token}`
        const headers: Record<string, string> = recording.method === "GET" || token === "none" ? {} : { authorization }
        const { answer, status, type } = recording
        assert.deepStrictEqual(yield* ask(url, recording, headers, ""), { status, type, answer }, recording.name)
      }
    })
  )

  it("reads decimals as it does: not always as the nearest double", () => {
    const samples: ReadonlyArray<readonly [string, number]> = [
      ["0.1", 0.1],
      ["1705071781.7454875", 1705071781.7454877],
      ["121.35478473181433", 121.35478473181432],
      ["257381240.12645638", 257381240.1264564],
      ["-67729640259.264404", -67729640259.2644],
      ["123456789012345680000", 123456789012345670000],
      ["1.7976931348623157e+308", 1.7976931348623157e308],
      ["5e-324", 5e-324],
      ["1e-7", 1e-7]
    ]
    for (const [text, value] of samples) assert.strictEqual(decimal(text), value, text)
    FastCheck.assert(
      FastCheck.property(FastCheck.double({ min: -1e15, max: 1e15, noNaN: true }), (value) => {
        const read = decimal(String(value))
        assert.isAtMost(Math.abs(read - value), Math.abs(value) * 2 ** -51)
      }),
      { numRuns: 500, seed: 1 }
    )
  })
})

describe("the stand-in", () => {
  const pipeline = (...statements: ReadonlyArray<string>) =>
    JSON.stringify({ requests: [...statements.map((sql) => ({ type: "execute", stmt: { sql } })), { type: "close" }] })

  const post = (url: string, body: string) =>
    Effect.tryPromise(async () => {
      const response = await fetch(`${url}/v2/pipeline`, { method: "POST", body })
      return { status: response.status, text: await response.text() }
    })

  it.scoped("loses answers before and after it does what it is asked, and does it twice", () =>
    Effect.gen(function* () {
      const server = yield* SqldServer.make()
      yield* post(server.url, pipeline("CREATE TABLE t (a)"))
      const insert = pipeline("INSERT INTO t VALUES (1)")
      const counts: Array<unknown> = []
      for (const fault of [
        { apply: 0, answer: "drop" },
        { apply: 1, answer: "drop" },
        { apply: 1, answer: "half" },
        { apply: 2 },
        { apply: 1, answer: { status: 503, body: "away" } }
      ] as const) {
        yield* server.inject({ ...fault, writes: true })
        yield* Effect.either(post(server.url, insert))
        counts.push((yield* server.rows("SELECT count(*) FROM t"))[0]?.[0])
      }
      assert.deepStrictEqual(counts, [0, 1, 2, 4, 5])
    })
  )

  it.scoped("makes a writer wait for another one's lock", () =>
    Effect.gen(function* () {
      const server = yield* SqldServer.make()
      yield* post(server.url, pipeline("CREATE TABLE t (a)"))
      const begun = yield* post(
        server.url,
        JSON.stringify({
          requests: ["BEGIN IMMEDIATE", "INSERT INTO t VALUES (1)"].map((sql) => ({ type: "execute", stmt: { sql } }))
        })
      )
      const waiting = yield* Effect.fork(post(server.url, pipeline("INSERT INTO t VALUES (2)")))
      yield* Effect.yieldNow()
      yield* post(
        server.url,
        JSON.stringify({
          baton: batonOf(begun.text),
          requests: [{ type: "execute", stmt: { sql: "COMMIT" } }, { type: "close" }]
        })
      )
      assert.strictEqual((yield* waiting).status, 200)
      assert.deepStrictEqual(yield* server.rows("SELECT a FROM t"), [[1], [2]])
    })
  )

  it.scoped("forgets streams, and can go away and come back", () =>
    Effect.gen(function* () {
      const server = yield* SqldServer.make()
      const open = yield* post(server.url, JSON.stringify({ requests: [] }))
      yield* server.expire
      const body = JSON.stringify({ baton: batonOf(open.text), requests: [] })
      const expired = yield* post(server.url, body)
      assert.strictEqual(expired.status, 400)
      assert.include(expired.text, "STREAM_EXPIRED")
      yield* server.stop
      yield* Effect.flip(post(server.url, body))
      yield* server.start
      assert.strictEqual((yield* post(server.url, body)).status, 400)
    })
  )
})
