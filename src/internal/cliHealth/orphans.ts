import * as Effect from "effect/Effect"
import type { StoreError } from "../../StoreError.js"
import type { OpenStore } from "../cli/openStore.js"
import { lines } from "../util/lines.js"

/** A row that belongs to an execution that is not there. */
export interface Orphan {
  readonly table: string
  readonly key: string
  readonly problem: string
}

/** A kind of row that belongs to an execution, by the column that names it. */
interface Owned {
  readonly table: string
  readonly owner: string
  readonly problem: string
}

// Events may be for targets outside, and a dead letter may be about what was never there: those are no orphans. A trace can be kept of an
// execution that was never stored.
const owned: ReadonlyArray<Owned> = [
  { table: "timers", owner: "execution_id", problem: "is armed for an execution that is not there" },
  { table: "spawns", owner: "parent_id", problem: "is a child to create for a parent that is not there" },
  {
    table: "holdfast_activities",
    owner: "execution_id",
    problem: "is an activity of an execution that is not there"
  },
  { table: "processed_events", owner: "execution_id", problem: "was consumed by an execution that is not there" }
]

const limit = 1000

/** Owners that are not there, each once, with how many rows each has, behind an owner. */
const ownersSql = (p: string, { owner, table }: Owned): string => lines`
  SELECT ${owner}, count(*)
  FROM ${p}${table} AS t
  WHERE ${owner} > ? AND NOT EXISTS (SELECT 1 FROM ${p}executions AS e WHERE e.id = t.${owner})
  GROUP BY ${owner}
  ORDER BY ${owner}
  LIMIT ?`

/** Children whose parent is not there. */
const childrenSql = (p: string): string => lines`
  SELECT c.id, c.parent_id
  FROM ${p}holdfast_listing AS c
  WHERE c.id > ? AND c.parent_id IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM ${p}executions AS e WHERE e.id = c.parent_id)
  ORDER BY c.id
  LIMIT ?`

type Print<E, R> = (found: ReadonlyArray<Orphan>) => Effect.Effect<unknown, E, R>

const pages = <E, R>(
  { driver }: OpenStore,
  sql: string,
  toOrphan: (row: ReadonlyArray<unknown>) => Orphan,
  print: Print<E, R>
) =>
  Effect.gen(function* () {
    let after: string | undefined = ""
    while (after !== undefined) {
      const rows: ReadonlyArray<ReadonlyArray<unknown>> = yield* driver.query(
        { operation: "verify" },
        { sql, params: [after, limit] }
      )
      yield* print(rows.map(toOrphan))
      after = rows.length < limit ? undefined : String(rows.at(-1)?.[0])
    }
  })

/** Prints the rows that belong to executions that are not there. */
export const orphans = <E, R>(opened: OpenStore, print: Print<E, R>): Effect.Effect<void, E | StoreError, R> =>
  Effect.gen(function* () {
    const { prefix } = opened
    for (const each of owned) {
      const toOrphan = ([owner, count]: ReadonlyArray<unknown>) => ({
        table: each.table,
        key: String(owner),
        problem: Number(count) === 1 ? each.problem : `${each.problem} (${String(count)} such rows)`
      })
      yield* pages(opened, ownersSql(prefix, each), toOrphan, print)
    }
    const toChild = ([id, parent]: ReadonlyArray<unknown>) => ({
      table: "executions",
      key: String(id),
      problem: `is a child of ${JSON.stringify(String(parent))}, which is not there`
    })
    yield* pages(opened, childrenSql(prefix), toChild, print)
  })
