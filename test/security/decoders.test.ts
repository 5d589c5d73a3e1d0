/**
 * Whatever bytes come from outside, as a row, an answer of a server, a line of an import, a file or an argument: they are read or refused,
 * and nothing is thrown. Good texts are taken apart at random; what once did harm stands in `corpus`.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as storeName from "holdfast/internal/cli/storeName"
import * as cursor from "holdfast/internal/codec/cursor"
import { Refused } from "holdfast/internal/hrana/errors"
import * as pipeline from "holdfast/internal/hrana/pipeline"
import * as refusal from "holdfast/internal/hrana/refusal"
import * as decode from "holdfast/internal/rqliteClient/decode"
import * as errors from "holdfast/internal/rqliteClient/errors"
import { parseUrl } from "holdfast/internal/rqliteClient/nodes"
import * as cron from "holdfast/internal/cron/schedule"
import * as line from "holdfast/internal/transfer/line"
import * as MemoryStore from "holdfast/MemoryStore"
import * as Monitor from "holdfast/Monitor"
import * as TraceContext from "holdfast/TraceContext"
import * as Log from "../../examples/replay/log.js"
import { holdfast } from "../support/cli.js"
import { extent, longer } from "../support/extent.js"
import { hostile, unprintable } from "../support/hostileText.js"
import { ask } from "../support/monitor.js"
import * as Databases from "../support/schema.js"
import * as Temp from "../support/temp.js"

const fixture = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url)), "utf8")

const Recorded = Schema.Array(Schema.Struct({ response: Schema.Struct({ body: Schema.String }) }))
const RecordedOfSqld = Schema.Array(Schema.Struct({ answer: Schema.String }))

const answersOfRqlite = Schema.decodeUnknownSync(Schema.parseJson(Recorded))(fixture("rqlite/single.json")).map(
  ({ response }) => response.body
)

const answersOfSqld = Schema.decodeUnknownSync(Schema.parseJson(RecordedOfSqld))(fixture("sqld/open.json")).map(
  ({ answer }) => answer
)

const execution = Execution.make({
  id: "a",
  definitionId: "d",
  activePath: "A.B",
  context: { n: 1, d: 1.5, big: 2n ** 70n, list: [null, true, "x", { deep: [[]] }] },
  history: { A: "B" },
  deferred: [Event.make({ id: "e", kind: "k", data: { x: 1 } })],
  createdAt: 1.25,
  extra: { more: 1 }
})

const stored = Schema.encodeSync(Execution.ExecutionFromText)(execution)

const step = Schema.encodeSync(Commit.TraceStepFromText)(
  Commit.traceStep({ eventKind: "k", timestamp: 1.5, contextOut: { a: [1, 2.5, "x"] }, actions: ["go"] })
)

/** Texts that did harm somewhere, or that readers of such texts are known to fall over. */
const corpus: ReadonlyArray<string> = [
  "",
  "null",
  "[]",
  "{}",
  '""',
  "0",
  "-0",
  "1e999",
  "NaN",
  "-Infinity",
  "9".repeat(5000),
  `1${"0".repeat(400)}.5`,
  '{"__proto__":{"polluted":true}}',
  '{"constructor":{"prototype":{"polluted":true}}}',
  '{"a":1,"a":2}',
  '"\\ud800"',
  '"\\u0000"',
  "\ufeff{}",
  `${"[".repeat(300)}${"]".repeat(300)}`,
  "[".repeat(20_000),
  '{"results":null}',
  '{"results":[null]}',
  '{"results":[{"values":[[[256,-1,1.5]]]}]}',
  '{"results":[{"last_insert_id":1e400}]}',
  '{"results":[{"type":"ok","response":null},{"type":"ok"}]}',
  '{"results":[{"type":"ok","response":{"result":{"rows":[[{"type":"integer","value":"1.5"}]]}}},{"type":"ok"}]}',
  '{"results":[{"type":"ok","response":{"result":{"rows":[[{"type":"blob","base64":"%%%"}]]}}},{"type":"ok"}]}',
  '{"results":[{"type":"error","error":{"message":5}}]}',
  '{"holdfast":"export","format":1e9,"schema":null}',
  '{"executions":{"id":{"integer":"99999999999999999999"}}}',
  '{"end":"export","rows":-1,"sha256":""}',
  "holdfast-cursor",
  "__proto__",
  "constructor",
  "sqlite:",
  "libsql:",
  "rqlite:,,",
  "rqlite:http://[::1",
  "http://user:pa%ss@host",
  "* * * * * * *",
  "*/0 * * * *",
  "0-99999999 * * * *",
  "1-2/0.0001 * * * *",
  `${"*,".repeat(2000)}* * * * *`,
  "0 0 30 2 *",
  "Etc/../../x",
  "+99:99",
  "00-00000000000000000000000000000000-0000000000000000-00",
  "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
  hostile
]

