import { readFileSync } from "node:fs"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { decimal } from "../support/sqld/numbers.js"
import * as SqldServer from "../support/sqld/server.js"

const Recording = Schema.Struct({
  name: Schema.String,
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
  "syntax of a query": "SQL string could not be parsed: ",
  "no requests": "Cannot deserialize client message from JSON: ",
  "no JSON": "Cannot deserialize client message from JSON: ",
  "an unknown request": "Cannot deserialize client message from JSON: "
}

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
    return { status: response.status, type: response.headers.get("content-type"), answer: await response.text() }
  })

const batonOf = (answer: string): string | undefined => /"baton":"([^"]*)"/.exec(answer)?.[1]

describe("the stand-in for sqld answers as a real server was recorded to", () => {
  it.scoped("from an empty database", () =>
    Effect.gen(function* () {
      const { url } = yield* SqldServer.make()
      let baton = ""
      for (const recording of recordings("open")) {
        const found = yield* ask(url, recording, {}, baton)
        baton = batonOf(found.answer) ?? baton
        const answer = found.answer.replace(/"baton":"[^"]*"/, `"baton":"${placeholder}"`)
        const prefix = ownWords[recording.name]
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
        const headers: Record<string, string> =
          recording.method === "GET" || token === "none" ? {} : { authorization: `Bearer ${token}` }
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
