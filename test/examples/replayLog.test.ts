import { fileURLToPath } from "node:url"
import type { PlatformError } from "@effect/platform/Error"
import * as FileSystem from "@effect/platform/FileSystem"
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import { describe, expect, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as Cli from "../../examples/replay/cli.js"
import { fold } from "../../examples/replay/fold.js"
import * as Log from "../../examples/replay/log.js"

const sample = fileURLToPath(new URL("../../examples/replay/sample.csv", import.meta.url))
const defaults: Log.Columns = { case: "case:concept:name", activity: "concept:name", timestamp: "time:timestamp" }
const short: Log.Columns = { case: "c", activity: "a", timestamp: "t" }

/** A file of this content; the path in messages is shortened to `LOG`. */
const withFile = <A>(
  content: string | Uint8Array,
  use: (path: string) => Effect.Effect<A, Log.LogError | PlatformError, FileSystem.FileSystem>
) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const path = yield* fs.makeTempFileScoped({ prefix: "holdfast-log-" })
    yield* fs.writeFile(path, typeof content === "string" ? new TextEncoder().encode(content) : content)
    return yield* use(path).pipe(Effect.mapError((error) => error.message.replaceAll(path, "LOG")))
  }).pipe(Effect.scoped, Effect.provide(NodeFileSystem.layer))

const survey = (content: string | Uint8Array, columns = short, delimiter = Option.none<string>()) =>
  withFile(content, (path) => Log.survey(path, columns, delimiter))

const readAll = (content: string | Uint8Array, columns = short, delimiter = Option.none<string>()) =>
  withFile(content, (path) =>
    Log.survey(path, columns, delimiter).pipe(
      Effect.flatMap((log) => Stream.runCollect(Log.rows(log))),
      Effect.map(Chunk.toReadonlyArray)
    )
  )

