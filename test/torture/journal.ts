/** What a process asked of a store and was told: lines of a file of its own, which outlives it. */
import { closeSync, fsyncSync, openSync, readdirSync, readFileSync, writeSync } from "node:fs"
import { join } from "node:path"

/** - `remembered`: whether it was made of what the process had written last, without a read. - `Write`, `Read`: see `linearizability.ts`. - `List`: of executions, by the process that has started this one. - `Copy`: of the executions in a process's copy, where the server has this one. - `client`, `nth`: who sent the event, as which of its events to that execution. */
export type Asked =
  | { readonly _tag: "Start"; readonly id: string; readonly events: number }
  | {
      readonly _tag: "Send"
      readonly id: string
      readonly event: string
      readonly client: string
      readonly nth: number
    }
  | {
      readonly _tag: "Commit"
      readonly id: string
      readonly from: number
      readonly processed?: string | undefined
      readonly remembered?: boolean | undefined
    }
  | {
      readonly _tag: "Write"
      readonly id: string
      readonly from: number
      readonly value: string
      readonly event?: string | undefined
      readonly remembered?: boolean | undefined
    }
  | { readonly _tag: "Read"; readonly id: string; readonly event?: string | undefined }
  | { readonly _tag: "List"; readonly id: string }
  | { readonly _tag: "Copy"; readonly id: string }

/** What was answered; nothing where the process ended before. */
export type Told =
  | { readonly _tag: "Done" }
  | { readonly _tag: "Conflict" }
  | { readonly _tag: "Saw"; readonly version: number; readonly value: string; readonly processed?: boolean | undefined }
  | { readonly _tag: "Lacking" }
  | { readonly _tag: "NotApplied"; readonly why: string }
  | { readonly _tag: "Unknown"; readonly why: string }

/** `at` is in nanoseconds by the one monotonic clock of the machine. */
type Line =
  | { readonly n: number; readonly at: number; readonly asked: Asked }
  | { readonly n: number; readonly at: number; readonly told: Told }

export interface Entry {
  readonly by: string
  readonly began: number
  readonly asked: Asked
  readonly ended: number
  readonly told: Told
}

export const now = (): number => Number(process.hrtime.bigint())

/** Writes to `directory/by.journal`. What is written outlives the process, since the system has it. */
export const makeWriter = (directory: string, by: string) => {
  const fd = openSync(join(directory, `${by}.journal`), "a")
  let last = 0
  const write = (line: Line): void => void writeSync(fd, `${JSON.stringify(line)}\n`)
  return {
    /** Says what is asked; gives what is to be called with the answer. */
    ask: (asked: Asked): ((told: Told) => void) => {
      const n = ++last
      write({ n, at: now(), asked })
      return (told) => write({ n, at: now(), told })
    }
  }
}

export type Writer = ReturnType<typeof makeWriter>

const journals = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory).filter((file) => file.endsWith(".journal"))

/** Makes sure that what was acknowledged so far is remembered whatever becomes of this machine: by who judges, not by the victims. */
export const sync = (directory: string): void => {
  for (const file of journals(directory)) {
    const fd = openSync(join(directory, file), "r")
    fsyncSync(fd)
    closeSync(fd)
  }
}

const linesOf = (path: string): ReadonlyArray<Line> =>
  readFileSync(path, "utf8")
    .split("\n")
    // The last one may have been cut short by the end of its process.
    .slice(0, -1)
    .map((line): Line => JSON.parse(line))

/** All that the processes asked and were told, in the order in which they asked. */
export const read = (directory: string): ReadonlyArray<Entry> => {
  const entries: Array<Entry> = []
  for (const file of journals(directory)) {
    const by = file.replace(/\.journal$/, "")
    const open = new Map<number, Extract<Line, { asked: Asked }>>()
    for (const line of linesOf(join(directory, file))) {
      if ("asked" in line) open.set(line.n, line)
      else {
        const begun = open.get(line.n)
        open.delete(line.n)
        if (begun !== undefined) {
          entries.push({ by, began: begun.at, asked: begun.asked, ended: line.at, told: line.told })
        }
      }
    }
    for (const { asked, at } of open.values()) {
      const told: Told = { _tag: "Unknown", why: "the process ended" }
      entries.push({ by, began: at, asked, ended: Number.POSITIVE_INFINITY, told })
    }
  }
  return entries.sort((a, b) => a.began - b.began)
}
