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
 * Reads a failure of an SQLite client; its own message says nothing, what it was caused by does. `code` is the name of SQLite's result code,
 * without `SQLITE_`.
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

/**
 * The error that a caller sees. `busy` says what a lock means to it; `committing` that the failed statement was the transaction's COMMIT,
 * of which an I/O error leaves open whether it reached the disk.
 */
export const toStoreError = (
  call: Call,
  problem: Problem,
  options: { readonly busy?: string; readonly committing?: boolean } = {}
): StoreUnavailable | StoreRejected => {
  const meaning = (problem.kind === "busy" ? options.busy : undefined) ?? problem.meaning
  const common = {
    operation: call.operation,
    executionId: call.executionId,
    detail: meaning === "" ? problem.said : `${meaning}: ${problem.said}`,
    cause: problem.cause
  }
  switch (problem.kind) {
    case "busy":
    case "shutdown":
      return new StoreUnavailable({ ...common, reason: problem.kind, outcome: "not-applied" })
    case "io":
      return new StoreUnavailable({
        ...common,
        reason: "connection",
        outcome: options.committing === true ? "unknown" : "not-applied"
      })
    default:
      return new StoreRejected({ ...common, reason: problem.kind })
  }
}
