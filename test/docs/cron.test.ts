import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import * as Cron from "holdfast/Cron"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))
const page = () => readFile(join(root, "docs", "cron.md"), "utf8")

describe("docs/cron.md", () => {
  let directory = ""
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "holdfast-cron-"))
    await symlink(join(root, "node_modules"), join(directory, "node_modules"))
  })
  afterAll(() => rm(directory, { recursive: true, force: true }))

  it("has an example that runs", async () => {
    const [[, example = ""] = []] = Array.from((await page()).matchAll(/```ts\n([\s\S]*?)```/g))
    const file = join(directory, "example.ts")
    await writeFile(file, `${example}\nexport { program }\n`)
    const { program } = await import(file)
    expect(await Effect.runPromise(program)).toMatch(/^report of \d{4}-\d\d-\d\d$/)
  })

  it("names functions that there are", async () => {
    const named = Array.from((await page()).matchAll(/\bCron\.(\w+)/g), ([, name = ""]) => name)
    expect(named.length).toBeGreaterThan(10)
    // of Effect's module
    const elsewhere = ["next"]
    for (const name of named) if (!elsewhere.includes(name)) expect(Object.keys(Cron)).toContain(name)
  })
})
