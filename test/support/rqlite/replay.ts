import { readFileSync } from "node:fs"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import { NodeHttpClient } from "@effect/platform-node"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as RqliteServer from "./server.js"

const Recording = Schema.Struct({
  name: Schema.String,
  request: Schema.Struct({
    method: Schema.Literal("GET", "POST", "PUT", "OPTIONS"),
    path: Schema.String,
    headers: Schema.Record({ key: Schema.String, value: Schema.String }),
    body: Schema.optional(Schema.String),
    bodyTruncatedFrom: Schema.optional(Schema.Number)
  }),
  response: Schema.Struct({
    status: Schema.Number,
    headers: Schema.Record({ key: Schema.String, value: Schema.String }),
    body: Schema.String,
    bodyTruncatedFrom: Schema.optional(Schema.Number)
  })
})
type Recording = typeof Recording.Type

export const recordings = (group: string): ReadonlyArray<Recording> =>
  Schema.decodeUnknownSync(Schema.parseJson(Schema.Array(Recording)))(
    readFileSync(new URL(`../../fixtures/rqlite/${group}.json`, import.meta.url), "utf8")
  )

export const bytes = (text: string): number => Buffer.byteLength(text)

export const seed =
  "INSERT INTO executions (id,definition_id,data,version) VALUES (?,?,?,?) ON CONFLICT(id) DO UPDATE SET data=excluded.data, version=excluded.version WHERE executions.version=?"
export const guarded =
  "INSERT INTO outbox(target_id,event) SELECT ?,? WHERE EXISTS (SELECT 1 FROM executions WHERE id=? AND data=?)"
const many = Array.from({ length: 1000 }, (_, i) => i)
const z = "z".repeat(5_000_000)

/** What the recording cut short. */
export const whole: Readonly<Record<string, { readonly request?: string; readonly response?: string }>> = {
  "single-166-large-5mb": {
    request: JSON.stringify([
      [seed, "big", "d", z, 1, 0],
      [guarded, "x", "e", "big", z]
    ])
  },
  "single-168-large-5mb-read-full": {
    response: `{"results":[{"columns":["data"],"types":["text"],"values":[["${z}"]]}]}`
  },
  "single-169-many-statements": {
    request: JSON.stringify(many.map((i) => ["INSERT INTO outbox(target_id,event) VALUES(?,?)", "m", String(i)])),
    response: `{"results":[${many.map((i) => `{"last_insert_id":${64 + i},"rows_affected":1}`).join(",")}]}`
  }
}

const compared = [
  "access-control-allow-credentials",
  "access-control-allow-headers",
  "access-control-allow-methods",
  "content-type",
  "location",
  "www-authenticate",
  "x-content-type-options",
  "x-rqlite-served-by",
  "x-rqlite-version"
]

const lowercase = (headers: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

/** The answer without the times that its parts took, which differ from run to run. */
const timeless = (body: string): string => body.replace(/"time":[\d.e-]+,"time_s":"[^"]*"/g, '"time":0')

const exchange = (base: string, { name, request }: Recording) =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const type = lowercase(request.headers)["content-type"]
    const body = whole[name]?.request ?? request.body
    const bare = HttpClientRequest.make(request.method)(base + request.path).pipe(
      HttpClientRequest.setHeaders(request.headers)
    )
    const sent =
      body === undefined
        ? bare
        : HttpClientRequest.bodyUint8Array(bare, new TextEncoder().encode(body), type ?? "application/json")
    const response = yield* client.execute(sent)
    const headers = Object.entries(response.headers).filter(([key]) => compared.includes(key))
    return { name, status: response.status, headers: Object.fromEntries(headers), body: timeless(yield* response.text) }
  })

/** - `notSent`, `notCompared`: by the beginning of the recording's name, why. */
export interface Group {
  readonly options?: RqliteServer.Options
  /** The node that is asked, and those that recorded addresses belong to: API, then Raft. */
  readonly ask?: (name: string) => number
  readonly addresses: ReadonlyArray<readonly [api: string, raft: string]>
  readonly setup?: (server: RqliteServer.RqliteServer) => Effect.Effect<unknown, unknown, HttpClient.HttpClient>
  readonly before?: (name: string, server: RqliteServer.RqliteServer) => Effect.Effect<void>
  readonly notSent?: Readonly<Record<string, string>>
  readonly notCompared?: Readonly<Record<string, string>>
}

const isListed = (list: Readonly<Record<string, string>> | undefined, name: string): boolean =>
  Object.keys(list ?? {}).some((beginning) => name.startsWith(`${beginning}-`))

/** Sends a group's recordings in order to a stand-in of its own, and gives what it answered beside what was recorded. */
export const replay = (
  group: string,
  { addresses, ask = () => 0, before, notCompared, notSent, options, setup }: Group
) =>
  Effect.gen(function* () {
    const server = yield* RqliteServer.make(options)
    const hosts = server.urls.flatMap((url, i): ReadonlyArray<readonly [string, string]> => {
      const { host, hostname, port } = new URL(url)
      const [api = "", raft = ""] = addresses[i] ?? []
      return [
        [raft, `${hostname}:${Number(port) + 1}`],
        [api, host]
      ]
    })
    const localize = (text: string): string =>
      hosts.reduce((text, [recorded, here]) => text.replaceAll(recorded, here), text)

    if (setup !== undefined) yield* setup(server)
    const actual: Array<unknown> = []
    const expected: Array<unknown> = []
    for (const recording of recordings(group)) {
      const { name, response } = recording
      if (isListed(notSent, name)) continue
      if (before !== undefined) yield* before(name, server)
      const answer = yield* exchange(server.urls[ask(name)] ?? "", recording)
      if (isListed(notCompared, name)) continue
      const headers = Object.entries(lowercase(response.headers)).map(([key, value]) => [key, localize(value)])
      actual.push(answer)
      expected.push({
        name,
        status: response.status,
        headers: Object.fromEntries(headers),
        body: timeless(localize(whole[name]?.response ?? response.body))
      })
    }
    return { actual, expected }
  }).pipe(Effect.provide(NodeHttpClient.layerUndici))

/** A cluster of three, whose first node led when it was recorded. */
export const three: Group["addresses"] = [
  ["127.0.0.1:14100", "127.0.0.1:14101"],
  ["127.0.0.1:14110", "127.0.0.1:14111"],
  ["127.0.0.1:14120", "127.0.0.1:14121"]
]

/** What was in the database before the recordings of a cluster began. */
export const tables = (version: number) => (server: RqliteServer.RqliteServer) =>
  Effect.gen(function* () {
    const client = yield* HttpClient.HttpClient
    const statements = [
      "CREATE TABLE executions (id TEXT PRIMARY KEY, definition_id TEXT NOT NULL, data TEXT NOT NULL, version INTEGER NOT NULL)",
      "CREATE TABLE outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, target_id TEXT NOT NULL, event TEXT NOT NULL)",
      `INSERT INTO executions VALUES('e1','d','{}',${version})`
    ]
    const request = HttpClientRequest.post(`${server.urls[0]}/db/execute?transaction`)
    const { status } = yield* client.execute(HttpClientRequest.bodyUnsafeJson(request, statements))
    return status === 200
  })
