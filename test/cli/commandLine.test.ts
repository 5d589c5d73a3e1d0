import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { arrange, type Words } from "../../src/internal/cli/arguments.js"
import { toPretty, toText } from "../../src/internal/cli/json.js"
import { describe as describeStore, parse } from "../../src/internal/cli/storeName.js"
import { distance, nearest } from "../../src/internal/cli/suggestion.js"
import { lines } from "../../src/internal/cli/table.js"

const words: Words = { execution: ["list", "show"], stats: [] }

describe("the command line", () => {
  it.effect("is read in any order, with = too, and all behind -- as it is", () =>
    Effect.gen(function* () {
      const arranged = (...args: ReadonlyArray<string>) => arrange(args, words)
      const show = ["execution", "show", "--store", "sqlite:a=b", "--json", "--", "id"]
      expect(yield* arranged("execution", "show", "id", "--store", "sqlite:a=b", "--json")).toEqual(show)
      expect(yield* arranged("--store=sqlite:a=b", "execution", "--json", "show", "id")).toEqual(show)
      expect(yield* arranged("execution", "show", "--", "--json")).toEqual(["execution", "show", "--", "--json"])
      expect(yield* arranged("stats")).toEqual(["stats"])
      expect(yield* arranged()).toEqual(["--help"])
      expect(yield* arranged("execution", "-h")).toEqual(["execution", "--help"])
    })
  )

  it.effect("is refused in one sentence, with the nearest match", () =>
    Effect.gen(function* () {
      const refusal = (...args: ReadonlyArray<string>) =>
        Effect.map(Effect.flip(arrange(args, words)), ({ message }) => message)
      expect(yield* refusal("exection", "list")).toBe('there is no command "exection"; did you mean "execution"?')
      expect(yield* refusal("zzz")).toBe('there is no command "zzz": expected execution or stats')
      expect(yield* refusal("execution", "lits")).toBe('there is no command "execution lits"; did you mean "list"?')
      expect(yield* refusal("execution")).toBe("execution needs to be told what to do: list or show")
      expect(yield* refusal("stats", "--sotre", "x")).toBe('there is no option "--sotre"; did you mean "--store"?')
      expect(yield* refusal("stats", "--store")).toBe("--store takes a value")
      // As where a variable of a shell is not set: a filter that is dropped would select more than was meant.
      for (const name of ["--status", "--where"]) {
        expect(yield* refusal("execution", "cancel", "--definition", "order", name, "")).toBe(
          `${name} is given without a value`
        )
        expect(yield* refusal("execution", "cancel", `${name}=`)).toBe(`${name} is given without a value`)
      }
      expect(yield* refusal("execution", "list", "--status", "RUNNING", "")).toBe("an argument is empty")
      expect(yield* refusal("--completions", "tcsh")).toBe(
        '--completions knows no "tcsh": expected sh, bash, fish or zsh'
      )
      expect(yield* refusal("stats", "--json=1")).toBe("--json takes no value")
      expect(yield* refusal("stats\u001b[2J")).toBe(
        'there is no command "stats\\u001b[2J": expected execution or stats'
      )
    })
  )
})

describe("the nearest match", () => {
  it("counts what a typing error is", () => {
    expect(distance("", "abc")).toBe(3)
    expect(distance("order", "oredr")).toBe(1)
    expect(distance("kitten", "sitting")).toBe(3)
  })

  it("is a word that is begun, or one that is near; none where all are far", () => {
    expect(nearest("exec", ["stats", "execution"])).toBe("execution")
    expect(nearest("RUNING", ["RUNNING", "DONE"])).toBe("RUNNING")
    expect(nearest("order-17", ["parcel-1", "order-71"])).toBe("order-71")
    expect(nearest("order", ["parcel"])).toBe(undefined)
    expect(nearest("x".repeat(100_000), ["x".repeat(100_001)])).toBe(undefined)
  })
})

