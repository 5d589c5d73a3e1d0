import { copyFileSync, rmSync } from "node:fs"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/**
 * The server's log, of which a replica is made: here only the number of its last frame, one for each transaction.
 *
 * - `frame`: that number; none before the first.
 * - `copy`: makes a copy of the database in a file that is not there yet.
 * - `backup`: keeps the database as it is, and gives what puts it back, with the log as it was. No stream is open then.
 */
export interface Log {
  readonly frame: () => number | undefined
  readonly copy: (to: string) => void
  readonly backup: Effect.Effect<Effect.Effect<void>>
}

/** The log of a database file. */
export const make = (filename: string): Effect.Effect<Log, never, Scope.Scope> =>
  Effect.gen(function* () {
    // Says that another connection has committed. It sees only what happens from now on.
    const open = () => {
      const db = new Sqlite(filename)
      // Every connection asks for it, and where it is not so that is a write.
      db.pragma("journal_mode = WAL")
      return { db, version: db.pragma("data_version", { simple: true }) }
    }
    let watch = open()
    let last = 0
    let backups = 0
    yield* Effect.addFinalizer(() => Effect.sync(() => watch.db.close()))

    const frame = (): number | undefined => {
      const version = watch.db.pragma("data_version", { simple: true })
      if (version !== watch.version) last++
      watch = { ...watch, version }
      return last === 0 ? undefined : last
    }

    const copy = (to: string): void => {
      watch.db.prepare("VACUUM INTO ?").run(to)
    }

    const putBack = (from: string, frames: number): void => {
      watch.db.close()
      for (const suffix of ["", "-wal", "-shm"]) rmSync(filename + suffix, { force: true })
      copyFileSync(from, filename)
      watch = open()
      last = frames
    }

    return {
      frame,
      copy,
      backup: Effect.sync(() => {
        const kept = `${filename}.backup-${++backups}`
        const frames = frame() ?? 0
        copy(kept)
        return Effect.sync(() => putBack(kept, frames))
      })
    }
  })
