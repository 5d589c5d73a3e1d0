import * as SqlClient from "@effect/sql/SqlClient"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Status } from "holdfast/Execution"
import * as SqlStore from "holdfast/SqlStore"
import * as sqlClient from "../support/sqlClient.js"

/** Rows of the listing alone, which is what is counted. */
const rows = `
  WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
  INSERT INTO harel_holdfast_listing (id, definition_id, status, parent_id, root)
  SELECT ? || i, ?, ?, NULLIF(i % 3, 0), i % 3 = 0 FROM n`

// Parts of 25,001 rows: groups that are one, that end with one, and that one shares with others.
const groups: ReadonlyArray<readonly [definitionId: string, status: Status | null, count: number]> = [
  ["a", "DONE", 25_001],
  ["a", "RUNNING", 3],
  ["b", "FAILED", 24_998],
  ["b", "PENDING", 50_003],
  ["b", null, 2],
  ["c", "DONE", 1]
]

describe("the counts of a large store", () => {
  it.scoped("are those of all parts", () =>
    Effect.gen(function* () {
      const client = yield* sqlClient.make()
      const store = yield* Effect.provideService(SqlStore.make(), SqlClient.SqlClient, client)
      for (const [definitionId, status, count] of groups) {
        yield* client.unsafe(rows, [count, `${definitionId} ${status} `, definitionId, status])
      }
      const found = (yield* store.counts).map(({ count, definitionId, status }) => [
        definitionId,
        Option.getOrNull(status),
        count
      ])
      expect(found).toHaveLength(groups.length)
      expect(found).toEqual(expect.arrayContaining(groups.map((group) => [...group])))
      expect(yield* store.countExecutions()).toBe(groups.reduce((sum, [, , count]) => sum + count, 0))
      expect(yield* store.countExecutions({ definitionId: "b", status: ["PENDING", "FAILED"] })).toBe(75_001)
      expect(yield* store.countExecutions({ definitionId: "b", status: ["PENDING"], rootsOnly: true })).toBe(16_668)
    })
  )
})