const tokens: ReadonlyArray<string> = [
  '"',
  "'",
  "\\",
  "\\u",
  "\\ud800",
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  ";",
  "\n",
  "\r",
  "\u0000",
  "\u2028",
  "null",
  "true",
  "-",
  "1e400",
  "0.1",
  "18446744073709551616",
  "9007199254740993",
  "__proto__",
  "%",
  "=",
  "\ud800",
  " "
]

interface Edit {
  readonly at: number
  readonly length: number
  readonly token: string
}

const edits: FastCheck.Arbitrary<ReadonlyArray<Edit>> = FastCheck.array(
  FastCheck.record({
    at: FastCheck.double({ min: 0, max: 1, noNaN: true }),
    length: FastCheck.constantFrom(0, 0, 1, 2, 10, 1000),
    token: FastCheck.oneof(
      FastCheck.constantFrom(...tokens),
      FastCheck.constant(""),
      FastCheck.string({ unit: "binary" })
    )
  }),
  { minLength: 1, maxLength: 5 }
)

const edited = (text: string, edits: ReadonlyArray<Edit>): string =>
  edits.reduce((text, { at, length, token }) => {
    const from = Math.floor(at * text.length)
    return text.slice(0, from) + token + text.slice(from + length)
  }, text)

const mutants = (texts: ReadonlyArray<string>): FastCheck.Arbitrary<string> =>
  FastCheck.tuple(FastCheck.constantFrom(...texts), edits).map(([text, edits]) => edited(text, edits))

const call: errors.Call = { operation: "load", write: true }

/** The schedule that is stored so, where it is one, and whether it is for every hour. */
const timesOf = (stored: cron.Stored) => Either.map(cron.read(stored), ({ everyHour }) => everyHour)

