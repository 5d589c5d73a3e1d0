/** What is left of a database's files after a loss of power, made of what `disk.c` wrote down. */
import { closeSync, existsSync, openSync, readFileSync, readSync, rmSync, writeFileSync } from "node:fs"
import type { Dice } from "../../src/testing/internal/simulation/dice.js"

/** The files that survive a loss of power, as `disk.c` numbers them, and what their names end with. */
const suffixes: ReadonlyArray<readonly [file: number, suffix: string]> = [
  [1, ""],
  [2, "-wal"],
  [3, "-journal"]
]

const ops = { write: 1, sync: 2, truncate: 3, unlink: 4, lied: 5, failed: 6 } as const

/**
 * What becomes of what was not synced.
 *
 * - `all`: none of it is there.
 * - `sectors`: a random half of its sectors of 512 bytes is there, of each write another half.
 * - `end`: what was written up to some moment is there, and nothing of what came later: a disk that keeps the order.
 *
 * Where syncs have lied, `all` and `sectors` keep the order too.
 */
export type Loss = "all" | "sectors" | "end"

const sector = 512

/** Something that was written and not synced. `nth` counts all writes, of all files. */
type Pending =
  | { readonly _tag: "Write"; readonly nth: number; readonly offset: number; readonly data: Buffer }
  | { readonly _tag: "Truncate"; readonly nth: number; readonly size: number }
  | { readonly _tag: "Unlink"; readonly nth: number }

/** The bytes of a file. */
class Bytes {
  private bytes: Buffer
  private size: number

  constructor(initial: Buffer) {
    this.bytes = initial
    this.size = initial.length
  }

  write(offset: number, data: Buffer): void {
    const end = offset + data.length
    if (end > this.bytes.length) {
      const larger = Buffer.alloc(Math.max(end, 2 * this.bytes.length))
      this.bytes.copy(larger, 0, 0, this.size)
      this.bytes = larger
    }
    if (offset > this.size) this.bytes.fill(0, this.size, offset)
    data.copy(this.bytes, offset)
    this.size = Math.max(this.size, end)
  }

  truncate(size: number): void {
    if (size > this.size) this.write(size - 1, Buffer.alloc(1))
    this.size = size
  }

  get content(): Buffer {
    return this.bytes.subarray(0, this.size)
  }
}

/** A file on the disk: what is durable of it, which is nothing where it does not exist, and what is not yet. */
interface File {
  durable: Bytes | undefined
  pending: Array<Pending>
}

const apply = (file: File, pending: Pending): void => {
  if (pending._tag === "Unlink") {
    file.durable = undefined
    return
  }
  file.durable ??= new Bytes(Buffer.alloc(0))
  if (pending._tag === "Write") file.durable.write(pending.offset, pending.data)
  else file.durable.truncate(pending.size)
}

const applySectors = (file: File, pending: Pending, dice: Dice): void => {
  if (pending._tag !== "Write") {
    if (dice.chance(0.5)) apply(file, pending)
    return
  }
  const { data, nth, offset } = pending
  for (let at = 0; at < data.length; ) {
    const next = Math.min(data.length, at + sector - ((offset + at) % sector))
    if (dice.chance(0.5)) apply(file, { _tag: "Write", nth, offset: offset + at, data: data.subarray(at, next) })
    at = next
  }
}

const headerSize = 24
const chunkSize = 8 * 2 ** 20

interface Entry {
  readonly op: number
  readonly file: number
  readonly offset: number
  readonly data: Buffer
}

/** The entries of a log, one after the other. The last one may be cut short. */
function* entriesOf(log: string): Generator<Entry> {
  const fd = openSync(log, "r")
  try {
    let rest: Buffer = Buffer.alloc(0)
    for (;;) {
      const chunk = Buffer.alloc(chunkSize)
      const read = readSync(fd, chunk, 0, chunkSize, null)
      if (read === 0) return
      const bytes = Buffer.concat([rest, chunk.subarray(0, read)])
      let at = 0
      while (at + headerSize <= bytes.length) {
        const op = bytes.readUInt32LE(at)
        const length = op === ops.write ? Number(bytes.readBigUInt64LE(at + 16)) : 0
        if (at + headerSize + length > bytes.length) break
        const data = bytes.subarray(at + headerSize, at + headerSize + length)
        yield { op, file: bytes.readUInt32LE(at + 4), offset: Number(bytes.readBigUInt64LE(at + 8)), data }
        at += headerSize + length
      }
      rest = bytes.subarray(at)
    }
  } finally {
    closeSync(fd)
  }
}

