import { statSync } from "node:fs"
import * as Database from "./database.js"

/**
 * The connections to a database file. To open one takes longer than most requests, so one by which a stream has only read is kept for
 * the next stream, as long as the file is not replaced.
 *
 * - `take`: one for a stream; `giveBack`: when it has ended.
 * - `close`: closes those that no stream has.
 */
export interface Connections {
  readonly take: (durability: Database.Durability) => Database.Connection
  readonly giveBack: (connection: Database.Connection) => void
  readonly close: () => void
}

interface Opened {
  readonly file: number
  readonly durability: Database.Durability
}

export const make = (filename: string): Connections => {
  const opened = new WeakMap<Database.Connection, Opened>()
  const idle: Array<Database.Connection> = []

  const open = (durability: Database.Durability): Database.Connection => {
    const connection = Database.connect(filename, durability)
    opened.set(connection, { durability, file: statSync(filename).ino })
    return connection
  }

  const take = (durability: Database.Durability): Database.Connection => {
    const connection = idle.pop()
    if (connection === undefined) return open(durability)
    const found = opened.get(connection)
    if (found?.durability === durability && found.file === statSync(filename).ino) return connection
    connection.close()
    return take(durability)
  }

  return {
    take,
    giveBack: (connection) => {
      if (connection.isNew()) idle.push(connection)
      else connection.close()
    },
    close: () => {
      for (const connection of idle.splice(0)) connection.close()
    }
  }
}
