import { execFile } from "node:child_process"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { describe, expect, it } from "vitest"
import { program } from "../support/programs.js"

const run = promisify(execFile)

/** What the program says itself, beside what is logged. */
const said = (stdout: string): ReadonlyArray<string> =>
  stdout.split("\n").filter((line) => /^(refund|order-17:) /.test(line))

describe("examples/fulfilment", () => {
  it.each(["sqlite", "libsql"])(
    "goes all the way on a file (%s), and says the same when it is run again",
    async (store) => {
      const directory = await mkdtemp(join(tmpdir(), "holdfast-fulfilment-"))
      try {
        const args = [await program("examples/fulfilment/main.ts"), store]
        const ended = "order-17: arrived track-lamp; refunded 90"
        const first = (await run(process.execPath, args, { cwd: directory })).stdout
        expect(said(first)).toEqual(["refund 90 of p-1", ended])
        expect(first).toContain("failed (attempt 2) and is tried again: the carrier does not answer")
        expect(said((await run(process.execPath, args, { cwd: directory })).stdout)).toEqual([ended])
      } finally {
        await rm(directory, { recursive: true, force: true })
      }
    }
  )
})
