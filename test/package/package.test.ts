import { execFile } from "node:child_process"
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { gzipSync } from "node:zlib"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { long, longer } from "../support/extent.js"

const root = fileURLToPath(new URL("../..", import.meta.url))
const run = promisify(execFile)

const optional = [
  "@effect/cli",
  "@effect/experimental",
  "@effect/platform",
  "@effect/platform-node",
  "@effect/sql",
  "@effect/sql-libsql",
  "@effect/vitest",
  "@libsql/client",
  "better-sqlite3",
  "vitest"
]

/** The subpaths that do not load without a peer which an application may not have. */
const needsOptional = (subpath: string): boolean =>
  /^(Monitor|SqlStore|LibsqlSqlClient|LibsqlStore|RqliteStore|RqliteClient)$|^testing\//.test(subpath)

/** A program that commits an execution and reads it back. */
const commits = (store: string) => `
  import { Effect, Option } from "effect"
  import { Execution, ExecutionStore, MemoryStore } from "holdfast"
  import * as SqliteStore from "holdfast/SqliteStore"
  const program = Effect.gen(function*() {
    const store = yield* ExecutionStore.ExecutionStore
    const found = yield* store.load("a")
    yield* store.commit(Option.getOrElse(found, () => Execution.make({ id: "a", definitionId: "d" })))
    console.log(Option.getOrThrow(yield* store.load("a")).version)
  })
  await Effect.runPromise(
    Effect.catchAll(Effect.provide(program, ${store}), (error) => Effect.sync(() => console.log(error.message)))
  )
`

const onFile = (driver?: string) => commits(`SqliteStore.layer(${JSON.stringify({ filename: "store.db", driver })})`)

describe("the optional peers", () => {
  it("are named, and said to be optional", async () => {
    const { peerDependencies, peerDependenciesMeta } = JSON.parse(await readFile(join(root, "package.json"), "utf8"))
    expect(Object.keys(peerDependencies).filter((name) => name !== "effect")).toEqual(optional)
    expect(Object.keys(peerDependenciesMeta)).toEqual(optional)
  })
})