describe("a log", () => {
  it.effect("is read whatever else its columns hold: quotes, line breaks, a byte order mark, empty lines", () =>
    Effect.gen(function* () {
      const rows = yield* readAll('\ufeffx,t,c,a\r\n"1\n2",10:00,k 1,"A ""b"", c"\r\n\r\n,11:00,k 1,B\r\n,09:00,ñ,B')
      expect(rows.map((row) => [row.case, row.activity, row.timestamp])).toEqual([
        ["k 1", 'A "b", c', "10:00"],
        ["k 1", "B", "11:00"],
        ["ñ", "B", "09:00"]
      ])
      expect(rows.map((row) => [row.opens, row.closes, row.introduces])).toEqual([
        [true, false, true],
        [false, true, true],
        [true, true, false]
      ])
    })
  )

  const delimited: ReadonlyArray<readonly [name: string, content: string]> = [
    ["semicolons", "x;c;a;t\n1,5;k;A, B;10:00\n2,5;k;C;11:00\n"],
    ["semicolons, and more commas than those", '\ufeffc;a;t;"x,y,z,u,v"\nk;A, B;10:00;\nk;C;11:00;\n'],
    ["tabs", "c\ta\tt\nk\tA, B\t10:00\nk\tC\t11:00\n"],
    ["vertical bars", "c|a|t\nk|A, B|10:00\nk|C|11:00\n"],
    ["commas, and more semicolons than those", 'c,a,t,x;y;z;u;v\nk,"A, B",10:00,\nk,C,11:00,\n']
  ]

  it.effect.each(delimited)("is read whatever is between its columns: %s", ([, content]) =>
    Effect.gen(function* () {
      const rows = yield* readAll(content)
      expect(rows.map((row) => [row.case, row.activity, row.timestamp])).toEqual([
        ["k", "A, B", "10:00"],
        ["k", "C", "11:00"]
      ])
    })
  )

  it.effect("is read with the delimiter that is given, whatever its header looks like", () =>
    Effect.gen(function* () {
      const columns = { case: "c", activity: "a,t", timestamp: "t" }
      const content = "c%a,t%t\nk%A%10:00\n"
      const rows = yield* readAll(content, columns, Option.some("%"))
      expect(rows.map((row) => [row.case, row.activity, row.timestamp])).toEqual([["k", "A", "10:00"]])
      expect(yield* Effect.flip(survey("c;a;t\n1;A;x\n", short, Option.some(",")))).toBe(
        'LOG: the header has one column, "c;a;t", where commas are between the columns; say by --delimiter what is'
      )
    })
  )

  it.effect("tells its content by a digest: not its name, but every byte and the choice of columns", () =>
    Effect.gen(function* () {
      const digest = (content: string, columns = short) => Effect.map(survey(content, columns), (log) => log.digest)
      const one = yield* digest("c,a,t\n1,A,x\n")
      expect(one).toMatch(/^[0-9a-f]{16}$/)
      expect(yield* digest("c,a,t\n1,A,x\n")).toBe(one)
      expect(yield* digest("c,a,t\n1,A,x")).not.toBe(one)
      expect(yield* digest("c,a,t\n1,A,x\n", { ...short, activity: "c" })).not.toBe(one)
      const both = "c,a,t,x;c;a;t\n1,A,x,;1;A;x\n"
      const commas = yield* survey(both, short, Option.some(","))
      const semicolons = yield* survey(both, short, Option.some(";"))
      expect(semicolons.digest).not.toBe(commas.digest)
    })
  )

  it.effect("gives the same id to rows that say the same, and to no others", () =>
    Effect.gen(function* () {
      const rows = yield* readAll('c,a,t,x\n1,A,x,first\n1,A,x,second\n1,"A"",""x",y,\n1,A,"x"",""y",\n')
      const ids = rows.map((row) => row.id)
      expect(ids[1]).toBe(ids[0])
      expect(new Set(ids).size).toBe(3)
    })
  )

  it.effect("may have any number of short rows", () =>
    Effect.gen(function* () {
      const rows = yield* readAll(`c,a,t\n${"1,A,x\n".repeat(60_000)}`)
      expect(rows.length).toBe(60_000)
      expect(rows.findIndex((row) => row.closes)).toBe(59_999)
    })
  )

  const broken: ReadonlyArray<readonly [name: string, content: string | Uint8Array, problem: string]> = [
    ["an empty file", "", "LOG: it has no events"],
    ["a header alone", "c,a,t\n", "LOG: it has no events"],
    [
      "a missing column",
      "c,b,t\n1,A,x\n",
      'LOG: there is no column "a", only "c", "b", "t"; say by --activity which one it is'
    ],
    ["a column twice", "c,a,t,c\n1,A,x,2\n", 'LOG: the column "c" is there more than once'],
    [
      "another separator that is not looked for",
      "c%a%t\n1%A%x\n",
      'LOG: the header has one column, "c%a%t", where commas are between the columns; say by --delimiter what is'
    ],
    [
      "a missing column between semicolons",
      "c;b;t\n1;A;x\n",
      'LOG: there is no column "a", only "c", "b", "t"; say by --activity which one it is'
    ],
    [
      "a quote in the header that is never closed there",
      'c,a,"t\n1,A,x",y\n2,B,y\n',
      "LOG: the header goes over several lines: a quote in the first of them is never closed there"
    ],
    [
      "an open quote that swallows rows up to the next one",
      'c,a,t\n1,A,"x\n2,B,y\n3,"",z\n',
      "LOG: line 4: the file ends inside a quoted field; it is cut off, or a quote in it is never closed"
    ],
    [
      "an open quote that swallows a column",
      'c,a,t\n1,"A,x\n2,B",\n',
      'LOG: line 3: the column "t" is empty in a row of several lines; it began on a line before this one: a quote there may never be closed'
    ],
    [
      "an open quote that swallows the ends of rows",
      'c,a,t\n1,A,"x\n2,B,y"\n3,"C,z\n4,D"\n',
      "LOG: line 5: the row has not as many fields as the header; it began on a line before this one: a quote there may never be closed"
    ],
    [
      "a row that is cut off",
      "c,a,t\n1,A,x\n2,B",
      "LOG: line 3: the row has not as many fields as the header, with commas between them; the file is cut off, or it is no such log"
    ],
    [
      "a quoted field that is cut off",
      'c,a,t\n1,A,x\n2,"B',
      "LOG: line 3: the file ends inside a quoted field; it is cut off, or a quote in it is never closed"
    ],
    [
      "a quote out of place",
      'c,a,t\n1,A"B,x\n',
      "LOG: line 2: a quote is out of place: a field that has quotes in it is put in quotes, and each of them doubled"
    ],
    [
      "text after a quote",
      'c,a,t\n1,"A"B,x\n',
      "LOG: line 2: a quote is out of place: a field that has quotes in it is put in quotes, and each of them doubled"
    ],
    [
      "a quote that swallows the rest",
      `c,a,t\n1,"A,x\n${"2,B,x\n".repeat(200_000)}`,
      "LOG: line 174765: the row here is longer than 1048576 bytes; a quote before it may never be closed"
    ],
    ["a case without a name", "c,a,t\n1,A,x\n,B,y\n", 'LOG: line 3: the column "c" is empty'],
    ["an event without an activity", 'c,a,t\n1,"",x\n', 'LOG: line 2: the column "a" is empty'],
    ["an event without a time", "c,a,t\n1,A,\n", 'LOG: line 2: the column "t" is empty'],
    [
      "an id that is too long",
      `c,a,t\n1,A,x\n${"é".repeat(446)},A,x\n`,
      "LOG: line 3: case, activity and timestamp are 904 bytes long together; at most 900 can be kept"
    ],
    [
      "bytes that are not UTF-8",
      Uint8Array.of(0x63, 0x2c, 0x61, 0x2c, 0x74, 0x0a, 0xe9, 0x2c),
      "LOG: it is not UTF-8 text"
    ],
    [
      "bytes that are not UTF-8, far behind the beginning",
      new Uint8Array([...new TextEncoder().encode(`c,a,t\n${"1,A,x\n".repeat(50_000)}1,A,`), 0xff, 0x0a]),
      "LOG: it is not UTF-8 text"
    ],
    [
      "a character that is cut off",
      Uint8Array.of(...new TextEncoder().encode("c,a,t\n1,A,"), 0xc3),
      "LOG: it is not UTF-8 text"
    ]
  ]

  it.effect.each(broken)("is refused in one sentence: %s", ([, content, problem]) =>
    Effect.gen(function* () {
      expect(yield* Effect.flip(survey(content))).toBe(problem)
    })
  )

  it.effect("is refused where there is none, or where it is no file", () =>
    Effect.gen(function* () {
      const missing = yield* Effect.flip(Log.survey("/no/such.csv", short))
      expect(missing.message).toBe("/no/such.csv: there is no such file")
      const directory = yield* Effect.flip(Log.survey("/", short))
      expect(directory.message).toBe("/: it is a directory; a log is a CSV file")
    })
  )

  const changes: ReadonlyArray<readonly [how: string, content: string]> = [
    ["longer", "c,a,t\n1,A,x\n2,B,y\n3,C,z\n"],
    ["shorter", "c,a,t\n1,A,x\n"],
    ["other", "c,a,t\n1,A,x\n2,B,z\n"],
    ["of other cases", "c,a,t\n1,A,x\n9,B,y\n"],
    ["broken", "c,a,t\n1,A,x\n2,B\n"]
  ]

  it.effect.each(changes)("that is %s by the second reading never gives its last row", ([, content]) =>
    withFile("c,a,t\n1,A,x\n2,B,y\n", (path) =>
      Effect.gen(function* () {
        const log = yield* Log.survey(path, short)
        const fs = yield* FileSystem.FileSystem
        yield* fs.writeFileString(path, content)
        const given: Array<string> = []
        const exit = yield* Effect.exit(
          Stream.runForEach(Log.rows(log), (row) => Effect.sync(() => void given.push(row.case)))
        )
        expect(given).not.toContain("2")
        expect(exit).toMatchObject({ _tag: "Failure", cause: { error: { _tag: "LogError" } } })
      })
    )
  )

  it.effect("that comes with the example folds as it was made: 60 cases, 419 events, 9 duplicates", () =>
    Effect.gen(function* () {
      const log = yield* Log.survey(sample, defaults)
      const folded = yield* fold(Log.rows(log))
      expect([log.rows, folded.cases.size, folded.duplicates]).toEqual([428, 60, 9])
      expect(folded.counters.size).toBe(log.activities.size)
      // The last row of this case repeats its first one: it ended with what came before.
      expect(folded.cases.get("P-1050")).toMatchObject({ activity: expect.not.stringMatching("registered") })
    })
  )
})

