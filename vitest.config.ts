import { readdirSync, readFileSync, statfsSync } from "node:fs"
import { availableParallelism, tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const root = fileURLToPath(new URL(".", import.meta.url))
const src = join(root, "src")

/**
 * Where the tests' files go: a disk in memory, where the system has one with room, as each of some thousand databases is synced some ten
 * times. No test cuts the power.
 */
const temporary = (): string => {
  if (process.env["TMPDIR"] !== undefined) return process.env["TMPDIR"]
  try {
    const { bavail, bsize } = statfsSync("/dev/shm")
    return bavail * bsize > 2 ** 31 ? "/dev/shm" : tmpdir()
  } catch {
    return tmpdir()
  }
}

/** The files with longer tests, of which `support/longSetup` leaves out the others. */
const longer = (): Array<string> =>
  readdirSync(join(root, "test"), { recursive: true, encoding: "utf8" })
    .filter((file) => file.endsWith(".test.ts"))
    .map((file) => join("test", file))
    .filter((file) => /support\/(extent|contractShare|wrongOptions)\.js/.test(readFileSync(join(root, file), "utf8")))

/** The pages as they are bundled, which the sources have none of. */
const builtPages = join(root, "dist", "internal", "monitorPages", "pages.js")

const includes: { readonly [mode: string]: Array<string> } = { long: longer(), browser: ["test/browser/*.test.ts"] }

export default defineConfig(({ mode }) => ({
  resolve: {
    alias: [
      ...(mode === "browser" ? [{ find: /^.*\/monitorPages\/pages\.js$/, replacement: builtPages }] : []),
      { find: /^holdfast$/, replacement: join(src, "index.ts") },
      { find: /^holdfast\/(.+)$/, replacement: join(src, "$1.ts") }
    ]
  },
  test: {
    include: includes[mode] ?? ["test/**/*.test.ts", "examples/**/*.test.ts"],
    exclude: mode === "browser" ? [] : ["test/browser/**"],
    env: { TMPDIR: temporary(), HOLDFAST_TESTS: mode === "long" || mode === "all" ? mode : "" },
    setupFiles: ["test/support/testClock.ts", ...(mode === "long" ? ["test/support/longSetup.ts"] : [])],
    // More than there are cores, as a test's clock waits for turns of the event loop. All stay to the end: one that is idle for a moment
    // and is let go meanwhile may have its next file already, which ends the run.
    maxWorkers: availableParallelism() + 2,
    minWorkers: availableParallelism() + 2,
    // A worker reads Effect and the library once, and not once a file, which takes a third of the time.
    isolate: false,
    // Tests make much that is garbage soon, and where there is room for it less of it is copied.
    poolOptions: { forks: { execArgv: process.versions["bun"] === undefined ? ["--max-semi-space-size=64"] : [] } },
    globalSetup: "test/support/globalSetup.ts",
    testTimeout: 300_000,
    hookTimeout: 300_000,
    reporters: [["default", { summary: false }]]
  }
}))
