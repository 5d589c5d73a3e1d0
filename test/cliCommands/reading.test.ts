import { symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { load } from "../../src/internal/sqliteDriver/load.js"
import { holdfast, type Ran, type Terminal, values } from "../support/cli.js"
import { filled } from "../support/cliStore.js"
import * as temp from "../support/temp.js"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** Runs command lines on a store that is filled. */
const onStore = Effect.gen(function* () {
  yield* TestClock.setTime(1_800_000_000_000)
  const filename = yield* temp.database
  yield* filled(filename)
  const env = new Map([["HOLDFAST_STORE", `sqlite:${filename}`]])
  const run = (line: string, terminal: Terminal = {}): Effect.Effect<Ran> =>
    holdfast(line.split(" "), { env, ...terminal })
  return { filename, run }
})

const idsOf = (ran: Ran) =>
  values(ran).map((value) => (typeof value === "object" && value !== null && "id" in value ? value.id : value))

describe("the commands that read", () => {
  it.scoped("list executions, by filters and in pages", () =>
    Effect.gen(function* () {
      const { run } = yield* onStore
      const table = yield* run("execution list --status failed,done --definition order")
      expect(table.out.map((line) => line.split(/ +/).slice(0, 3))).toEqual([
        ["ID", "DEFINITION", "STATUS"],
        ["order-18", "order", "DONE"],
        ["order-19", "order", "FAILED"],
        ["order-20", "order", "FAILED"]
      ])
      expect(idsOf(yield* run("execution list --roots --json"))).toEqual([
        "order-17",
        "order-18",
        "order-19",
        "order-20"
      ])
      expect(idsOf(yield* run("execution list --parent order-17 --json"))).toEqual(["parcel-1"])
      expect(idsOf(yield* run("execution list --definition order --definition-version 2 --json"))).toEqual([])
      expect(idsOf(yield* run("execution list --definition parcel --definition-version 1 --json"))).toEqual([
        "parcel-1"
      ])
      expect((yield* run("execution list --definition-version 1")).code).toBe(2)
      expect((yield* run("execution list --definition order --definition-version 0")).code).toBe(2)
      const first = yield* run("execution list --limit 2 --json")
      expect(idsOf(first)).toEqual(["order-17", "order-18"])
      const [, cursor] = /--cursor (\S+),/.exec(first.notes.join()) ?? []
      expect(idsOf(yield* run(`execution list --limit 3 --json --cursor ${cursor}`))).toEqual([
        "order-19",
        "order-20",
        "parcel-1"
      ])
      expect(idsOf(yield* run("execution list --all --json"))).toHaveLength(5)
    })
  )

  it.scoped("show an execution, its steps and its tree", () =>
    Effect.gen(function* () {
      const { run } = yield* onStore
      const shown = yield* run("execution show order-17")
      expect(shown.out).toContain("status      RUNNING")
      expect(shown.out).toContain("definition  order")
      expect(shown.out.join("\n")).toContain('"number":12345678901234567890')
      expect((yield* run("execution show order-17 --json")).out[0]).toContain('"number":12345678901234567890')
      expect(values(yield* run("execution trace order-17 --json"))).toMatchObject([
        { index: 0, eventKind: "Start", actions: ["reserve"] }
      ])
      expect((yield* run("execution tree order-17")).out).toEqual([
        "order-17  order  RUNNING  AwaitingPayment",
        "└ parcel-1  parcel  RUNNING  -"
      ])
    })
  )

  it.scoped("list work, dead letters and definitions", () =>
    Effect.gen(function* () {
      const { run } = yield* onStore
      expect(values(yield* run("outbox list --json"))).toMatchObject([
        { seq: 2, targetId: "order-17", event: { id: "shop:2" }, failure: null }
      ])
      expect(values(yield* run("spawns list --json"))).toMatchObject([{ parentId: "order-17", childId: "parcel-2" }])
      expect(values(yield* run("timers list --json"))).toMatchObject([{ path: "payment" }, { path: "later" }])
      expect(values(yield* run("timers list --due --json"))).toMatchObject([{ path: "payment", fireAt: 1_700_000_000 }])
      expect(values(yield* run("activities list --json"))).toMatchObject([
        { seq: 1, executionId: "order-17", name: "charge", key: "c", attempts: 0, owner: null }
      ])
      expect((yield* run("activities list")).out[0]?.split(/ +/)).toEqual([
        "SEQ",
        "EXECUTION",
        "NAME",
        "KEY",
        "READY",
        "OWNER",
        "ATTEMPTS",
        "ERROR"
      ])
      expect(values(yield* run("dead-letter list --json"))).toMatchObject([{ id: 1, error: "no answer" }])
      expect(values(yield* run("dead-letter list --kind timer --json"))).toEqual([])
      expect(values(yield* run("dead-letter show 1 --json"))).toMatchObject([
        { _tag: "Outbox", executionId: "order-17" }
      ])
      expect(values(yield* run("definition list --json"))).toMatchObject([{ definitionId: "order", version: 1 }])
      expect(values(yield* run("definition show order --json"))).toMatchObject([{ source: "{}" }])
    })
  )

  it.scoped("check the definitions of a module against the store", () =>
    Effect.gen(function* () {
      const { run } = yield* onStore
      const directory = yield* temp.directory
      const write = (name: string, text: string) => Effect.promise(() => writeFile(`${directory}/${name}`, text))
      yield* Effect.promise(() => symlink(join(root, "node_modules"), `${directory}/node_modules`))
      const order = `Definition.make("order", { version: 2, context: Schema.Struct({}), onUnknownEvent: "ignore",
        migrations: { 1: () => ({ context: {} }) } })`
      const begin = 'import { Schema } from "effect"\nimport { Definition } from "holdfast"\n'
      yield* write("good.ts", `${begin}export const Order = ${order}\nexport const other = 1`)
      const good = yield* run(`definition check ${directory}/good.ts`)
      expect([good.code, good.out]).toEqual([0, []])
      expect(good.notes.join()).toContain("order (version 2) can take what is in")
      const parcel = 'Definition.make("parcel", { context: Schema.Struct({ item: Schema.String }) })'
      yield* write("bad.ts", `${begin}export const Order = ${order}\nexport const Parcel = ${parcel}`)
      const bad = yield* run(`definition check ${directory}/bad.ts`)
      expect(bad.out.map((line) => line.trim().split(/ {2,}/))).toEqual([
        ["EXECUTION", "DEFINITION", "VERSION", "SUBJECT", "AT", "PROBLEM"],
        ["parcel-1", "parcel", "1", "context", "item", "is missing"]
      ])
      expect([bad.code, bad.notes.join()]).toEqual([
        5,
        expect.stringContaining("order (version 2), parcel (version 1) cannot take what is in")
      ])
      expect(values(yield* run(`definition check ${directory}/bad.ts --json`))).toMatchObject([
        { definition: "parcel", executionId: "parcel-1", definitionVersion: 1, path: "item" }
      ])
      yield* write("none.ts", "export const other = 1")
      const none = yield* run(`definition check ${directory}/none.ts`)
      expect([none.code, none.notes.join()]).toEqual([3, expect.stringContaining("exports no definition")])
      const missing = yield* run(`definition check ${directory}/missing.ts`)
      expect([missing.code, missing.notes.join()]).toEqual([3, expect.stringContaining('there is no file "')])
      yield* write("broken.ts", 'throw new Error("no\\nsuch")')
      const broken = yield* run(`definition check ${directory}/broken.ts`)
      expect([broken.code, ...broken.notes]).toEqual([
        3,
        expect.stringMatching(/broken\.ts cannot be loaded: .*no\\nsuch/)
      ])
    })
  )

  it.scoped("migrate to the definitions of a module, and publish them, once each", () =>
    Effect.gen(function* () {
      const { run } = yield* onStore
      const directory = yield* temp.directory
      yield* Effect.promise(() => symlink(join(root, "node_modules"), `${directory}/node_modules`))
      const module = `${directory}/definitions.ts`
      const write = (migration: string) =>
        Effect.promise(() =>
          writeFile(
            module,
            `import { Schema } from "effect"
import { Definition } from "holdfast"
export const Order = Definition.make("order", {
  version: 2,
  context: Schema.Struct({ customer: Schema.String }),
  migrations: { 1: ${migration} }
})
export const Parcel = Definition.make("parcel", { context: Schema.Struct({}) })`
          )
        )
      const versions = (version: number) =>
        Effect.map(run(`execution list --definition order --definition-version ${version} --json`), idsOf)
      yield* write("({ context }) => ({ context })")
      const dry = yield* run(`definition migrate ${module} --dry-run --json`)
      expect([dry.code, values(dry), dry.notes]).toEqual([
        0,
        [{ migrated: 3, problems: [] }],
        ["migrate would change 3 executions"]
      ])
      expect(yield* versions(2)).toEqual([])
      const asked = yield* run(`definition migrate ${module}`)
      // Nobody is there to answer.
      expect([asked.code, yield* versions(2)]).toEqual([2, []])
      const done = yield* run(`definition migrate ${module} --yes`)
      expect([done.code, done.out, done.notes]).toEqual([0, [], ["migrate: 3 executions"]])
      expect(yield* versions(2)).toEqual(["order-17", "order-19", "order-20"])
      expect(yield* versions(1)).toEqual(["order-18"])
      const again = yield* run(`definition migrate ${module} --yes`)
      expect([again.code, again.notes]).toEqual([0, ["migrate would change 0 executions"]])

      const would = yield* run(`definition publish ${module} --dry-run --json`)
      expect([would.code, values(would)]).toMatchObject([
        0,
        [
          { definitionId: "order", version: 2 },
          { definitionId: "parcel", version: 1 }
        ]
      ])
      expect((yield* run(`definition publish ${module}`)).code).toBe(2)
      expect(idsOf(yield* run("definition list --json"))).toHaveLength(1)
      const published = yield* run(`definition publish ${module} --yes`)
      expect([published.code, published.out]).toEqual([0, ["order (version 2)", "parcel (version 1)"]])
      expect(values(yield* run("definition list --json"))).toMatchObject([
        { definitionId: "order", version: 1 },
        { definitionId: "order", version: 2 },
        { definitionId: "parcel", version: 1 }
      ])
      const twice = yield* run(`definition publish ${module} --yes`)
      expect([twice.code, twice.out, twice.notes]).toEqual([
        0,
        [],
        [
          "order (version 2) is published already",
          "parcel (version 1) is published already",
          "publish: there is nothing to change"
        ]
      ])
      expect((yield* run(`definition migrate ${directory}/missing.ts --yes`)).code).toBe(3)
      expect((yield* run(`definition publish ${directory}/missing.ts --yes`)).code).toBe(3)
    })
  )

  it.scoped("name what stands in the way of a migration, and migrate the others", () =>
    Effect.gen(function* () {
      const { run } = yield* onStore
      const directory = yield* temp.directory
      yield* Effect.promise(() => symlink(join(root, "node_modules"), `${directory}/node_modules`))
      const module = `${directory}/definitions.ts`
      const text = `import { Schema } from "effect"
import { Definition } from "holdfast"
export const Order = Definition.make("order", {
  version: 2,
  context: Schema.Struct({ customer: Schema.String }),
  migrations: { 1: ({ context, path }) => { if (path === "Other") throw new Error("no"); return { context } } }
})`
      yield* Effect.promise(() => writeFile(module, text))
      expect((yield* run("execution redrive order-19 --at Other")).code).toBe(0)
      const dry = yield* run(`definition migrate ${module} --dry-run`)
      expect([dry.code, dry.notes]).toEqual([5, ["holdfast: migrate would change 2 executions, 1 problem"]])
      expect(dry.out.join("\n")).toContain("the migration from version 1 to 2 failed: Error: no")
      const done = yield* run(`definition migrate ${module} --yes --json`)
      expect([done.code, values(done)]).toMatchObject([4, [{ migrated: 2, problems: [{ executionId: "order-19" }] }]])
    })
  )

  it.scoped("count what waits", () =>
    Effect.gen(function* () {
      const { run } = yield* onStore
      expect(values(yield* run("stats --json"))).toMatchObject([
        {
          outbox: { count: 1 },
          spawns: { count: 1, oldest: null },
          timers: { count: 2, due: 1 },
          deadLetters: { count: 1 }
        }
      ])
      expect((yield* run("stats")).out.map((line) => line.split(/ {2,}/).slice(0, 2))).toEqual([
        ["WORK", "COUNT"],
        ["outbox", "1"],
        ["spawns", "1"],
        ["timers", "2"],
        ["activities", "1"],
        ["delayed", "0"],
        ["dead letters", "1"]
      ])
    })
  )

  it.scoped("check every row, and what rows belong to", () =>
    Effect.gen(function* () {
      const { filename, run } = yield* onStore
      const sound = yield* run("verify")
      expect([sound.code, sound.out]).toEqual([0, []])
      expect(sound.notes.join()).toContain("all in order")
      const library = yield* load()
      const database = library.open(filename)
      for (const sql of [
        "UPDATE harel_executions SET data = '{' WHERE id = 'order-18'",
        "UPDATE harel_executions SET version = 9 WHERE id = 'order-19'",
        "INSERT INTO harel_timers VALUES ('gone', 'a', 1.0), ('gone', 'b', 1.0)",
        "DELETE FROM harel_executions WHERE id = 'order-17'"
      ]) {
        database.prepare(sql).all([])
      }
      database.close()
      const broken = yield* run("verify --json")
      expect(broken.code).toBe(5)
      expect(values(broken)).toEqual(
        expect.arrayContaining([
          expect.objectContaining({ table: "executions", key: "order-18" }),
          expect.objectContaining({ table: "executions", key: "order-19" }),
          expect.objectContaining({ table: "timers", key: "gone", problem: expect.stringContaining("2 such rows") }),
          expect.objectContaining({ table: "spawns", key: "order-17" }),
          expect.objectContaining({
            table: "executions",
            key: "parcel-1",
            problem: expect.stringContaining('child of "order-17"')
          })
        ])
      )
      expect(broken.notes.at(-1)).toMatch(/^holdfast: the store in .* is not in order: \d+ problems$/)
    })
  )

  it.scoped("say in one sentence what is wrong, with the nearest match, and end with its code", () =>
    Effect.gen(function* () {
      const { run } = yield* onStore
      const wrong = (line: string) => Effect.map(run(line), ({ code, notes, out }) => [code, out.length, ...notes])
      expect(yield* wrong("execution show order-1")).toEqual([
        3,
        0,
        'holdfast: there is no execution "order-1"; did you mean "order-17"?'
      ])
      expect(yield* wrong("execution trace ordre-18")).toEqual([
        3,
        0,
        'holdfast: there is no execution "ordre-18"; did you mean "order-18"?'
      ])
      expect(yield* wrong("dead-letter show 7")).toEqual([
        3,
        0,
        "holdfast: there is no dead letter 7: holdfast dead-letter list shows them all"
      ])
      expect(yield* wrong("definition show ordr")).toEqual([
        3,
        0,
        'holdfast: no definition "ordr" was published; did you mean "order"?'
      ])
      expect(yield* wrong("definition show order 2")).toEqual([
        3,
        0,
        'holdfast: there is no such version of "order": there are 1'
      ])
      expect(yield* wrong("execution list --status RUNING")).toEqual([
        2,
        0,
        'holdfast: --status knows no "RUNING"; did you mean "RUNNING"?'
      ])
      expect(yield* wrong("execution list --limit 0")).toEqual([
        2,
        0,
        'holdfast: --limit "0": expected a whole number of 1 to 1000'
      ])
      expect(yield* wrong("execution list --cursor x")).toMatchObject([2, 0, expect.stringContaining("cursor")])
      expect(yield* wrong("execution show")).toMatchObject([2, 0, expect.stringContaining("<id>")])
      expect(yield* wrong("stats more")).toMatchObject([2, 0, expect.stringContaining("'more'")])
      expect(yield* wrong("execution show a b")).toMatchObject([2, 0, expect.stringContaining("'b'")])
      expect(yield* wrong("stats --prefix 1;drop")).toEqual([
        2,
        0,
        'holdfast: --prefix "1;drop": expected at most 30 letters, digits and underscores, not beginning with a digit'
      ])
      const storeless = yield* holdfast(["stats"])
      expect([storeless.code, ...storeless.notes]).toMatchObject([
        2,
        expect.stringMatching(/^holdfast: no store is named: give --store/)
      ])
    })
  )

  it.scoped("are in colour and as wide as the terminal", () =>
    Effect.gen(function* () {
      const { run } = yield* onStore
      const { out } = yield* run("execution list", { colors: true, width: 60 })
      expect(out[0]).toContain("\u001b[1m")
      expect(out.join("\n")).toContain("\u001b[31mFAILED")
      // biome-ignore lint/suspicious/noControlCharactersInRegex: colours take no room
      for (const line of out) expect(line.replace(/\u001b\[\d+m/g, "").length).toBeLessThanOrEqual(60)
    })
  )

  it.effect("have help and completions for three shells", () =>
    Effect.gen(function* () {
      const help = yield* holdfast(["execution", "list", "--help"])
      expect(help.code).toBe(0)
      expect(help.out.join("\n")).toContain("--status")
      expect(help.out.join("\n")).not.toContain("\u001b")
      for (const shell of ["bash", "zsh", "fish"]) {
        const { code, out } = yield* holdfast(["--completions", shell])
        expect(code).toBe(0)
        expect(out.join("\n")).toContain("dead-letter")
      }
      expect((yield* holdfast(["--version"])).out).toEqual([expect.stringMatching(/^\d+\.\d+\.\d+$/)])
    })
  )
})