// To build, pack and install it takes a tenth of what all other tests take.
describe.runIf(long)(longer("the package"), () => {
  let project = ""
  let subpaths: ReadonlyArray<string> = []

  const link = async (names: ReadonlyArray<string>) => {
    for (const name of names) {
      const to = join(project, "node_modules", name)
      await mkdir(dirname(to), { recursive: true })
      await symlink(join(root, "node_modules", name), to)
    }
  }

  const node = (source: string) => run(process.execPath, ["--input-type=module", "-e", source], { cwd: project })

  const importAll = (names: ReadonlyArray<string>) =>
    node(names.map((name) => `await import(${JSON.stringify(name)})`).join("\n"))

  /** The code of the error with which each of them fails to load, or nothing where it loads. */
  const failures = async (names: ReadonlyArray<string>): Promise<ReadonlyArray<string>> => {
    const { stdout } = await node(`
      const codes = []
      for (const name of ${JSON.stringify(names)}) codes.push(await import(name).then(() => "", (error) => error.code))
      console.log(JSON.stringify(codes))
    `)
    return JSON.parse(stdout)
  }

  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), "holdfast-package-"))
    const packed = await run("npm", ["pack", "--json", "--silent", "--pack-destination", project], { cwd: root })
    const [{ filename }] = JSON.parse(packed.stdout)
    await writeFile(join(project, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }))
    // The peers are linked from this checkout rather than installed again.
    const flags = ["--legacy-peer-deps", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"]
    await run("npm", ["install", ...flags, join(project, filename)], { cwd: project })
    await link(["effect"])
    const { exports } = JSON.parse(await readFile(join(root, "package.json"), "utf8"))
    subpaths = Object.keys(exports).flatMap((key) => /^\.\/(.+(?<!\.json))$/.exec(key)?.[1] ?? [])
  }, 240_000)

  afterAll(() => rm(project, { recursive: true, force: true }))

  it("needs no optional peer but for the subpaths that are on one", async () => {
    const core = subpaths.filter((subpath) => !needsOptional(subpath)).map((subpath) => `holdfast/${subpath}`)
    expect(core).toContain("holdfast/SqliteStore")
    expect(core).toContain("holdfast/ExecutionRuntime")
    await importAll(["holdfast", ...core])
    const modules = [
      "Monitor",
      "SqlStore",
      "LibsqlSqlClient",
      "LibsqlStore",
      "RqliteStore",
      "RqliteClient",
      "testing/ContractSuite"
    ]
    const missing = [...optional, ...modules.map((subpath) => `holdfast/${subpath}`)]
    expect(await failures(missing)).toEqual(missing.map(() => "ERR_MODULE_NOT_FOUND"))
  })

  it("has a command, which says what to install where that is missing", async () => {
    await expect(
      run(join(project, "node_modules", ".bin", "holdfast"), ["stats"], { cwd: project })
    ).rejects.toMatchObject({
      code: 1,
      stdout: "",
      stderr:
        "holdfast: the command needs packages that are not installed: run npm install @effect/cli @effect/platform @effect/platform-node\n"
    })
  })

  it("brings its pages along, and what these show of the source", async () => {
    const packed = (path: string) => readFile(join(project, "node_modules", "holdfast", path), "utf8")
    for (const page of ["getting-started", "cli", "operations", "architecture"]) {
      expect(await packed(`docs/${page}.md`)).toBe(await readFile(join(root, "docs", `${page}.md`), "utf8"))
    }
    expect(await packed("src/internal/sql/commitPlan.ts")).toContain("makePlan")
  })

  it("commits with nothing but effect beside it", async () => {
    expect((await node(commits("MemoryStore.layer"))).stdout).toBe("1\n")
  })

  it("commits to a file with the SQLite of Node, or says what to install", async () => {
    const { stdout } = await node(onFile())
    if (process.getBuiltinModule("node:sqlite") !== undefined) expect(stdout).toBe("1\n")
    else {
      expect(stdout).toMatch(
        /^open was refused: driver: no SQLite is there: install better-sqlite3, or run on Node 22\.13/
      )
      expect(stdout).toContain("(better-sqlite3: is not installed; bun:sqlite: this is not Bun; node:sqlite: Node ")
    }
    expect((await node(onFile("better-sqlite3"))).stdout).toBe(
      "open was refused: driver: cannot be loaded: better-sqlite3: is not installed\n"
    )
  })

  it("commits to a file with better-sqlite3 beside it", async () => {
    await link(["better-sqlite3"])
    await rm(join(project, "store.db"), { force: true })
    expect((await node(onFile())).stdout).toBe("1\n")
    expect((await node(onFile("better-sqlite3"))).stdout).toBe("2\n")
  })

  it("refuses better-sqlite3 13 where it would end the process", async () => {
    const folder = join(project, "old", "node_modules", "better-sqlite3")
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, "package.json"), JSON.stringify({ name: "better-sqlite3", version: "13.2.0" }))
    await cp(join(project, "node_modules", "holdfast"), join(project, "old", "node_modules", "holdfast"), {
      recursive: true
    })
    const { stdout } = await run(process.execPath, ["--input-type=module", "-e", onFile("better-sqlite3")], {
      cwd: join(project, "old")
    })
    expect(stdout).toContain("open was refused: driver: cannot be loaded: better-sqlite3: ")
    if (Number.parseInt(process.versions.node, 10) < 22) {
      expect(stdout).toContain("13.2.0 needs Node 22: install better-sqlite3@12")
    }
  })

  it("commits by LibsqlStore with @libsql/client beside it", async () => {
    await link(["@libsql/client"])
    expect((await node(commits(`(await import("holdfast/LibsqlStore")).layer({ url: ":memory:" })`))).stdout).toBe(
      "1\n"
    )
  })

  it("loads every subpath with the optional peers present", async () => {
    await link([...optional.filter((name) => !["better-sqlite3", "@libsql/client"].includes(name)), "@types/node"])
    // The contract suite registers tests: it loads inside a test runner only.
    await importAll(subpaths.filter((subpath) => !subpath.startsWith("testing/")).map((name) => `holdfast/${name}`))
  })

  it("keeps its internals closed", async () => {
    const paths = ["internal/sql/commitPlan", "testing/contract/commit", "testing/internal/state", "index"]
    expect(await failures(paths.map((path) => `holdfast/${path}`))).toEqual(
      paths.map(() => "ERR_PACKAGE_PATH_NOT_EXPORTED")
    )
  })

  it("is usable from CommonJS, with the same errors", async () => {
    await run(
      process.execPath,
      ["-e", `const { StoreError } = require("holdfast"); if (!StoreError.StoreConflict) process.exit(1)`],
      { cwd: project }
    )
  })

  it("has types that a strict program compiles against", async () => {
    const imports = subpaths
      .filter((subpath) => !subpath.startsWith("testing/"))
      .map((subpath, i) => `import * as M${i} from "holdfast/${subpath}"\nexport { M${i} }`)
    await writeFile(
      join(project, "consumer.ts"),
      [`import * as Holdfast from "holdfast"`, "export { Holdfast }", ...imports].join("\n")
    )
    await writeFile(
      join(project, "consumer.cts"),
      'import Holdfast = require("holdfast")\nexport const { StoreConflict } = Holdfast.StoreError\n'
    )
    const flags = [
      "--noEmit",
      "--strict",
      "--exactOptionalPropertyTypes",
      "--module",
      "NodeNext",
      "--target",
      "ES2022",
      "--skipLibCheck"
    ]
    await run(
      process.execPath,
      [join(root, "node_modules", "typescript-7", "bin", "tsc"), ...flags, "consumer.ts", "consumer.cts"],
      {
        cwd: project
      }
    )
  })

  it("brings the pages of the monitor, in less than 120 kB", async () => {
    const path = join(project, "node_modules", "holdfast", "dist", "internal", "monitorPages", "pages.js")
    const { pages } = await import(path)
    expect(Object.keys(pages).sort()).toEqual(["", "app.css", "app.js", "icon.svg"])
    const sizes = Object.values<{ readonly text: string }>(pages).map(({ text }) => gzipSync(text).byteLength)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(120_000)
    // Nothing is loaded from elsewhere, and nothing runs that is not a file.
    expect(pages[""].text).not.toMatch(/https?:|<script>|<style|\son\w+=/)
  })

  it("ships sources, maps, pages and the licence, and nothing else", async () => {
    const listed = await readdir(join(project, "node_modules", "holdfast"))
    expect(listed.sort()).toEqual(["CHANGELOG.md", "LICENSE", "README.md", "dist", "docs", "package.json", "src"])
    expect(await readdir(join(project, "node_modules", "holdfast", "docs"))).not.toContain(".site")
    expect(await readdir(join(project, "node_modules", "holdfast", "src"))).not.toContain("monitor")
    const map = await readFile(join(project, "node_modules", "holdfast", "dist", "Execution.js.map"), "utf8")
    expect(JSON.parse(map).sources).toEqual(["../src/Execution.ts"])
  })
})
