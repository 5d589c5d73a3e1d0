import { execFile } from "node:child_process"
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))
const run = promisify(execFile)

const required = ["effect", "@effect/platform", "@effect/sql", "@effect/experimental", "@types/node"]
const optional = [
  "@effect/sql-sqlite-node",
  "@effect/sql-libsql",
  "@libsql/client",
  "@effect/platform-node",
  "@effect/vitest",
  "vitest"
]

/** The subpaths that need a peer which an application may not have. */
const needsOptional = (subpath: string): boolean => /^(SqliteStore|LibsqlStore)$|^testing\//.test(subpath)

describe("the package", () => {
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

  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), "holdfast-package-"))
    const packed = await run("npm", ["pack", "--json", "--silent", "--pack-destination", project], { cwd: root })
    const [{ filename }] = JSON.parse(packed.stdout)
    await writeFile(join(project, "package.json"), JSON.stringify({ name: "consumer", private: true, type: "module" }))
    // The peers are linked from this checkout rather than installed again.
    const flags = ["--legacy-peer-deps", "--ignore-scripts", "--prefer-offline", "--no-audit", "--no-fund"]
    await run("npm", ["install", ...flags, join(project, filename)], { cwd: project })
    await link(required)
    const files = await readdir(join(root, "src"), { recursive: true })
    subpaths = files
      .filter((file) => file.endsWith(".ts") && !file.includes("internal/") && file !== "index.ts")
      .map((file) => file.replace(/\.ts$/, ""))
  }, 240_000)

  afterAll(() => rm(project, { recursive: true, force: true }))

  it("loads its core with no optional peer present", async () => {
    const core = subpaths.filter((subpath) => !needsOptional(subpath)).map((subpath) => `holdfast/${subpath}`)
    expect(core.length).toBeGreaterThan(8)
    await importAll(["holdfast", ...core])
    for (const name of optional) await expect(importAll([name])).rejects.toThrow(/ERR_MODULE_NOT_FOUND/)
  })

  it("loads every subpath with the optional peers present", async () => {
    await link(optional)
    // The contract suite registers tests: it loads inside a test runner only.
    await importAll(subpaths.filter((subpath) => !subpath.startsWith("testing/")).map((name) => `holdfast/${name}`))
  })

  it("keeps its internals closed", async () => {
    await expect(importAll(["holdfast/internal/sql/commitPlan"])).rejects.toThrow(/ERR_PACKAGE_PATH_NOT_EXPORTED/)
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
    await run(process.execPath, [join(root, "node_modules", "typescript-7", "bin", "tsc"), ...flags, "consumer.ts"], {
      cwd: project
    })
  }, 60_000)

  it("ships sources, maps and the licence, and nothing else", async () => {
    const listed = await readdir(join(project, "node_modules", "holdfast"))
    expect(listed.sort()).toEqual(["CHANGELOG.md", "LICENSE", "README.md", "dist", "package.json", "src"])
    const map = await readFile(join(project, "node_modules", "holdfast", "dist", "Execution.js.map"), "utf8")
    expect(JSON.parse(map).sources).toEqual(["../src/Execution.ts"])
  })
})
