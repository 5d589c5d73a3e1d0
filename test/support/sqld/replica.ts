import {
  closeSync,
  existsSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync
} from "node:fs"
import { fileURLToPath } from "node:url"
import { type Client, type Config, createClient, LibsqlError } from "@libsql/client"
import type { SqldServer } from "./server.js"

/**
 * - `opened`: with what each replica was opened.
 * - `fail`: why the next syncs fail.
 * - `syncs`: how many there were.
 * - `lose`: closes the local files.
 * - `corrupt`: makes reads of the local files that are there now fail as of a damaged database.
 */
export interface Replicas {
  readonly open: (config: Config) => Client
  readonly opened: ReadonlyArray<Config>
  readonly fail: (error: Error | undefined) => void
  readonly syncs: () => number
  readonly lose: () => void
  readonly corrupt: () => void
}

const unsupported = () => Promise.reject(new LibsqlError("Only reads are made here", "UNSUPPORTED"))

const malformed = () => new LibsqlError("database disk image is malformed", "SQLITE_CORRUPT")

const pathOf = (url: string): string =>
  url.startsWith("file:/") ? fileURLToPath(url) : decodeURIComponent(url.slice("file:".length))

const indexOf = (filename: string): string => `${filename}-client_wal_index`

/** The number of the frame that is in a copy stands behind the id of the log, in an index that is not empty. */
const writeIndex = (filename: string, frame: number | undefined): void => {
  const bytes = Buffer.alloc(frame === undefined ? 0 : 32)
  if (frame !== undefined) bytes.writeBigUInt64LE(BigInt(frame), 16)
  writeFileSync(indexOf(filename), bytes)
}

const readIndex = (filename: string): number | undefined => {
  const bytes = readFileSync(indexOf(filename))
  return bytes.length < 24 ? undefined : Number(bytes.readBigUInt64LE(16))
}

/** libSQL leaves a log where there is something in a copy. SQLite, which has the file here, would take it for its own. */
const logOf = (filename: string): string => `${filename}-wal`
const leaveLog = (filename: string): void => writeFileSync(logOf(filename), Buffer.alloc(32 + 24 + 4096))
const takeLog = (filename: string): void => rmSync(logOf(filename), { force: true })

const beginning = (filename: string): string => {
  const bytes = Buffer.alloc(15)
  const file = openSync(filename, "r")
  readSync(file, bytes)
  closeSync(file)
  return bytes.toString("latin1")
}

/** What libSQL's own replicas look at when they open. */
const check = (filename: string): void => {
  if (!existsSync(filename)) return
  if (!existsSync(indexOf(filename)) && statSync(filename).size > 4096) {
    throw new Error("Can not sync a database without a wal_index, please delete the database and attempt again")
  }
  if (statSync(filename).size > 0 && beginning(filename) !== "SQLite format 3") {
    throw new Error("replication error: Injector error: SQLite error: file is not a database")
  }
}

/**
 * Replicas of a server's database, in place of libSQL's own, which need a real server: each sync that finds something new makes a new copy
 * of it. Before the first there is nothing in it.
 */
export const make = (server: SqldServer): Replicas => {
  const opened: Array<Config> = []
  let failure: Error | undefined
  let count = 0
  let close = (): void => undefined
  /** How many files were opened for the first time, and the last of them that is damaged. */
  let files = 0
  let damaged = 0

  const open = (config: Config): Client => {
    opened.push(config)
    const filename = pathOf(config.url)
    check(filename)
    if (!existsSync(indexOf(filename))) {
      files++
      writeIndex(filename, undefined)
    }
    takeLog(filename)
    const connect = () => createClient({ url: config.url, intMode: config.intMode ?? "number" })
    let local = connect()
    let frame = readIndex(filename)
    close = () => local.close()
    const leave = () => {
      if (local.closed) return
      local.close()
      if (frame !== undefined) leaveLog(filename)
    }
    return {
      execute: (statement) => (files <= damaged ? Promise.reject(malformed()) : local.execute(statement)),
      sync: async () => {
        if (failure !== undefined) throw failure
        count++
        const last = server.frame()
        if (last === undefined || (frame !== undefined && last <= frame)) {
          return frame === undefined ? undefined : { frame_no: frame, frames_synced: 0 }
        }
        const copy = `${filename}-${count}`
        server.copy(copy)
        local.close()
        for (const suffix of ["", "-wal", "-shm"]) rmSync(filename + suffix, { force: true })
        renameSync(copy, filename)
        writeIndex(filename, last)
        local = connect()
        frame = last
        return { frame_no: last, frames_synced: 1 }
      },
      close: leave,
      get closed() {
        return local.closed
      },
      batch: unsupported,
      migrate: unsupported,
      transaction: unsupported,
      executeMultiple: unsupported,
      protocol: "file"
    }
  }

  return {
    open,
    opened,
    fail: (error) => {
      failure = error
    },
    syncs: () => count,
    lose: () => close(),
    corrupt: () => {
      damaged = files
    }
  }
}