/** How much was written and synced, and how much of it was not durable at the end. */
export interface Counts {
  readonly writes: number
  readonly syncs: number
  readonly lies: number
  readonly failedSyncs: number
  readonly unsynced: number
}

/** - `firstLie`: after how many writes the first sync lied. */
interface Played extends Omit<Counts, "unsynced"> {
  readonly firstLie: number | undefined
}

/** Does to files what a log says that was done to them. */
const play = (log: string, files: ReadonlyMap<number, File>, letsGo: boolean): Played => {
  const counts = { writes: 0, syncs: 0, lies: 0, failedSyncs: 0 }
  let firstLie: number | undefined
  for (const { data, file: number, offset, op } of entriesOf(log)) {
    const file = files.get(number)
    if (file === undefined) continue
    if (op === ops.write) file.pending.push({ _tag: "Write", nth: ++counts.writes, offset, data })
    else if (op === ops.truncate) file.pending.push({ _tag: "Truncate", nth: ++counts.writes, size: offset })
    else if (op === ops.unlink) {
      // A database removes a file when what was in it is synced elsewhere.
      if (firstLie === undefined) Object.assign(file, { durable: undefined, pending: [] })
      else file.pending.push({ _tag: "Unlink", nth: ++counts.writes })
    } else if (op === ops.lied) {
      counts.lies++
      firstLie ??= counts.writes
    } else if (op === ops.failed) {
      counts.failedSyncs++
      if (letsGo && firstLie === undefined) file.pending = []
    } else if (op === ops.sync) {
      counts.syncs++
      for (const pending of file.pending) apply(file, pending)
      file.pending = []
    }
  }
  return { ...counts, firstLie }
}

const readIfThere = (path: string): Buffer | undefined => (existsSync(path) ? readFileSync(path) : undefined)

/**
 * The files of a database as they are, from now on written by nobody but processes that write to `log`. `lose` puts them into the state
 * after a loss of power, when all of these have ended.
 */
export const makeDisk = (database: string, log: string) => {
  let base: ReadonlyMap<number, Buffer | undefined> = new Map()

  const begin = (): void => {
    base = new Map(suffixes.map(([file, suffix]) => [file, readIfThere(database + suffix)]))
    writeFileSync(log, "")
  }

  const lose = (loss: Loss, dice: Dice): Counts => {
    const files = new Map<number, File>()
    for (const [file, bytes] of base) {
      files.set(file, { durable: bytes === undefined ? undefined : new Bytes(Buffer.from(bytes)), pending: [] })
    }
    // After a sync that failed, the system may have let go of what it could not write.
    const played = play(log, files, dice.chance(0.5))
    const { firstLie, writes } = played
    const unsynced = Array.from(files.values()).flatMap(({ pending }) => pending.map(({ nth }) => nth))
    const earliest = firstLie ?? Math.min(...unsynced, writes)
    const last = loss === "all" && firstLie !== undefined ? firstLie : dice.between(earliest, writes)
    // A disk that lies keeps the order here: what it keeps out of order is beyond what any database can put right.
    const inOrder = loss === "end" || firstLie !== undefined
    for (const file of files.values()) {
      for (const pending of file.pending) {
        if (inOrder && pending.nth <= last) apply(file, pending)
        else if (!inOrder && loss === "sectors") applySectors(file, pending, dice)
      }
    }
    for (const [number, suffix] of suffixes) {
      const durable = files.get(number)?.durable
      if (durable === undefined) rmSync(database + suffix, { force: true })
      else writeFileSync(database + suffix, durable.content)
    }
    rmSync(`${database}-shm`, { force: true })
    return { ...played, unsynced: unsynced.length }
  }

  return { begin, lose }
}

export type Disk = ReturnType<typeof makeDisk>
