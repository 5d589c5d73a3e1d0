import { type BigIntStats, realpathSync, statSync } from "node:fs"
import { dirname, resolve } from "node:path"
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

/** None where the path leads to nothing that this process can see. */
const statsOf = (path: string): BigIntStats | undefined => {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

const identify = (path: string): Identity | undefined => {
  const stats = statsOf(path)
  return stats && { device: stats.dev, inode: stats.ino }
}

/** A folder at one moment. It is another one afterwards where a name in it was added, removed or made to lead to another file. */
interface Folder extends Identity {
  readonly modified: bigint
  readonly changed: bigint
}

const folderOf = (path: string): Folder | undefined => {
  const stats = statsOf(path)
  return stats && { device: stats.dev, inode: stats.ino, modified: stats.mtimeNs, changed: stats.ctimeNs }
}

const isSame = (a: Folder, b: Folder | undefined): boolean =>
  b !== undefined &&
  a.modified === b.modified &&
  a.changed === b.changed &&
  a.inode === b.inode &&
  a.device === b.device

// In nanoseconds: the time of a file moves in steps of some milliseconds, and of two seconds at most where it is only known to the second.
const second = 1_000_000_000n
const fineStep = 100_000_000n
const coarseStep = 3n * second

/** Whether what happens in a folder from now on is seen by its time, which is the system's: not within the step in which it changed last. */
const isSettled = ({ modified }: Folder): boolean =>
  BigInt(Date.now()) * 1_000_000n - modified > (modified % second === 0n ? coarseStep : fineStep)

const problem = (path: string, became: string): Problem => ({
  kind: "open",
  said: `${path} ${became}`,
  meaning:
    "a file of the database was deleted, moved or replaced while it was open, and what is written now would be lost with it: put it back, or end this process and open the store again",
  cause: undefined
})

/**
 * The files of an open database: SQLite writes on into a file that was deleted, moved or replaced, and says nothing.
 *
 * A look asks the folder, and the files only where something has happened in it: a file system may note the time of the next write to a file
 * more exactly once somebody has asked for its time, as Linux does since 6.13, and then each commit would wait for that time to be on the disk.
 */
export class OpenFiles {
  private seen: Problem | undefined
  private turns = -1
  /** The folder as it was before the files were looked at and all was well. */
  private known: Folder | undefined

  private constructor(
    private readonly files: ReadonlyArray<OpenFile>,
    private readonly folder: string | undefined,
    private readonly turn: Turn
  ) {}

  /** The files of a database that has been read, so that its log is there. The log stays as long as somebody has the database open. */
  static of(filename: string, turn: Turn): OpenFiles {
    if (filename === memory) return new OpenFiles([], undefined, turn)
    // A link that leads elsewhere later is another file too.
    const path = resolve(filename)
    const files = [path, logOf(filename)].flatMap((path) => {
      const identity = identify(path)
      return identity === undefined ? [] : [{ ...identity, path }]
    })
    // Where there are links on the way, each of their folders would have to be asked.
    return new OpenFiles(files, realpathSync(filename) === path ? dirname(path) : undefined, turn)
  }

  /** What has become of them. */
  look(): Problem | undefined {
    if (this.folder === undefined) return this.lookAtEach()
    const folder = folderOf(this.folder)
    if (folder !== undefined && isSame(folder, this.known)) return undefined
    const problem = this.lookAtEach()
    this.known = problem === undefined && folder !== undefined && isSettled(folder) ? folder : undefined
    return problem
  }

  private lookAtEach(): Problem | undefined {
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
