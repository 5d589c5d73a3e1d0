import { execFile } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../..", import.meta.url))

describe("examples/fulfilment", () => {
  it.each(["sqlite", "libsql"])(
    "goes all the way on a file (%s), and says the same when it is run again",
    async (store) => {
      const directory = await mkdtemp(join(tmpdir(), "holdfast-fulfilment-"))
      try {
        const example = join(root, "examples", "fulfilment", "main.ts")
        const args = ["--root", root, "--config", join(root, "vitest.config.ts"), example, store]
        const viteNode = join(root, "node_modules", ".bin", "vite-node")
        const ended = "order-17: arrived track-lamp; refunded 90\n"
        expect((await run(viteNode, args, { cwd: directory })).stdout).toBe(`refund 90 of p-1\n${ended}`)
        expect((await run(viteNode, args, { cwd: directory })).stdout).toBe(ended)
      } finally {
        await rm(directory, { recursive: true, force: true })
      }
    }
  )
})
