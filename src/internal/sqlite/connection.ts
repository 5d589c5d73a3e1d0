import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Scope from "effect/Scope"
import type { Statement, StatementResult } from "../../SqlDriver.js"
import type { StoreRejected, StoreUnavailable } from "../../StoreError.js"
import type { Access, Database, Library, Prepared, Rows } from "../sqliteDriver/database.js"
import { closed, type Ended, endedBy, leftOpen, type Problem, problemOf, toStoreError } from "./error.js"
import type { OpenFiles } from "./openFiles.js"

/** What a transaction failed with; it is rolled back. `over` says that its COMMIT failed and left nothing to roll back. */
export interface Broken {
  readonly problem: Problem
  readonly committing: boolean
  readonly over?: boolean | undefined
}

// The texts of a store are few; those of the listings depend on what is asked for.
const maxPrepared = 256

/** A connection's statements, kept prepared. */
class Statements {
  private readonly known = new Map<string, Prepared>()

  constructor(private readonly database: Database) {}

  prepare(sql: string): Prepared {
    const found = this.known.get(sql)
    if (found !== undefined) return found
    const prepared = this.database.prepare(sql)
    if (this.known.size >= maxPrepared) this.release()
    this.known.set(sql, prepared)
    return prepared
  }

  release(): void {
    for (const prepared of this.known.values()) prepared.release()
    this.known.clear()
  }
}

/** An open database. It runs without a pause, so that nobody else comes in between, and never waits for a lock. */
export class Connection {
  private readonly statements: Statements
  private closed = false
  private files: OpenFiles | undefined
  /** Changes when another connection has written. */
  private dataVersion: unknown
  /** What a transaction failed with that is still open, because its ROLLBACK failed too. */
  private leftOpen: Problem | undefined

  constructor(
    private readonly database: Database,
    private readonly codeOf: Library["codeOf"]
  ) {
    this.statements = new Statements(database)
  }

  /** From now on nothing is done where one of the files is not there any more. */
  watch(files: OpenFiles): void {
    this.files = files
  }

  /** Runs the statements in a transaction, at once. */
  transaction(statements: () => ReadonlyArray<Statement>): Either.Either<ReadonlyArray<StatementResult>, Broken> {
    if (this.closed) return Either.left({ problem: closed, committing: false })
    let committing = false
    try {
      this.begin()
      const results = statements().map(({ params, sql }) => this.statements.prepare(sql).run(params))
      // After the writes: what is deleted from here on is as if it were deleted after the COMMIT.
      const lost = this.files?.look()
      if (lost !== undefined) {
        this.rollBack()
        return Either.left({ problem: lost, committing: false })
      }
      committing = true
      this.command("COMMIT")
      return Either.right(results)
    } catch (cause) {
      const over = this.rollBack() === "over"
      return Either.left({ problem: this.problemOf(cause), committing, over })
    }
  }

  query({ params, sql }: Statement): Effect.Effect<Rows, Broken> {
    return Effect.suspend(() => {
      const problem = this.closed ? closed : (this.unended() ?? this.files?.glance())
      if (problem !== undefined) return Effect.fail({ problem, committing: false })
      try {
        return Effect.succeed(this.statements.prepare(sql).all(params))
      } catch (cause) {
        return Effect.fail({ problem: this.problemOf(cause), committing: false })
      }
    })
  }

  /** Whether another connection has written since this was asked last; false where that cannot be told. It takes 2 us. */
  othersWrote(): boolean {
    if (this.closed) return false
    const before = this.dataVersion
    try {
      this.dataVersion = this.statements.prepare("PRAGMA data_version").all([])[0]?.[0]
    } catch {
      return false
    }
    return before !== undefined && before !== this.dataVersion
  }

  close(): void {
    this.closed = true
    this.statements.release()
    this.database.close()
  }

  private command(sql: string): void {
    this.statements.prepare(sql).run([])
  }

  private begin(): void {
    try {
      this.command("BEGIN IMMEDIATE")
    } catch (cause) {
      if (this.problemOf(cause).kind === "busy") throw cause
      // A ROLLBACK that failed has left its transaction open.
      this.rollBack()
      this.command("BEGIN IMMEDIATE")
    }
  }

  /** What keeps a transaction open, after another attempt to end it. */
  private unended(): Problem | undefined {
    if (this.leftOpen !== undefined) this.rollBack()
    return this.leftOpen
  }

  private rollBack(): Ended {
    try {
      this.command("ROLLBACK")
      this.leftOpen = undefined
      return "rolled-back"
    } catch (cause) {
      const problem = this.problemOf(cause)
      const ended = endedBy(problem)
      this.leftOpen = ended === "left-open" ? leftOpen(problem) : undefined
      return ended
    }
  }

  private problemOf(cause: unknown): Problem {
    return problemOf({ cause }, this.codeOf(cause))
  }
}

const call = { operation: "open" }

/** Opens a file, and reads nothing of it yet. */
export const open = (
  library: Library,
  filename: string,
  access?: Access
): Effect.Effect<Connection, StoreUnavailable | StoreRejected, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.try({
      try: () => new Connection(library.open(filename, access), library.codeOf),
      catch: (cause) => toStoreError(call, problemOf({ cause }, library.codeOf(cause)))
    }),
    (connection) => Effect.sync(() => connection.close())
  )