describe("the command line", () => {
  const options = (...args: ReadonlyArray<string>) => Either.map(Cli.parse(args), Option.getOrThrow)

  it("has a default for everything", () => {
    expect(options()).toEqual(
      Either.right({
        log: Option.none(),
        store: { _tag: "Sqlite", filename: "./replay.db" },
        columns: defaults,
        delimiter: Option.none(),
        inactivity: Duration.hours(1),
        batch: 250,
        verify: false,
        json: false,
        verbose: false
      })
    )
  })

  it("takes options before and after the log", () => {
    const args = [
      "--json",
      "a.csv",
      "--store",
      "sqlite:/tmp/b:c.db",
      "--case=id",
      "--inactivity",
      "2 days",
      "--batch",
      "7"
    ]
    expect(options(...args)).toMatchObject({
      right: {
        log: Option.some("a.csv"),
        store: { _tag: "Sqlite", filename: "/tmp/b:c.db" },
        columns: { ...defaults, case: "id" },
        inactivity: Duration.days(2),
        batch: 7,
        json: true
      }
    })
  })

  it("takes the nodes of a cluster, whose password it shows nobody", () => {
    const parsed = options("--store", "rqlite:http://u:s3cret@a:4001,http://b:4001")
    expect(Either.map(parsed, ({ store }) => store._tag === "Rqlite" && Redacted.value(store.urls))).toEqual(
      Either.right("http://u:s3cret@a:4001,http://b:4001")
    )
    expect(JSON.stringify(parsed)).not.toContain("s3cret")
  })

  it.each([
    ["libsql:http://h:8080?authToken=s3cret", "http://h:8080?authToken=s3cret"],
    ["libsql:libsql://h", "libsql://h"],
    ["libsql://h?authToken=s3cret", "libsql://h?authToken=s3cret"]
  ])("takes a libSQL server, whose token it shows nobody: %s", (text, url) => {
    const parsed = options("--store", text)
    expect(Either.map(parsed, ({ store }) => store._tag === "LibsqlServer" && Redacted.value(store.url))).toEqual(
      Either.right(url)
    )
    expect(JSON.stringify(parsed)).not.toContain("s3cret")
  })

  it.each([
    [[], Option.none()],
    [["--delimiter", ";"], Option.some(";")],
    [["--delimiter", "tab"], Option.some("\t")],
    [["--delimiter", "\\t"], Option.some("\t")]
  ])("takes the delimiter: %j", (args, delimiter) => {
    expect(Either.map(options(...args), (options) => options.delimiter)).toEqual(Either.right(delimiter))
  })

  it("takes a libSQL file", () => {
    expect(Either.map(options("--store", "libsql:file:a b.db"), ({ store }) => store)).toEqual(
      Either.right({ _tag: "LibsqlFile", filename: "a b.db" })
    )
  })

  it("gives its help where that is asked for", () => {
    expect(Cli.parse(["a.csv", "--help"])).toEqual(Either.right(Option.none()))
    for (const name of [
      "store",
      "case",
      "activity",
      "timestamp",
      "delimiter",
      "inactivity",
      "batch",
      "verify",
      "json",
      "verbose"
    ]) {
      expect(Cli.help).toContain(`  --${name} `)
    }
  })

  it.each([
    [["--fast"], "Unknown option '--fast'"],
    [["a.csv", "-j"], "Unknown option '-j'"],
    [["--store"], "Option '--store <value>' argument missing"],
    [["--json=yes"], "Option '--json' does not take an argument"],
    [["a.csv", "b.csv"], 'one log at a time: "a.csv", "b.csv"'],
    [["--store", "x.db"], "--store x.db: expected sqlite:FILE, libsql:file:FILE, libsql:URL or rqlite:URL[,URL...]"],
    [
      ["--store", "postgres://x"],
      '--store postgres://x: there is no store "postgres", only sqlite:FILE, libsql:file:FILE, libsql:URL or rqlite:URL[,URL...]'
    ],
    [["--store", "rqlite:"], "--store expected http://HOST:PORT or https://HOST:PORT after rqlite:"],
    [["--store", "rqlite:ftp://u:s3cret@h"], "--store expected http://HOST:PORT or https://HOST:PORT after rqlite:"],
    [
      ["--store", "libsql:x.db"],
      "--store expected file:FILE, libsql://HOST, https://HOST:PORT or http://HOST:PORT after libsql:"
    ],
    [["--store", "libsql:file:"], "--store libsql:file:: expected the name of a file after libsql:file:"],
    [["--store", "sqlite:"], "--store sqlite:: expected the name of a file after sqlite:"],
    [["--store", "sqlite::memory:"], "--store sqlite::memory:: expected the name of a file after sqlite:"],
    [["--delimiter", "::"], '--delimiter "::": expected one character that is no quote and no end of line, or tab'],
    [["--delimiter", ""], '--delimiter "": expected one character that is no quote and no end of line, or tab'],
    [["--delimiter", '"'], '--delimiter "\\"": expected one character that is no quote and no end of line, or tab'],
    [["--inactivity", "soon"], '--inactivity soon: expected a time as in "30 minutes"'],
    [["--inactivity", "0 seconds"], '--inactivity 0 seconds: expected a time as in "30 minutes"'],
    [["--inactivity", "999999 weeks"], '--inactivity 999999 weeks: expected a time as in "30 minutes"'],
    [["--batch", "0"], "--batch 0: expected a whole number of 1 to 10000"],
    [["--batch", "1e2"], "--batch 1e2: expected a whole number of 1 to 10000"]
  ])("refuses %j", (args, problem) => {
    const message = Either.map(Either.flip(Cli.parse(args)), (error) => error.message)
    expect(message).toEqual(Either.right(`${problem} (--help lists what there is)`))
  })
})
