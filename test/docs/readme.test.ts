import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { program } from "../support/programs.js"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../..", import.meta.url))
const read = (path: string) => readFile(join(root, path), "utf8")

describe("the README", () => {
  let directory = ""
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "holdfast-readme-"))
  })
  afterAll(() => rm(directory, { recursive: true, force: true }))

  it("shows the example as it is", async () => {
    const blocks = Array.from((await read("README.md")).matchAll(/```ts\n([\s\S]*?)```/g), (match) => match[1])
    expect(blocks).toEqual([await read("examples/order.ts")])
  })

  it("has an example that does what it says, the second time too", async () => {
    const example = await program("examples/order.ts")
    for (const _ of [1, 2]) {
      const { stdout } = await run(process.execPath, [example], { cwd: directory })
      expect(stdout).toBe("order-17: paid 39.98\n")
    }
  })

  it("names commands that package.json has", async () => {
    const { scripts } = JSON.parse(await read("package.json"))
    const text = `${await read("README.md")}\n${await read("CONTRIBUTING.md")}`
    const named = Array.from(text.matchAll(/npm (?:run (\w[\w:]*)|(start|test))/g), (match) => match[1] ?? match[2])
    expect(named.length).toBeGreaterThan(3)
    for (const name of named) expect(Object.keys(scripts)).toContain(name)
  })

  it("links to files that are there", async () => {
    const paths = Array.from((await read("README.md")).matchAll(/\]\((?!https:)([^)]+)\)/g), (match) => match[1] ?? "")
    expect(paths.length).toBeGreaterThan(0)
    for (const path of paths) expect(await read(path.split("#")[0] ?? "")).not.toBe("")
  })
})
