import { existsSync } from "node:fs"
import { readdir, readFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** What a checkout holds at its top, and a path in prose may begin with. */
const tops = "src|test|docs|examples|bench|\\.github|\\.changeset|\\.ci|\\.devcontainer"

const pages = async (): Promise<ReadonlyArray<string>> => {
  const docs = await readdir(join(root, "docs"), { recursive: true })
  const top = (await readdir(root)).filter((file) => file.endsWith(".md"))
  return [
    ...top,
    ...docs.filter((file) => file.endsWith(".md") && !file.startsWith(".site")).map((file) => join("docs", file))
  ]
}

const read = (page: string) => readFile(join(root, page), "utf8")

/** Targets of links, as paths from the root. Those of other sites, and of headings, are left out, and what is code. */
const linksOf = (page: string, text: string): ReadonlyArray<string> =>
  Array.from(
    text
      .replace(/^```[\s\S]*?^```/gm, "")
      .replace(/`[^`]*`/g, "")
      .matchAll(/\]\((?!https?:|#)([^)#]+)[^)]*\)/g),
    ([, target = ""]) => join(dirname(page), target)
  )

/** Paths that stand in backticks. */
const namedOf = (text: string): ReadonlyArray<string> =>
  Array.from(text.matchAll(new RegExp(`\`((?:${tops})/[\\w./-]*)\``, "g")), ([, path = ""]) => path)

describe("what the pages name", () => {
  it("is there: files and folders", async () => {
    const missing: Array<string> = []
    let named = 0
    for (const page of await pages()) {
      const text = await read(page)
      for (const path of [...linksOf(page, text), ...namedOf(text)]) {
        named++
        if (!existsSync(join(root, path))) missing.push(`${page}: ${path}`)
      }
    }
    expect(missing).toEqual([])
    expect(named).toBeGreaterThan(50)
  })

  it("is there: functions, in the files that are said to have them", async () => {
    const page = "docs/architecture.md"
    const text = await read(page)
    const named = Array.from(text.matchAll(/`(\w+)` in \[[^\]]+\]\(([^)]+)\)/g))
    const missing: Array<string> = []
    for (const [, name = "", target = ""] of named) {
      const source = await readFile(join(root, dirname(page), target), "utf8")
      const declared = new RegExp(`(?:const|function) ${name}\\b|^\\s+(?:readonly )?${name}[:,(]`, "m")
      if (!declared.test(source)) missing.push(`${name} in ${target}`)
    }
    expect(missing).toEqual([])
    expect(named.length).toBeGreaterThan(15)
  })

  it("is there: each room, in the table and in the picture", async () => {
    const rooms = [...(await readdir(join(root, "src", "internal")))].sort()
    const [, table = ""] = (await read("CONTRIBUTING.md")).split("\n| room |")
    const listed = Array.from((table.split("\n\n")[0] ?? "").matchAll(/^\| `(\w+)` \|/gm), ([, room = ""]) => room)
    expect([...listed].sort()).toEqual(rooms)
    const [, picture = ""] = (await read("docs/architecture.md")).split("flowchart TD\n")
    const arrows = (picture.split("```")[0] ?? "").split("\n").filter((line) => line.includes("-->"))
    const drawn = new Set(arrows.flatMap((line) => line.match(/\w+/g) ?? []))
    for (const room of rooms) if (room !== "util") expect(drawn).toContain(room)
  })

  it("is there: each decision, in the index", async () => {
    const files = (await readdir(join(root, "docs", "decisions"))).filter((file) => /^\d{4}-/.test(file))
    const index = await read("docs/decisions/README.md")
    const listed = Array.from(index.matchAll(/^\| \[(\d+)\]\((\d{4}-[\w-]+\.md)\) \| (.+) \| (.+) \|$/gm))
    expect(listed.map(([, , file = ""]) => file)).toEqual([...files].sort())
    for (const [, number, file = "", title, date] of listed) {
      expect(file.startsWith(String(number).padStart(4, "0"))).toBe(true)
      const record = await read(join("docs", "decisions", file))
      const [head = ""] = record.split("## Context\n")
      expect(head.replace(/Replaced by \[\d+\]\(.+\).*\n\n/, "")).toBe(`# ${number}. ${title}\n\n${date}\n\n`)
      expect(record).toContain("\n\n## Decision\n\n")
      expect(record).toContain("\n\n## Consequences\n\n")
    }
  })
})