/** What reads a text from outside, and good texts for it. It gives, and does not throw. */
const readers: {
  readonly [name: string]: { readonly texts: ReadonlyArray<string>; readonly read: (text: string) => unknown }
} = {
  "a stored execution": {
    texts: [stored],
    read: (text) => Schema.decodeUnknownEither(Execution.ExecutionFromText)(text)
  },
  "a stored step of a trace": {
    texts: [step],
    read: (text) => Schema.decodeUnknownEither(Commit.TraceStepFromText)(text)
  },
  "an answer of rqlite's": {
    texts: answersOfRqlite,
    read: (text) =>
      Either.map(decode.answer(text), ({ results }) =>
        results.map((result) => [decode.queryResult(result), decode.executeResult(result, "INSERT")])
      )
  },
  "rqlite's list of nodes": { texts: answersOfRqlite.filter((text) => text.includes("api_addr")), read: decode.nodes },
  "a refusal of rqlite's, or of what stands before it": {
    texts: answersOfRqlite,
    read: (text) => [401, 404, 500, 503].map((status) => errors.ofStatus(call, "node", status, text, false).message)
  },
  "the rows that sqld answers": { texts: answersOfSqld, read: pipeline.queryResult },
  "the rows that sqld answers to several": {
    texts: answersOfSqld,
    read: (text) => [pipeline.queriesResults(text, 1), pipeline.queriesResults(text, 2)]
  },
  "what sqld says to a transaction": {
    texts: answersOfSqld,
    read: (text) => [
      pipeline.transactionResults(text, { count: 1, guarded: true }),
      pipeline.transactionResults(text, { count: 2, guarded: false })
    ]
  },
  "a refusal of sqld's, or of what stands before it": {
    texts: answersOfSqld,
    read: (text) =>
      [301, 400, 404, 503].map((status) => refusal.read(new Refused({ body: text, location: text, status })).said)
  },
  "a cursor": { texts: [cursor.encode("a"), cursor.encode("")], read: cursor.decode },
  "a line of an export": {
    texts: [
      line.header(5),
      line.row({ table: "outbox", columns: { seq: 1, event: "{}" } }),
      line.end("outbox", 1, "ab")
    ],
    read: line.decode
  },
  "the name of a store": {
    texts: ["sqlite:./a.db", "libsql:file:a.db", "libsql:http://h:8080", "rqlite:http://u:p@h:4001,http://i:4001"],
    read: (text) => JSON.stringify(storeName.parse(text))
  },
  "the URL of a node": {
    texts: ["http://u:p@h:4001", "https://[::1]:4001/x"],
    read: (text) => parseUrl(text, Option.none())
  },
  "a trace context": {
    texts: ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"],
    read: TraceContext.fromTraceparent
  },
  "a cron expression": {
    texts: ["0 2 * * *", "*/15 1-5,7 1 jan-mar mon", "0 0 0 1 1 0-6/2"],
    read: (text) => timesOf({ expression: text, timeZone: "UTC", and: false })
  },
  "a time zone": {
    texts: ["Europe/Berlin", "UTC", "+02:00"],
    read: (text) => timesOf({ expression: "0 2 * * *", timeZone: text, and: true })
  }
}

describe.each(Object.entries(readers))("The reader of %s", (_, { read, texts }) => {
  it("knows good ones, and throws nothing at what is known to do harm", () => {
    for (const text of texts) read(text)
    for (const text of corpus) read(text)
    assert.notProperty({}, "polluted")
  })

  it.prop(
    longer("throws nothing at what is like a good one"),
    [mutants(texts)],
    ([text]) => {
      read(text)
      assert.notProperty({}, "polluted")
    },
    { fastCheck: { numRuns: extent({ quick: 100, long: 4000 }) } }
  )
})

it.prop(
  longer("An execution that is read from a damaged row is written and read again as the same"),
  [mutants([stored])],
  ([text]) => {
    const read = Schema.decodeUnknownEither(Execution.ExecutionFromText)(text)
    if (Either.isLeft(read)) return
    const written = Schema.encodeEither(Execution.ExecutionFromText)(read.right)
    // What it refuses to write it says so of; harel may have written it.
    if (Either.isLeft(written)) return
    assert.deepStrictEqual(Schema.decodeUnknownSync(Execution.ExecutionFromText)(written.right), read.right)
  },
  { fastCheck: { numRuns: extent({ quick: 100, long: 4000 }) } }
)

const csv = ["case,activity,timestamp\na,x,2026-01-01T00:00:00Z\n", 'case;activity\n"a;1";"x ""y"""\nb;z\n']

it.effect.prop(
  longer("A log that is damaged is read, or refused in a sentence"),
  [mutants([...csv, ...corpus])],
  ([text]) =>
    Effect.gen(function* () {
      const path = join(yield* Temp.directory, "log.csv")
      writeFileSync(path, text)
      const exit = yield* Effect.exit(Log.survey(path, { case: "case", activity: "activity", timestamp: "timestamp" }))
      if (Exit.isFailure(exit)) assert.strictEqual(exit.cause._tag, "Fail")
    }).pipe(Effect.scoped),
  { fastCheck: { numRuns: extent({ quick: 30, long: 500 }) } }
)