describe("the name of a store", () => {
  it("is a file or an address", () => {
    const named = (text: string) => Either.map(parse(text), describeStore)
    expect(named("sqlite:./a.db")).toEqual(Either.right("./a.db"))
    expect(named("libsql:file:/x/a b.db")).toEqual(Either.right("/x/a b.db"))
    expect(named("libsql://me:secret@db.example.com")).toEqual(
      Either.left("a libSQL server takes no user name and no password: its token is in LIBSQL_AUTH_TOKEN")
    )
    expect(named("libsql://db.example.com")).toEqual(Either.right("the libSQL server at db.example.com"))
    expect(named("libsql:https://db.example.com?authToken=secret")).toEqual(
      Either.right("the libSQL server at db.example.com")
    )
    expect(named("rqlite:http://u:secret@a:4001,http://b:4001")).toEqual(Either.right("rqlite at a:4001, b:4001"))
  })

  it("is refused with the nearest form, and without a secret", () => {
    const refusal = (text: string) => Either.getOrThrow(Either.flip(parse(text)))
    expect(refusal("sqlit:a.db")).toMatch(/did you mean "sqlite:a.db"\?$/)
    expect(refusal("package.json")).toMatch(/did you mean "sqlite:package.json"\?$/)
    expect(refusal("sqlite::memory:")).toBe("expected the name of a file after sqlite:")
    expect(refusal("rqlite:a:4001")).toBe("expected http://HOST:PORT or https://HOST:PORT after rqlite:")
    expect(refusal("http://u:secret@a:4001")).not.toContain("secret")
  })
})

describe("what is printed", () => {
  const columns = [
    { name: "id", show: ({ id }: { readonly id: string }) => id },
    { name: "text", show: ({ text }: { readonly text: string }) => text, color: () => "red" as const }
  ]
  const rows = [
    { id: "a", text: "one" },
    { id: "bbb", text: "a text that is\nlong" }
  ]

  it("is a table whose columns are aligned, a row a line", () => {
    expect(lines(columns, rows, { colors: false, width: undefined, header: true })).toEqual([
      "ID   TEXT",
      "a    one",
      "bbb  a text that is\\nlong"
    ])
  })

  it("is cut to the width of a terminal, and in colour there", () => {
    expect(lines(columns, rows, { colors: true, width: 15, header: false })).toEqual([
      "a    \u001b[31mone\u001b[0m",
      "bbb  \u001b[31ma text th…\u001b[0m"
    ])
  })

  it("leaves the last columns out where there is no room for all, and keeps what names a row", () => {
    const wide = ["id", "one", "two", "three"].map((name) => ({ name, show: () => `${name}-0123456789` }))
    const at = (width: number) => lines(wide, [{}], { colors: false, width, header: false })
    expect(at(40)).toEqual(["id-0123456789  one-01…  two-01…  three-…"])
    expect(at(20)).toEqual(["id-01234…  one-0123…"])
    expect(at(12)).toEqual(["id-01234567…"])
    expect(at(3)).toEqual(["id…"])
  })

  it.effect("is JSON with integers of any size, in one line or in several", () =>
    Effect.gen(function* () {
      const value = {
        big: 12345678901234567890n,
        text: 'a "quoted" {text}, with: signs',
        list: [1, [], {}, { a: null }],
        more: "x".repeat(60)
      }
      const text = yield* toText(value)
      expect(text).toContain('"big":12345678901234567890,')
      const pretty = toPretty(value)
      expect(pretty.split("\n").slice(0, 6)).toEqual([
        "{",
        '  "big": 12345678901234567890,',
        '  "text": "a \\"quoted\\" {text}, with: signs",',
        '  "list": [',
        "    1,",
        "    [],"
      ])
      expect(JSON.stringify(JSON.parse(pretty))).toBe(JSON.stringify(JSON.parse(text)))
      expect(toPretty({ a: 1 })).toBe('{"a":1}')
    })
  )
})
