import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import Database from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as Dice from "../../src/testing/internal/simulation/dice.js"
import * as Child from "../support/childProcess.js"
import { shareOfTests } from "../support/extent.js"
import * as Temp from "../support/temp.js"
import * as FileFaults from "./fileFaults.js"
import type { Loss } from "./powerLoss.js"
import * as PowerLoss from "./powerLoss.js"

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

/** So many that the log is copied into the database on the way, which happens at each 1,000 of its pages. */
const commits = 1200

interface Plan {
  readonly synchronous: "FULL" | "NORMAL"
  readonly loss: Loss
  readonly state?: "failing" | "full"
}

/** Commits rows, kills the process, cuts the power; gives what it said, and how many rows there are. None where there is no compiler. */
const survivors = ({ loss, state, synchronous }: Plan) =>
  Effect.gen(function* () {
    const database = yield* Temp.database
    const directory = yield* Temp.directory
    const library = yield* FileFaults.compile(at("disk.c"), join(directory, "disk.so"))
    if (library._tag === "Missing") return undefined
    const log = join(directory, "disk.log")
    const control = FileFaults.makeControl(join(directory, "disk.control"))
    const disk = PowerLoss.makeDisk(database, log)
    disk.begin()
    if (state !== undefined) yield* control.set(state, true)
    const env = FileFaults.environment({ library: library.path, database, directory })
    const child = yield* Child.spawn(process.execPath, [at("commits.mjs"), database, synchronous, String(commits)], env)
    const said = yield* child.line
    yield* child.kill
    yield* child.exit
    const counts = disk.lose(loss, Dice.make(7, loss))
    if (state !== undefined) return { said, counts, sound: "ok", rows: 0, last: 0 }
    const db = new Database(database)
    const sound = db.pragma("integrity_check", { simple: true })
    const rows = db.prepare("SELECT count(*) FROM t").pluck().get()
    const last = db.prepare("SELECT max(n) FROM t").pluck().get()
    db.close()
    return { said, counts, sound, rows: Number(rows), last: Number(last) }
  })

describe("The library between a database and its disk", () => {
  for (const [loss, named] of shareOfTests<Loss>(["all", "sectors", "end"], 1, 3)) {
    it.scopedLive(named(`loses nothing that was synced, and the file is whole (${loss})`), ({ skip }) =>
      Effect.gen(function* () {
        const full = yield* survivors({ synchronous: "FULL", loss })
        if (full === undefined) return skip("no C compiler")
        assert.strictEqual(full.said, `acknowledged ${commits}`)
        assert.strictEqual(full.sound, "ok")
        assert.deepStrictEqual([full.rows, full.last], [commits, commits])
        assert.isAtLeast(full.counts.syncs, commits)
      })
    )
  }

  it.scopedLive("loses what was not: the end, and nothing out of the middle", ({ skip }) =>
    Effect.gen(function* () {
      const normal = yield* survivors({ synchronous: "NORMAL", loss: "all" })
      if (normal === undefined) return skip("no C compiler")
      assert.strictEqual(normal.said, `acknowledged ${commits}`)
      assert.strictEqual(normal.sound, "ok")
      assert.isBelow(normal.rows, commits)
      assert.strictEqual(normal.rows, normal.last)
      assert.isAbove(normal.counts.unsynced, 0)
    })
  )

  for (const [state, code] of [
    ["failing", "SQLITE_IOERR_FSYNC"],
    ["full", "SQLITE_FULL"]
  ] as const) {
    it.scopedLive(`makes a disk ${state}`, ({ skip }) =>
      Effect.gen(function* () {
        const found = yield* survivors({ synchronous: "FULL", loss: "all", state })
        if (found === undefined) return skip("no C compiler")
        assert.strictEqual(found.said, code)
      })
    )
  }
})
