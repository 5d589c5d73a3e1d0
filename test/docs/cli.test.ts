import { readFile, symlink, writeFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { holdfast } from "../support/cli.js"
import { filled, scheduled } from "../support/cliStore.js"
import * as temp from "../support/temp.js"

/** The words of a line as a shell takes them, without variables. */
const wordsOf = (line: string): ReadonlyArray<string> =>
  Array.from(
    line.matchAll(/'([^']*)'|"([^"]*)"|([^\s'"]+)/g),
    ([, single, double, plain]) => single ?? double ?? plain ?? ""
  )

const commandsOf = (page: string): ReadonlyArray<string> =>
  Array.from(page.matchAll(/^```sh\n([\s\S]*?)^```/gm), ([, block = ""]) => block.split("\n"))
    .flat()
    .filter((line) => line.startsWith("holdfast "))

/** What the page calls `./dist/definitions.js`. */
const definitions = `import { Schema } from "effect"
import { Definition } from "holdfast"
export const Order = Definition.make("order", {
  version: 2,
  context: Schema.Struct({ customer: Schema.String }),
  migrations: { 1: ({ context }) => ({ context }) },
  onUnknownEvent: "ignore"
})`

describe("the page about the command", () => {
  it.scoped("has commands that run, one after the other, on one store", () =>
    Effect.gen(function* () {
      const page = yield* Effect.promise(() =>
        readFile(fileURLToPath(new URL("../../docs/cli.md", import.meta.url)), "utf8")
      )
      const filename = yield* temp.database
      yield* filled(filename)
      yield* scheduled(filename)
      const directory = yield* temp.directory
      const modules = fileURLToPath(new URL("../../node_modules", import.meta.url))
      yield* Effect.promise(() => symlink(modules, `${directory}/node_modules`))
      yield* Effect.promise(() => writeFile(`${directory}/definitions.ts`, definitions))
      const env = new Map([["HOLDFAST_STORE", `sqlite:${filename}`]])
      const commands = commandsOf(page)
      const failed: Array<unknown> = []
      for (const command of commands) {
        const [line = "", redirected] = command
          .replace(/(shop\.jsonl|copy\.db)/g, `${directory}/$1`)
          .replace("./dist/definitions.js", `${directory}/definitions.ts`)
          .split(" > ")
        const [, ...args] = wordsOf(line)
        const { code, notes, out } = yield* holdfast(args, { env, answer: true })
        if (redirected !== undefined) yield* Effect.promise(() => writeFile(redirected, `${out.join("\n")}\n`))
        if (code !== 0) failed.push({ command, code, notes })
      }
      expect(failed).toEqual([])
      expect(commands.length).toBeGreaterThan(15)
    })
  )

  it.scoped("shows what a wrong command line gets", () =>
    Effect.gen(function* () {
      const page = yield* Effect.promise(() =>
        readFile(fileURLToPath(new URL("../../docs/cli.md", import.meta.url)), "utf8")
      )
      const [, line = "", said = ""] = /^\$ holdfast (.*)\n(.*)$/m.exec(page) ?? []
      const filename = yield* temp.database
      yield* filled(filename)
      const { code, notes } = yield* holdfast(wordsOf(line), {
        env: new Map([["HOLDFAST_STORE", `sqlite:${filename}`]])
      })
      expect([code, ...notes]).toEqual([3, said])
    })
  )
})
