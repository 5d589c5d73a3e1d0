import * as Predicate from "effect/Predicate"
import type { Call } from "../../SqlDriver.js"
import { StoreRejected, StoreUnavailable } from "../../StoreError.js"
import { nameOf } from "../sqliteDriver/resultCode.js"

/** What a failed statement means to a caller: what can be tried later, and what will never do. */
type Kind = "busy" | "shutdown" | "io" | Exclude<StoreRejected["reason"], "invalid-input" | "schema">

export interface Problem {
  readonly kind: Kind
  /** What SQLite said, with its code. */
  readonly said: string
  /** What that means, where SQLite's words do not say it. */
  readonly meaning: string
  readonly cause: unknown
}

const meanings: ReadonlyArray<readonly [code: string, kind: Kind, meaning: string]> = [
  ["IOERR_SHMSIZE", "disk-full", "the disk is full, or the file system does not support shared memory"],
  ["FULL", "disk-full", "the disk is full, or the database has reached its largest size"],
  // What a first connection and one that recovers after a crash are busy with is over soon.
  ["BUSY", "busy", ""],
  ["LOCKED", "busy", ""],
  ["PROTOCOL", "busy", ""],
  ["IOERR", "io", "the disk or the file system failed"],
  ["READONLY", "read-only", "the database cannot be written"],
  ["CONSTRAINT", "constraint", ""],
  ["TOOBIG", "too-large", "a value or a row is larger than the database allows"],
  ["AUTH", "auth", ""],
  ["PERM", "auth", ""],
  ["NOTADB", "open", "the file is not an SQLite database, or is encrypted"],
  ["CORRUPT", "open", "the database file is damaged: restore it from a backup"],
  ["CANTOPEN", "open", "the database, or a file that SQLite keeps beside it, cannot be opened"]
]

// Clients give the code as its name or, as those built on WebAssembly do, as its number.
const codeOf = (cause: unknown): string => (Predicate.hasProperty(cause, "code") ? nameOf(cause.code) : "")

/** What a connection that is closed says. */
export const closed: Problem = {
  kind: "shutdown",
  said: "the store is closed",
  meaning: "the database connection is closed",
  cause: undefined
}

/**
 * Reads a failure of an SQLite client; its own message says nothing, what it was caused by does. `code` is the name of SQLite's result
 * code, without `SQLITE_`.
 */
export const problemOf = ({ cause }: { readonly cause?: unknown }, code: string = codeOf(cause)): Problem => {
  const text = cause instanceof Error ? cause.message : String(cause)
  const said = code === "" ? text : `${text} (SQLITE_${code})`
  // No code of SQLite's: the client knows by itself that its connection is gone.
  if (code === "" && /connection is not open|closed database|database has closed/i.test(text)) {
    return { kind: "shutdown", said, meaning: "the database connection is closed", cause }
  }
  const known = meanings.find(([prefix]) => code === prefix || code.startsWith(`${prefix}_`))
  return { kind: known?.[1] ?? "sql", said, meaning: known?.[2] ?? "", cause }
}

/** Where a statement failed: at the transaction's COMMIT, and whether there was no transaction left to roll back then. */
interface Place {
  readonly committing?: boolean | undefined
  readonly over?: boolean | undefined
}

/**
 * Whether what failed may be applied all the same. An I/O error of a COMMIT leaves open whether it reached the disk. One that left no
 * transaction behind may have ended it either way, save for what SQLite refuses a COMMIT for.
 */
export const mayBeApplied = ({ kind }: Problem, { committing = false, over = false }: Place): boolean =>
  committing && (kind === "io" || (over && (kind === "sql" || kind === "open")))

/**
 * That a transaction did not end, from what its ROLLBACK failed with: what it wrote must neither be seen nor be committed with anything
 * else.
 */
export const leftOpen = ({ cause, said }: Problem): Problem => ({
  kind: "io",
  said,
  meaning: "a transaction that failed is still open on the connection, and cannot be rolled back",
  cause
})

/** What a ROLLBACK came to: some failures have ended the transaction before it. */
export type Ended = "rolled-back" | "over" | "left-open"

/** What a ROLLBACK came to that failed. */
export const endedBy = ({ said }: Problem): Ended => (said.includes("no transaction is active") ? "over" : "left-open")

/** Whether a BEGIN failed because of a transaction that is open. */
export const isWithin = ({ said }: Problem): boolean => said.includes("within a transaction")

/** The error that a caller sees. `busy` says what a lock means to it. */
export const toStoreError = (
  call: Call,
  problem: Problem,
  options: Place & { readonly busy?: string | undefined } = {}
): StoreUnavailable | StoreRejected => {
  const meaning = (problem.kind === "busy" ? options.busy : undefined) ?? problem.meaning
  const common = {
    operation: call.operation,
    executionId: call.executionId,
    detail: meaning === "" ? problem.said : `${meaning}: ${problem.said}`,
    cause: problem.cause
  }
  if (mayBeApplied(problem, options)) {
    return new StoreUnavailable({ ...common, reason: "connection", outcome: "unknown" })
  }
  switch (problem.kind) {
    case "busy":
    case "shutdown":
      return new StoreUnavailable({ ...common, reason: problem.kind, outcome: "not-applied" })
    case "io":
      return new StoreUnavailable({ ...common, reason: "connection", outcome: "not-applied" })
    default:
      return new StoreRejected({ ...common, reason: problem.kind })
  }
}
