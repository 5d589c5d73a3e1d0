import { spawn } from "node:child_process"
import { closeSync, existsSync, openSync } from "node:fs"
import { chmod, chown, cp, mkdir, mkdtemp, open, readdir, readFile, rm, symlink } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { filled } from "../support/cliStore.js"
import { bundle } from "../support/programs.js"

const root = fileURLToPath(new URL("../..", import.meta.url))

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

describe("holdfast as a process", () => {
  let project = ""
  const at = (...parts: ReadonlyArray<string>) => join(project, ...parts)

  /** The command in one file, elsewhere, so that this does not depend on what is built here. */
  beforeAll(async () => {
    project = await mkdtemp(join(tmpdir(), "holdfast-cli-"))
    await chmod(project, 0o755)
    await cp(join(root, "package.json"), at("package.json"))
    await symlink(join(root, "node_modules"), at("node_modules"))
    await bundle("src/internal/cliCommands/bin.ts", at("dist/internal/cliCommands/bin.js"))
  })

  afterAll(() => rm(project, { recursive: true, force: true }))

  const environment = () => ({ ...process.env, TMPDIR: tmpdir(), NO_COLOR: "", HOLDFAST_STORE: "" })
  const program = () => at("dist/internal/cliCommands/bin.js")

  const start = (args: ReadonlyArray<string>, options: { readonly uid?: number } = {}) =>
    spawn(process.execPath, [program(), ...args], { cwd: tmpdir(), env: environment(), ...options })

  const holdfast = (args: ReadonlyArray<string>, options: { readonly uid?: number } = {}): Promise<Ended> =>
    new Promise((resolve, reject) => {
      const child = start(args, options)
      let stdout = ""
      let stderr = ""
      child.stdout.on("data", (data: Buffer) => {
        stdout += data.toString()
      })
      child.stderr.on("data", (data: Buffer) => {
        stderr += data.toString()
      })
      child.stdin.end()
      child.on("error", reject)
      child.on("close", (code) => resolve({ code, stdout, stderr }))
    })

  it("is named by the package, and can be run", async () => {
    const { bin } = JSON.parse(await readFile(join(root, "package.json"), "utf8"))
    expect(bin).toEqual({ holdfast: "dist/internal/cliCommands/bin.js" })
    expect(await readFile(at(bin.holdfast), "utf8")).toMatch(/^#!\/usr\/bin\/env node\n/)
  })

  it("prints data alone on stdout, plain, and ends with the code", async () => {
    const store = `sqlite:${at("store.db")}`
    await Effect.runPromise(filled(at("store.db")))
    const listed = await holdfast(["execution", "list", "--limit", "2", "--store", store])
    expect(listed.code).toBe(0)
    expect(listed.stdout.split("\n").map((line) => line.split(/ +/)[0])).toEqual(["ID", "order-17", "order-18", ""])
    expect(listed.stdout).not.toContain("\u001b")
    expect(listed.stderr).toMatch(/^there are more: give --cursor /)
    const wrong = await holdfast(["execution", "show", "order-1", "--json", "--store", store])
    expect(wrong).toEqual({
      code: 3,
      stdout: "",
      stderr: 'holdfast: there is no execution "order-1"; did you mean "order-17"?\n'
    })
  })

  it("ends when its reader has gone", async () => {
    const child = start(["execution", "list", "--all", "--store", `sqlite:${at("store.db")}`])
    child.stdout.destroy()
    const code = await new Promise((resolve) => child.on("close", resolve))
    expect(code).toBe(141)
  })

  // What takes nothing is a file of Linux's.
  it.skipIf(!existsSync("/dev/full"))(
    "says that its output cannot be written, and reads on where nobody sees what is for people",
    async () => {
      const full = await open("/dev/full", "w")
      const [out, err] = [`${at("out")}`, `${at("err")}`]
      const list = ["execution", "list", "--limit", "2", "--store", `sqlite:${at("store.db")}`]
      const to = async (stdout: number | string, stderr: number | string) => {
        const files = [stdout, stderr].map((file) => (typeof file === "number" ? file : openSync(file, "w")))
        const child = spawn(process.execPath, [program(), ...list], { env: environment(), stdio: ["ignore", ...files] })
        const code = await new Promise((resolve) => child.on("close", resolve))
        for (const file of files) if (file !== full.fd) closeSync(file)
        return code
      }
      expect(await to(full.fd, err)).toBe(1)
      expect(await readFile(err, "utf8")).toMatch(/^holdfast: stdout cannot be written: ENOSPC[^\n]*\n$/)
      expect(await to(out, full.fd)).toBe(0)
      expect((await readFile(out, "utf8")).split("\n")).toHaveLength(4)
      await full.close()
    }
  )

  it("reads a file where nothing may be written", async () => {
    const folder = at("sealed")
    await mkdir(folder)
    await Effect.runPromise(filled(join(folder, "store.db")))
    await chmod(join(folder, "store.db"), 0o444)
    // Permissions do not keep root from anything.
    const isRoot = process.getuid?.() === 0
    if (isRoot) await chown(folder, 0, 0)
    await chmod(folder, 0o555)
    const { code, stderr, stdout } = await holdfast(
      ["stats", "--json", "--store", `sqlite:${join(folder, "store.db")}`],
      isRoot ? { uid: 65_534 } : {}
    )
    await chmod(folder, 0o755)
    expect([code, stderr]).toEqual([0, ""])
    expect(JSON.parse(stdout)).toMatchObject({ outbox: { count: 1 } })
    expect(await readdir(folder)).toEqual(["store.db"])
  })
})
