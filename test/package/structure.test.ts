import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"

// Which way imports go is checked by `npm run structure`.

const at = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url))

const list = (folder: string) => readdirSync(at(folder), { withFileTypes: true })

const folders = (folder: string): ReadonlyArray<string> =>
  list(folder).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))

const files = (folder: string): ReadonlyArray<string> =>
  list(folder).flatMap((entry) => (entry.isDirectory() ? [] : [entry.name]))

const rooms = folders("src/internal")

describe("the structure", () => {
  it("has every internal module in a room, and no room in another", () => {
    expect(files("src/internal")).toEqual([])
    expect(rooms.filter((room) => folders(`src/internal/${room}`).length > 0)).toEqual([])
  })

  it("has at most 14 files in a room", () => {
    expect(rooms.filter((room) => files(`src/internal/${room}`).length > 14)).toEqual([])
  })

  it("has a line for each room in the map", () => {
    const map = readFileSync(at("CONTRIBUTING.md"), "utf8")
    const rows = map.split("\n").flatMap((line) => /^\| `([a-zA-Z]+)` \|/.exec(line)?.[1] ?? [])
    expect(rows.toSorted()).toEqual(rooms.toSorted())
  })

  it("exports every public module, and nothing else", () => {
    const modules = (folder: string) =>
      files(`src/${folder}`).flatMap((file) => (file === "index.ts" ? [] : `${folder}${file.replace(/\.ts$/, "")}`))
    const expected = [...modules(""), ...modules("testing/")].map((name) => [`./${name}`, `./dist/${name}.js`])
    expect(JSON.parse(readFileSync(at("package.json"), "utf8")).exports).toEqual({
      "./package.json": "./package.json",
      ".": "./dist/index.js",
      ...Object.fromEntries(expected)
    })
  })

  it("has public modules in PascalCase and internal ones in camelCase", () => {
    const names = (folder: string) => files(folder).map((file) => file.replace(/\.ts$/, ""))
    expect(names("src").filter((name) => name !== "index" && !/^[A-Z][A-Za-z]*$/.test(name))).toEqual([])
    expect(
      rooms.flatMap((room) => names(`src/internal/${room}`)).filter((name) => !/^[a-z][A-Za-z0-9]*$/.test(name))
    ).toEqual([])
  })

  it("has tests of a room in a folder of its name", () => {
    const others = [
      "bench",
      "browser",
      "contract",
      "docs",
      "examples",
      "fixtures",
      "harel",
      "models",
      "package",
      "security",
      "simulation",
      "soak",
      "support",
      "torture"
    ]
    expect(folders("test").filter((folder) => ![...rooms, ...others].includes(folder))).toEqual([])
    expect(files("test")).toEqual([])
  })

  it("has tests and their support in camelCase", () => {
    const odd = (folder: string, pattern: RegExp): ReadonlyArray<string> => [
      ...files(folder).filter((file) => !pattern.test(file)),
      ...folders(folder).flatMap((inner) => odd(`${folder}/${inner}`, pattern))
    ]
    // Programs of their own, with tests beside them.
    const programs = ["simulation", "soak", "torture"]
    const tested = folders("test").filter((folder) => !["fixtures", "support", ...programs].includes(folder))
    expect(
      programs.flatMap((folder) => odd(`test/${folder}`, /^[a-z][A-Za-z0-9]*(\.test\.ts|\.ts|\.d\.mts|\.mjs|\.c)$/))
    ).toEqual([])
    expect(tested.flatMap((folder) => odd(`test/${folder}`, /^[a-z][A-Za-z0-9]*\.test\.ts$/))).toEqual([])
    expect(odd("test/support", /^[a-z][A-Za-z0-9]*\.(ts|mjs)$|^better-sqlite3\.d\.ts$/)).toEqual([])
  })
})
