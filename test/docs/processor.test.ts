import { execFile } from "node:child_process"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import * as Processor from "holdfast/Processor"
import * as Step from "holdfast/Step"
import { describe, expect, it } from "vitest"
import { program } from "../support/programs.js"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../..", import.meta.url))
const read = (path: string) => readFile(join(root, path), "utf8")

describe("docs/processor.md", () => {
  it("shows the example as it is", async () => {
    const blocks = Array.from((await read("docs/processor.md")).matchAll(/```ts\n([\s\S]*?)```/g), (match) => match[1])
    expect(blocks).toEqual([await read("examples/definition.ts")])
  })

  it("has an example that ends as it says", async () => {
    const { stdout } = await run(process.execPath, [await program("examples/definition.ts")])
    expect(stdout).toContain('execution \\"order-stolen\\" failed: CardDeclined')
    expect(stdout.endsWith("order-good: DONE, shipped\norder-stolen: FAILED, null\n")).toBe(true)
  })

  it("names functions that there are", async () => {
    const named = Array.from((await read("docs/processor.md")).matchAll(/(Step|Processor)\.(\w+)/g))
    expect(named.length).toBeGreaterThan(10)
    const types = ["Transition"]
    for (const [, module, name = ""] of named) {
      if (!types.includes(name)) expect(Object.keys(module === "Step" ? Step : Processor)).toContain(name)
    }
  })
})
