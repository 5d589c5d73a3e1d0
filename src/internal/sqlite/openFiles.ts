import { realpathSync, statSync } from "node:fs"
import { resolve } from "node:path"
import { memory } from "./checkFile.js"
import type { Problem } from "./error.js"
import type { Turn } from "./eventLoop.js"

/** Which file a path leads to. */
interface Identity {
  readonly device: bigint
  readonly inode: bigint
}

interface OpenFile extends Identity {
  readonly path: string
}

/** The write-ahead log of a database: SQLite keeps it beside the file that a link leads to. */
export const logOf = (filename: string): string => `${realpathSync(filename)}-wal`

/** None where the path leads to no file that this process can see. */
const identify = (path: string): Identity | undefined => {
  try {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
    return stats && { device: stats.dev, inode: stats.ino }
  } catch {
    return undefined
  }
}

const problem = (path: string, became: string): Problem => ({
  kind: "open",
  said: `${path} ${became}`,
  meaning:
    "a file of the database was deleted, moved or replaced while it was open, and what is written now would be lost with it: put it back, or end this process and open the store again",
  cause: undefined
})

/**
 * The files of an open database: SQLite writes on into a file that was deleted, moved or replaced, and says nothing. A look at the
 * database and its write-ahead log takes about 2 us.
 */
export class OpenFiles {
  private seen: Problem | undefined
  private turns = -1

  private constructor(
    private readonly files: ReadonlyArray<OpenFile>,
    private readonly turn: Turn
  ) {}

  /** The files of a database that has been read, so that its log is there. The log stays as long as somebody has the database open. */
  static of(filename: string, turn: Turn): OpenFiles {
    if (filename === memory) return new OpenFiles([], turn)
    // A link that leads elsewhere later is another file too.
    const files = [resolve(filename), logOf(filename)].flatMap((path) => {
      const identity = identify(path)
      return identity === undefined ? [] : [{ ...identity, path }]
    })
    return new OpenFiles(files, turn)
  }

  /** What has become of them. */
  look(): Problem | undefined {
    for (const { device, inode, path } of this.files) {
      const found = identify(path)
      if (found === undefined) return problem(path, "is not there")
      if (found.inode !== inode || found.device !== device) return problem(path, "is another file now")
    }
    return undefined
  }

  /** The same for reads, for which one look in each turn of the event loop is enough. */
  glance(): Problem | undefined {
    if (this.turns !== this.turn.count()) {
      this.turns = this.turn.count()
      this.seen = this.look()
    }
    return this.seen
  }
}
