import { type Client, type Config, createClient, LibsqlError } from "@libsql/client"
import * as Effect from "effect/Effect"
import * as Temp from "../temp.js"
import type { SqldServer } from "./server.js"

/**
 * - `opened`: with what each replica was opened.
 * - `fail`: why the next syncs fail.
 * - `syncs`: how many there were.
 * - `lose`: closes the local files.
 */
export interface Replicas {
  readonly open: (config: Config) => Client
  readonly opened: ReadonlyArray<Config>
  readonly fail: (error: Error | undefined) => void
  readonly syncs: () => number
  readonly lose: () => void
}

const unsupported = () => Promise.reject(new LibsqlError("Only reads are made here", "UNSUPPORTED"))

/**
 * Replicas of a server's database, in place of libSQL's own, which need a real server: each sync makes a new copy of it, in a file of
 * libSQL's. Before the first there is nothing in it.
 */
export const make = (server: SqldServer) =>
  Effect.map(Temp.directory, (directory): Replicas => {
    const opened: Array<Config> = []
    let failure: Error | undefined
    let count = 0
    let close = (): void => undefined

    const open = (config: Config): Client => {
      opened.push(config)
      const at = (filename: string) => createClient({ url: `file:${filename}`, intMode: config.intMode ?? "number" })
      let local = at(`${directory}/empty-${opened.length}.db`)
      close = () => local.close()
      return {
        execute: (statement) => local.execute(statement),
        sync: async () => {
          if (failure !== undefined) throw failure
          const filename = `${directory}/copy-${++count}.db`
          server.copy(filename)
          local.close()
          local = at(filename)
          return { frame_no: count, frames_synced: 1 }
        },
        close: () => local.close(),
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
      lose: () => close()
    }
  })
