import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"
import { program } from "../support/programs.js"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../..", import.meta.url))
const example = (name: string) => join(root, "examples", "getting-started", name)

describe("docs/getting-started.md", () => {
  it("shows its files as they are", async () => {
    const text = await readFile(join(root, "docs", "getting-started.md"), "utf8")
    const blocks = Array.from(text.matchAll(/`([\w.]+)`\n\n```ts\n([\s\S]*?)```/g), ([, name, code]) => [name, code])
    const names = ["parcel.ts", "parcelLive.ts", "main.ts", "parcel.test.ts"]
    const files = await Promise.all(names.map(async (name) => [name, await readFile(example(name), "utf8")]))
    expect(blocks).toEqual(files)
  })

  it("has a program that prints what it says, the second time too", async () => {
    const directory = await mkdtemp(join(tmpdir(), "holdfast-getting-started-"))
    try {
      const main = await program("examples/getting-started/main.ts")
      for (const _ of [1, 2]) {
        const { stdout } = await run(process.execPath, [main], { cwd: directory })
        expect(stdout).toBe("parcel-1 was collected by Ada\n")
      }
    } finally {
      await rm(directory, { recursive: true, force: true })
    }
  })
})
