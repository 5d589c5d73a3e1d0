import { execFile } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { promisify } from "node:util"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { holdfast } from "../support/cli.js"
import * as temp from "../support/temp.js"

const run = promisify(execFile)

/** What bash offers behind the words of a command line. */
const offered = (script: string, line: string) =>
  Effect.promise(async () => {
    const { stdout } = await run("bash", [
      "-c",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is bash
      'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _holdfast_bash_completions holdfast; IFS=,; echo "${COMPREPLY[*]}"',
      script,
      ...line.split(" ")
    ])
    return stdout.trim().split(",")
  })

describe("the completions for bash", () => {
  it.scoped("offer nouns, verbs, and the options of each command", () =>
    Effect.gen(function* () {
      const { code, out } = yield* holdfast(["--completions", "bash"])
      expect(code).toBe(0)
      const script = `${yield* temp.directory}/holdfast.bash`
      yield* Effect.promise(() => writeFile(script, out.join("\n")))
      expect(yield* offered(script, "holdfast ex")).toEqual(["execution", "export"])
      expect(yield* offered(script, "holdfast cron pa")).toEqual(["pause"])
      expect(yield* offered(script, "holdfast execution list --st")).toEqual(["--store", "--status"])
      expect(yield* offered(script, "holdfast dead-letter redrive --ki")).toEqual(["--kind"])
      expect(yield* offered(script, "holdfast import --rep")).toEqual(["--replace"])
      expect(yield* offered(script, "holdfast execution list --status CANCELL")).toEqual(["CANCELLED", "CANCELLING"])
      expect(yield* offered(script, "holdfast dead-letter list --kind o")).toEqual(["outbox"])
    })
  )
})

describe("the completions for zsh and fish", () => {
  it.effect("say which options take a value, and which words", () =>
    Effect.gen(function* () {
      const zsh = (yield* holdfast(["--completions", "zsh"])).out.map((line) => line.trim())
      expect(zsh).toContainEqual(expect.stringMatching(/^'\*--status\[.*\]:status:\(PENDING RUNNING [A-Z ]+\)' \\$/))
      expect(zsh).toContainEqual(expect.stringMatching(/^'--store\[.*\]:store: ' \\$/))
      expect(zsh).toContainEqual(expect.stringMatching(/^'--json\[.*\bstdout\b[^:]*\]' \\$/))
      const fish = (yield* holdfast(["--completions", "fish"])).out
      expect(fish).toContainEqual(expect.stringContaining(" -l kind -r -f -a 'outbox spawn timer activity' -d "))
    })
  )
})
