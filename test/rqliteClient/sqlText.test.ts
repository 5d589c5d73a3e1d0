import { describe, expect, it } from "@effect/vitest"
import * as SqlText from "../../src/internal/rqliteClient/sqlText.js"

const placeholders = (sql: string) =>
  SqlText.analysisOf(sql).placeholders.map(({ end, index, start }) => [sql.slice(start, end), index])

describe("the SQL texts that the client reads", () => {
  it.each([
    [
      "SELECT ?, ?",
      [
        ["?", 0],
        ["?", 1]
      ]
    ],
    [
      "SELECT ?2, ?, ?1",
      [
        ["?2", 1],
        ["?", 2],
        ["?1", 0]
      ]
    ],
    ["SELECT '?', \"?\", `?`, [?], 'it''s ?', ?", [["?", 0]]],
    [
      "SELECT 1 -- ?\n, ? /* ? */, ?",
      [
        ["?", 0],
        ["?", 1]
      ]
    ],
    ["SELECT a$b, x'41', 1e5, data->>'$.x', \"a\"\"?\" FROM t WHERE é = ?", [["?", 0]]],
    ["SELECT ? /* unfinished ?", [["?", 0]]]
  ])("finds what is bound: %s", (sql, expected) => {
    expect(placeholders(sql)).toEqual(expected)
  })

  it.each([
    ["  insert into t values(?)", "INSERT"],
    ["-- note\nUPDATE t SET a = 1", "UPDATE"],
    ["/* note */ select 1", "SELECT"],
    ["WITH a AS (SELECT 1), b AS (DELETE) INSERT INTO t SELECT * FROM a", "INSERT"],
    ["WITH RECURSIVE c(x) AS (VALUES(1)) SELECT * FROM c", "SELECT"],
    ["EXPLAIN INSERT INTO t VALUES(1)", "EXPLAIN"],
    ["replace into t values(1)", "REPLACE"],
    ["CREATE TABLE t(a)", "CREATE"]
  ])("tells what a statement does: %s", (sql, verb) => {
    expect(SqlText.analysisOf(sql)).toMatchObject({ verb, problem: undefined })
  })

  it.each([
    ["SELECT 1; SELECT 2", /more than one statement/],
    ["INSERT INTO t VALUES(';'); ; DELETE FROM t", /more than one statement/],
    ["CREATE TRIGGER r AFTER INSERT ON t BEGIN DELETE FROM u; END; SELECT 1", /more than one statement/],
    ["CREATE TABLE trigger(a); SELECT 1", /more than one statement/],
    ["", /no statement/],
    ["  -- nothing\n", /no statement/],
    [";", /no statement/],
    ["BEGIN IMMEDIATE", /is BEGIN/],
    ["commit", /is COMMIT/],
    ["END", /is END/],
    ["ROLLBACK", /is ROLLBACK/],
    ["SAVEPOINT a", /is SAVEPOINT/],
    ["RELEASE a", /is RELEASE/],
    ["SELECT :name", /binds :name/],
    ["SELECT @name", /binds @name/],
    ["SELECT $name", /binds \$name/],
    ["SELECT ?0", /\?0 is not/],
    ["SELECT ?99999", /\?99999 is not/],
    ["SELECT 'a\ud800'", /lone surrogate/]
  ])("refuses what rqlite would take otherwise: %j", (sql, problem) => {
    expect(SqlText.analysisOf(sql).problem).toMatch(problem)
  })

  it.each([
    ["SELECT 1;", "SELECT 1"],
    ["SELECT 1 ; -- done", "SELECT 1 "],
    ["SELECT ';' ;; /* done */", "SELECT ';' "],
    [
      "CREATE TEMP TRIGGER r AFTER INSERT ON t BEGIN UPDATE u SET a = CASE WHEN 1 THEN 2 END; DELETE FROM u; END;",
      "CREATE TEMP TRIGGER r AFTER INSERT ON t BEGIN UPDATE u SET a = CASE WHEN 1 THEN 2 END; DELETE FROM u; END"
    ]
  ])("cuts off what would count as one more statement: %s", (sql, sent) => {
    expect(SqlText.analysisOf(sql)).toMatchObject({ sql: sent, problem: undefined })
  })

  it("wraps the placeholders of the parameters that are sent in hexadecimal digits, each time they are used", () => {
    const analysis = SqlText.analysisOf("SELECT ?1, '?1', ?2, ?1")
    expect(SqlText.withText(analysis, (index) => index === 0)).toBe(
      "SELECT (+CAST(unhex(?1) AS TEXT)), '?1', ?2, (+CAST(unhex(?1) AS TEXT))"
    )
    expect(SqlText.withText(analysis, () => false)).toBe(analysis.sql)
  })

  it("reads a text again after many others, and a long one that it does not keep", () => {
    for (let i = 0; i < 1_100; i++) expect(SqlText.analysisOf(`SELECT ${i}, ?`).count).toBe(1)
    expect(SqlText.analysisOf("SELECT 0, ?").count).toBe(1)
    expect(SqlText.analysisOf(`SELECT '${"x".repeat(3_000_000)}', ?`).count).toBe(1)
  })
})