/** What asks a monitor: paths with what is behind them, and the bodies of changes. */
const asked: ReadonlyArray<readonly [path: string, body?: string]> = [
  ["executions?limit=2&status=RUNNING&definition=d&cursor=x&where=a%3Db"],
  ["execution?id=a"],
  ["trace?id=a&limit=1"],
  ["outbox?limit=3&cursor=e30"],
  ["events"],
  ["../api/overview"],
  ["execution?id=a", '{"action":"send","kind":"K","data":{"x":1}}'],
  ["execution?id=a", '{"action":"suspend"}'],
  ["dead-letter?id=1", '{"action":"discard"}'],
  ["jobs", '{"of":"executions","filter":{},"action":{"action":"terminate"}}'],
  ["jobs/stop?id=1", "{}"]
]

const headersOf = (name: string, value: string): Record<string, string> => {
  try {
    return Object.fromEntries(new Headers({ [name]: value }))
  } catch {
    // What is no header cannot be sent.
    return {}
  }
}

it.scoped.prop(
  longer(
    "A request to the monitor of any path, body and header is answered, and never as a fault of the monitor's own"
  ),
  [
    FastCheck.constantFrom(...asked),
    edits,
    edits,
    FastCheck.constantFrom(
      "content-type",
      "content-length",
      "accept",
      "origin",
      "host",
      "sec-fetch-site",
      "traceparent",
      "b3"
    ),
    FastCheck.oneof(FastCheck.constantFrom(...tokens, ...corpus), FastCheck.string({ unit: "binary" }))
  ],
  ([[path, body], ofPath, ofBody, name, value]) =>
    Effect.gen(function* () {
      const monitor = yield* Monitor.make({ access: () => Effect.succeed("all") })
      const url = `/api/${edited(path, ofPath)}`
      const given = body === undefined ? {} : { method: "POST", body: edited(body, ofBody) }
      if (!URL.canParse(`http://localhost${url}`) || url.includes("live")) return
      const { status, text } = yield* ask(monitor, url, {
        ...given,
        headers: { "content-type": "application/json", ...headersOf(name, value) }
      })
      assert.isTrue(status >= 200 && status < 500, `${status} ${url} ${text}`)
      assert.notMatch(text, /^\s+at .*:\d+:\d+/m)
    }).pipe(Effect.provide(MemoryStore.layer)),
  { fastCheck: { numRuns: extent({ quick: 30, long: 1000 }) } }
)

/** Command lines that change nothing and come to an end. */
const commands: ReadonlyArray<ReadonlyArray<string>> = [
  ["execution", "list", "--limit", "2", "--definition", "d", "--status", "RUNNING", "--where", "a=b"],
  ["execution", "show", "a"],
  ["execution", "trace", "a", "--json"],
  ["outbox", "list", "--limit", "3"],
  ["dead-letter", "list", "--kind", "Outbox"],
  ["definition", "show", "d"],
  ["stats", "--json"],
  ["verify"]
]

const exitCodes = [0, 1, 2, 3, 4, 5]

it.effect("A command that is named as what every object has is no command", () =>
  Effect.gen(function* () {
    for (const word of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      const { code, notes } = yield* holdfast([word, "list"])
      assert.strictEqual(code, 2)
      assert.include(notes.join("\n"), `there is no command "${word}"`)
    }
  })
)

it.effect.prop(
  longer("A command line of any words ends with a documented exit code, and prints no control characters"),
  [
    FastCheck.constantFrom(...commands),
    FastCheck.nat(),
    FastCheck.oneof(
      FastCheck.constantFrom(...tokens, ...corpus, "--", "--limit", "--nope", "-1"),
      FastCheck.string({ unit: "binary" })
    ),
    FastCheck.boolean()
  ],
  ([command, at, word, replaces]) =>
    Effect.gen(function* () {
      const store = `sqlite:${yield* Databases.file}`
      const args = command.toSpliced(at % command.length, replaces ? 1 : 0, word)
      const { code, notes, out } = yield* holdfast([...args, "--store", store])
      assert.include(exitCodes, code, args.join(" "))
      for (const text of [...notes, ...out]) {
        assert.deepStrictEqual(unprintable(text.replaceAll("\n", "")), [], args.join(" "))
        assert.notMatch(text, /^\s+at .*:\d+:\d+/m)
      }
    }).pipe(Effect.scoped),
  { fastCheck: { numRuns: extent({ quick: 30, long: 600 }) } }
)
