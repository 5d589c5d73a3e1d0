import { describe, expect, it } from "@effect/vitest"
import type { EncodedCommit } from "holdfast/EncodedStore"
import * as Generators from "holdfast/testing/Generators"
import { makePlan, seqsOf, splitDouble } from "../../src/internal/sql/commitPlan.js"
import { makeSql } from "../../src/internal/sql/statements.js"

const commit = (parts: Partial<EncodedCommit> = {}): EncodedCommit => ({
  executionId: "a",
  definitionId: "order",
  version: 1,
  token: "token",
  data: '{"id":"a"}',
  emits: [],
  delayed: [],
  processed: undefined,
  cancelled: [],
  armed: [],
  spawns: [],
  stopped: [],
  asked: { activities: [], askedAt: 1.5, traceparent: null },
  trace: undefined,
  ack: undefined,
  ...parts
})

const everything = (count: number, version: number): EncodedCommit => {
  const names = Array.from({ length: count }, (_, i) => `n${i}`)
  return commit({
    version,
    data: `{"padding":"${"x".repeat(1000)}"}`,
    emits: names.map((name) => ({ targetId: name, event: "{}" })),
    delayed: names.map((name) => ({ targetId: name, event: "{}", dueAt: 1.5 })),
    processed: "e",
    cancelled: names,
    armed: names.map((path) => ({ path, fireAt: 1.5 })),
    spawns: names.map((childId) => ({ childId, rootPath: "R", context: "{}" })),
    stopped: names,
    asked: {
      activities: names.map((key) => ({ key, name: "n", limitKey: "", payload: "{}" })),
      askedAt: 1.5,
      traceparent: null
    },
    attributes: names.map((name) => [name, "1"]),
    trace: "{}",
    ack: { _tag: "Outbox", seq: 1 }
  })
}

describe("the plan of a commit", () => {
  const sql = makeSql("")

  for (const version of [0, 1]) {
    // an execution that is new has no attributes to be removed, and no dead letters
    const most = version === 0 ? 13 : 15

    it(`at version ${version} it has a bounded number of statements, the swap last, the row's text in it alone`, () => {
      // fewer emits than this, and a single timer, have texts of their own
      const one = makePlan(sql, 200, everything(5, version)).statements
      const many = makePlan(sql, 200, everything(500, version)).statements
      expect(many.map((statement) => statement.sql)).toEqual(one.map((statement) => statement.sql))
      expect(one).toHaveLength(most)
      const carriers = many.flatMap((statement, i) =>
        statement.params.some((param) => typeof param === "string" && param.includes("padding")) ? [i] : []
      )
      expect(carriers).toEqual([most - 1])
    })

    it(`at version ${version} as few emits as are common, and one timer, are parameters of their own`, () => {
      for (const count of [1, 2, 3, 4]) {
        const few = { ...everything(count, version), armed: [{ path: "late", fireAt: 1.5 }] }
        const { emits, statements } = makePlan(sql, 200, few)
        expect(statements).toHaveLength(most)
        const names = few.emits.flatMap(({ event, targetId }) => [targetId, event])
        expect(statements[emits]?.params.slice(0, 2 * count)).toEqual(names)
        const armed = statements.find(({ params }) => params.includes("late"))
        expect(armed?.params.slice(0, 4)).toEqual(["a", "late", 3, 1])
      }
    })

    it(`at version ${version} every side-write is guarded by it`, () => {
      const guard = version === 0 ? ["a"] : ["a", version]
      const { statements } = makePlan(sql, 200, everything(2, version))
      for (const { params, sql } of statements.slice(0, -1)) {
        expect(params.slice(-guard.length)).toEqual(guard)
        expect(sql).toContain(version === 0 ? "NOT EXISTS (SELECT 1 FROM executions WHERE id = ?)" : "version = ?)")
      }
    })
  }

  it("binds as many values as there are placeholders, and no value is in a text", () => {
    for (const version of [0, 7]) {
      for (const { params, sql } of makePlan(makeSql("p_"), 3, everything(2, version)).statements) {
        expect(sql.match(/\?/g)).toHaveLength(params.length)
        expect(sql).not.toContain("n0")
      }
    }
  })

  it("writes nothing that a commit does not have", () => {
    expect(makePlan(sql, 200, commit()).statements).toHaveLength(1)
    expect(makePlan(sql, 200, commit({ trace: "{}" })).statements).toHaveLength(3)
    expect(makePlan(sql, 0, commit({ trace: "{}" })).statements).toHaveLength(2)
  })

  it("knows where its emits are", () => {
    expect(makePlan(sql, 200, commit()).emits).toBe(-1)
    const plan = makePlan(sql, 200, everything(1, 1))
    expect(plan.statements[plan.emits]?.sql).toContain("INSERT INTO outbox")
  })

  it("counts the seqs back from the last", () => {
    expect(seqsOf(undefined)).toEqual([])
    expect(seqsOf({ changes: 0, lastRowid: 41 })).toEqual([])
    expect(seqsOf({ changes: 3, lastRowid: 41 })).toEqual([39, 40, 41])
  })
})

describe("splitDouble", () => {
  const check = (value: number): void => {
    const [mantissa, exponent] = splitDouble(value)
    expect(mantissa / 2 ** exponent).toBe(value)
    // what SQLite can hold as an integer, and shift a 1 by
    expect(Number.isInteger(mantissa) && Math.abs(mantissa) <= 2 ** 53).toBe(true)
    expect(exponent >= 0 && exponent < 63).toBe(true)
    expect(JSON.stringify(mantissa)).toMatch(/^-?\d+$/)
  }

  it("is exact at the edges", () => {
    for (const value of [0, 1, -1, 2 ** -10, -(2 ** -10), 2 ** -10 + 2 ** -62, 2 ** 53, 2 ** 53 - 1, 0.1]) check(value)
  })

  it.prop("is exact for every time of a timer", [Generators.fireAt], ([value]) => check(value), {
    fastCheck: { numRuns: 1000, seed: 1 }
  })
})
