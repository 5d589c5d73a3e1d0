import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))
const read = (path: string) => readFile(join(root, path), "utf8")

const oneLine = (text: string): string => text.replace(/\s+/g, " ")

/** The promises of the README, a sentence each. */
const promises = async (): Promise<ReadonlyArray<string>> => {
  const [, section = ""] = (await read("README.md")).split("## What is guaranteed\n")
  const [list = ""] = section.split("\n\nWhere each sentence")
  return list
    .split(/\n- /)
    .map(oneLine)
    .filter((text) => text.trim() !== "")
}

/** The rows of the table: a promise, and the files that hold it. */
const rows = async () => {
  const [, section = ""] = (await read("docs/reliability.md")).split("\n| promise | held by |\n")
  const [table = ""] = section.split("\n\n")
  return Array.from(table.matchAll(/^\| (.+?) \| (.+) \|$/gm), ([, promise = "", held = ""]) => ({
    promise,
    files: Array.from(held.matchAll(/`((?:test|src)\/[\w/.]+)`/g), ([, file = ""]) => file)
  })).filter(({ promise }) => promise !== "---")
}

describe("docs/reliability.md", () => {
  it("names promises in the words of the README, and each of these", async () => {
    const given = await promises()
    const held = (await rows()).map(({ promise }) => promise)
    expect(held.length).toBeGreaterThan(5)
    for (const promise of held) expect(given.join(" ")).toContain(promise)
    for (const text of given) expect(held.filter((promise) => text.includes(promise))).not.toEqual([])
  })

  it("names tests that are there for each", async () => {
    for (const { files, promise } of await rows()) {
      expect([promise, files.filter((file) => !existsSync(join(root, file)))]).toEqual([promise, []])
      expect([promise, files.length]).not.toEqual([promise, 0])
      for (const file of files) expect(await read(file)).toMatch(/(?:\bit|[tT]est)(?:\.\w+)*\(/)
    }
  })
})
