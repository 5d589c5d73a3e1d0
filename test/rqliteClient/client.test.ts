import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type * as RqliteClient from "holdfast/RqliteClient"
import { connect } from "../support/rqlite/client.js"
import * as RqliteServer from "../support/rqlite/server.js"

type Open = Effect.Effect<RqliteClient.RqliteClient, unknown, Scope.Scope>

const standIn: Open = Effect.flatMap(RqliteServer.make(), ({ urls }) => connect(urls))

const real = process.env.RQLITE_URL
const servers: ReadonlyArray<readonly [string, Open]> = [
  ["the stand-in", standIn],
  ...(real === undefined ? [] : [["RQLITE_URL", connect(real.split(","))] as const])
]

const table = "holdfast_client_test"

/** A client, and a new table `(id INTEGER PRIMARY KEY AUTOINCREMENT, t TEXT UNIQUE, r REAL, b BLOB, x)`. */
const prepared = (open: Open) =>
  Effect.gen(function* () {
    const client = yield* open
    yield* client.execute([
      { sql: `DROP TABLE IF EXISTS ${table}` },
      { sql: `CREATE TABLE ${table} (id INTEGER PRIMARY KEY AUTOINCREMENT, t TEXT UNIQUE, r REAL, b BLOB, x)` }
    ])
    return client
  })

const first = (results: ReadonlyArray<RqliteClient.QueryResult>) => results[0]?.values[0]

const texts = [
  "",
  "plain",
  "x'4142'",
  " X'00' ",
  "x''",
  "\u00a0x'41'\u0085",
  "x'4",
  "a\u0000b",
  "\u0000",
  "😀 ünï \u2028 '\"\\ <>& \ufffd",
  "[1,2]",
  "9007199254740993",
  "x".repeat(100_000)
]

const integers = [0, -1, 1, 2 ** 31, 2 ** 53 - 1, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n), -(2n ** 53n) - 1n]

const reals = [0.1, -0.5, 1e300, 5e-324, 1.7976931348623157e308, 1e21, 1e-7, 1764423703.1234567]

describe.each(servers)("a client of %s", (_, open) => {
  it.scoped("keeps every text as it is, bound in a write and in a read", () =>
    Effect.gen(function* () {
      const client = yield* prepared(open)
      yield* client.execute(texts.map((t) => ({ sql: `INSERT INTO ${table}(t, x) VALUES(?1, ?1)`, params: [t] })))
      const results = yield* client.query(
        texts.map((t) => ({
          sql: `SELECT t, typeof(t), typeof(x), x = t, hex(t), typeof(?), ? FROM ${table} WHERE t = ?`,
          params: [t, t, t]
        }))
      )
      const hex = (t: string) => Buffer.from(t, "utf8").toString("hex").toUpperCase()
      expect(results.map(({ values }) => values)).toEqual(texts.map((t) => [[t, "text", "text", 1, hex(t), "text", t]]))
    })
  )

  it.scoped.prop(
    "keeps any Unicode text",
    { text: FastCheck.string({ unit: "binary" }), hex: FastCheck.uint8Array({ maxLength: 4 }) },
    ({ hex, text }) =>
      Effect.gen(function* () {
        const client = yield* open
        const literal = `x'${Buffer.from(hex).toString("hex")}'`
        const results = yield* client.query([{ sql: "SELECT ?, ?, typeof(?2)", params: [text, literal] }])
        expect(first(results)).toEqual([text, literal, "text"])
      }),
    { fastCheck: { numRuns: 20 } }
  )

  it.scoped("compares such a text as it would any other", () =>
    Effect.gen(function* () {
      const client = yield* prepared(open)
      yield* client.execute([{ sql: `INSERT INTO ${table}(id, x) VALUES(1, 5)` }])
      // An affinity on the right side would make a text of the integer, which sorts after the space.
      const results = yield* client.query([
        { sql: `SELECT x < ?, ' y' < ? FROM ${table}`, params: [" x'41'", "x'41'"] }
      ])
      expect(first(results)).toEqual([1, 1])
    })
  )

  it.scoped("keeps every integer and every double", () =>
    Effect.gen(function* () {
      const client = yield* prepared(open)
      const numbers = [...integers, ...reals]
      yield* client.execute(numbers.map((x) => ({ sql: `INSERT INTO ${table}(x) VALUES(?)`, params: [x] })))
      const results = yield* client.query([{ sql: `SELECT x FROM ${table} ORDER BY id` }])
      expect(results[0]?.values.map(([x]) => x)).toEqual(numbers)
    })
  )

  it.scoped("gives a whole double as a number where the type tells, also beyond 2^53", () =>
    Effect.gen(function* () {
      const client = yield* prepared(open)
      yield* client.execute([
        { sql: `INSERT INTO ${table}(r, x) VALUES(?, ?)`, params: [1e17, 10n ** 17n] },
        { sql: `INSERT INTO ${table}(r, x) VALUES(?, ?)`, params: [1e20, 1e20] },
        { sql: `INSERT INTO ${table}(r, x) VALUES(?, ?)`, params: [2 ** 60, 2 ** 60] }
      ])
      const results = yield* client.query([{ sql: `SELECT r, x, typeof(x) FROM ${table} ORDER BY id` }])
      expect(results[0]?.values).toEqual([
        [1e17, 10n ** 17n, "integer"],
        [1e20, 1e20, "real"],
        [2 ** 60, 1152921504606847000n, "real"]
      ])
    })
  )

  it.scoped("keeps bytes, null and booleans", () =>
    Effect.gen(function* () {
      const client = yield* prepared(open)
      const all = Uint8Array.from({ length: 256 }, (_, i) => i)
      yield* client.execute([{ sql: `INSERT INTO ${table}(b, t, x) VALUES(?, ?, ?)`, params: [all, null, true] }])
      yield* client.execute([{ sql: `INSERT INTO ${table}(b, x) VALUES(?, ?)`, params: [new Uint8Array(), false] }])
      const [rows] = yield* client.query([{ sql: `SELECT b, t, x, typeof(b) FROM ${table} ORDER BY id` }])
      expect(rows?.values).toEqual([
        [all, null, 1, "blob"],
        [new Uint8Array(), null, 0, "blob"]
      ])
      expect(rows).toMatchObject({ columns: ["b", "t", "x", "typeof(b)"], types: ["blob", "text", "integer", "text"] })
    })
  )

  it.scoped("tells what each statement did, and repeats nothing of the one before", () =>
    Effect.gen(function* () {
      const client = yield* prepared(open)
      const results = yield* client.execute([
        { sql: `INSERT INTO ${table}(x) VALUES(1),(2),(3)` },
        { sql: "SELECT 1" },
        { sql: `CREATE INDEX IF NOT EXISTS ${table}_i ON ${table}(r)` },
        { sql: `INSERT INTO ${table}(x) SELECT 1 WHERE 0` },
        { sql: `UPDATE ${table} SET x = ? WHERE x > ?`, params: [9, 1] },
        { sql: `DELETE FROM ${table} WHERE x = ?; -- two of them`, params: [9] },
        { sql: `INSERT INTO ${table}(x) VALUES(?) RETURNING id, x`, params: [" x'41'"] },
        { sql: `WITH n(v) AS (VALUES(7),(8)) INSERT INTO ${table}(x) SELECT v FROM n` },
        { sql: `DELETE FROM ${table} WHERE 0` }
      ])
      expect(results.map(({ lastInsertId, rowsAffected }) => [rowsAffected, lastInsertId])).toEqual([
        [3, 3],
        [0, 0],
        [0, 0],
        [0, 0],
        [2, 0],
        [2, 0],
        [1, 0],
        [2, 6],
        [0, 0]
      ])
      expect(results.map(({ returned }) => Option.getOrUndefined(returned)?.values)).toEqual([
        ...Array.from({ length: 6 }),
        [[4, " x'41'"]],
        ...Array.from({ length: 2 })
      ])
    })
  )

  it.scoped("applies nothing of a transaction in which a statement fails, and says which one", () =>
    Effect.gen(function* () {
      const client = yield* prepared(open)
      yield* client.execute([{ sql: `INSERT INTO ${table}(t) VALUES('taken')` }])
      const insert = (t: string) => ({ sql: `INSERT INTO ${table}(t) VALUES(?)`, params: [t] })
      const error = yield* Effect.flip(client.execute([insert("a"), insert("taken"), insert("b")]))
      expect(error).toMatchObject({
        _tag: "RqliteStatementError",
        reason: "constraint",
        outcome: "not-applied",
        index: 1,
        sql: `INSERT INTO ${table}(t) VALUES(?)`,
        detail: `UNIQUE constraint failed: ${table}.t`
      })
      expect(error.message).toBe(
        `rqlite execute failed at statement 1 (INSERT INTO ${table}(t) VALUES(?)): UNIQUE constraint failed: ${table}.t`
      )
      expect(first(yield* client.query([{ sql: `SELECT group_concat(t) FROM ${table}` }]))).toEqual(["taken"])
    })
  )

  it.scoped.each([
    [`INSERT INTO ${table}(t) SELECT json_extract(?, '$')`, ["[bad"], "sql", "malformed JSON"],
    ["INSERT INTO nowhere VALUES(?)", [1], "sql", "no such table: nowhere"],
    [`INSRT INTO ${table} VALUES(?)`, [1], "sql", 'near "INSRT": syntax error'],
    [`INSERT INTO ${table}(id) VALUES(?)`, ["abc"], "sql", "datatype mismatch"],
    ["PRAGMA journal_mode = DELETE", [], "sql", "disallowed pragma"]
  ] as const)("reports what is wrong with a statement: %s", ([sql, params, reason, detail]) =>
    Effect.gen(function* () {
      const client = yield* prepared(open)
      const error = yield* Effect.flip(client.execute([{ sql: "SELECT 1" }, { sql, params }]))
      expect(error).toMatchObject({ _tag: "RqliteStatementError", outcome: "not-applied", reason, detail })
    })
  )

  it.scoped("gives each query its rows or its error, or fails with the first error", () =>
    Effect.gen(function* () {
      const client = yield* prepared(open)
      const statements = [
        { sql: "SELECT 1 AS a, 2 AS a" },
        { sql: "SELECT * FROM nowhere" },
        { sql: `SELECT id FROM ${table}` },
        { sql: `DELETE FROM ${table}` }
      ]
      const results = yield* client.queryEach(statements)
      expect(results.map(Either.isRight)).toEqual([true, false, true, false])
      expect(results[0]).toEqual(Either.right({ columns: ["a", "a"], types: ["integer", "integer"], values: [[1, 2]] }))
      expect(results[2]).toEqual(Either.right({ columns: ["id"], types: ["integer"], values: [] }))
      expect(results.map((result) => Option.getOrUndefined(Either.getLeft(result))?.reason)).toEqual([
        undefined,
        "sql",
        undefined,
        "read-only"
      ])
      const error = yield* Effect.flip(client.query(statements))
      expect(error).toMatchObject({ index: 1, detail: "no such table: nowhere", outcome: "not-applied" })
    })
  )

  it.scoped("gives the other queries their rows where a value of one is infinite, which rqlite cannot send", () =>
    Effect.gen(function* () {
      const client = yield* prepared(open)
      const statements = ["SELECT 1", "SELECT -1e999", "SELECT 2"].map((sql) => ({ sql }))
      const results = yield* client.queryEach(statements)
      expect(results.map(Either.map(({ values }) => values))).toMatchObject([
        Either.right([[1]]),
        { left: { _tag: "RqliteStatementError", reason: "sql", index: 1, sql: "SELECT -1e999" } },
        Either.right([[2]])
      ])
      expect(yield* Effect.flip(client.query(statements))).toMatchObject({ index: 1, outcome: "not-applied" })
      expect(yield* Effect.flip(client.query(statements.slice(1, 2)))).toMatchObject({ index: 0 })
      const together = yield* Effect.flip(client.query(statements, { transaction: true }))
      expect(together).toMatchObject({ _tag: "RqliteStatementError", reason: "sql", outcome: "not-applied" })
      expect(together.message).toContain("infinite")
    })
  )

  it.scoped("leaves open what became of a write that returns an infinite value", () =>
    Effect.gen(function* () {
      const client = yield* prepared(open)
      const error = yield* Effect.flip(client.execute([{ sql: `INSERT INTO ${table}(r) VALUES(1e999) RETURNING r` }]))
      expect(error).toMatchObject({ _tag: "RqliteUnavailable", reason: "answer", outcome: "unknown" })
      expect(first(yield* client.query([{ sql: `SELECT count(*) FROM ${table} WHERE r > 0` }]))).toEqual([1])
    })
  )

  it.scoped("binds as many parameters as SQLite takes", () =>
    Effect.gen(function* () {
      const client = yield* open
      const params = Array.from({ length: 32_766 }, (_, i) => i)
      const sql = `SELECT 32765 IN (${params.map(() => "?").join(",")})`
      expect(first(yield* client.query([{ sql, params }]))).toEqual([1])
    })
  )

  it.scoped("refuses before anything is sent what would be taken for something else", () =>
    Effect.gen(function* () {
      const client = yield* prepared(open)
      const insert = `INSERT INTO ${table}(x) VALUES(?)`
      const refused: ReadonlyArray<readonly [ReadonlyArray<RqliteClient.Statement>, string]> = [
        [[], "statements: there are none"],
        [[{ sql: "SELECT 1" }, { sql: "" }], "statements[1].sql: holds no statement"],
        [[{ sql: insert }], "statements[0].params: 0 given, the statement binds 1"],
        [[{ sql: insert, params: [1, 2] }], "statements[0].params: 2 given, the statement binds 1"],
        [
          [{ sql: insert, params: ["a\ud800"] }],
          "statements[0].params[0]: a string with a lone surrogate is not Unicode"
        ],
        [[{ sql: insert, params: [Number.NaN] }], "statements[0].params[0]: NaN is not a number that SQLite can store"],
        [[{ sql: insert, params: [2n ** 63n] }], "9223372036854775808 does not fit the 64 bits of an SQLite integer"],
        [[{ sql: "COMMIT" }], "statements[0].sql: is COMMIT"]
      ]
      for (const [statements, message] of refused) {
        const errors = yield* Effect.all([
          Effect.flip(client.execute(statements)),
          Effect.flip(client.query(statements))
        ])
        for (const error of errors) {
          expect(error).toMatchObject({ _tag: "RqliteRejected", reason: "invalid-input", outcome: "not-applied" })
          expect(error.message).toContain(message)
        }
      }
      expect(first(yield* client.query([{ sql: `SELECT count(*) FROM ${table}` }]))).toEqual([0])
    })
  )

  it.scoped("reads at every level, as one state on request", () =>
    Effect.gen(function* () {
      const client = yield* prepared(open)
      yield* client.execute([{ sql: `INSERT INTO ${table}(x) VALUES(1)` }])
      const count = [{ sql: `SELECT count(*) FROM ${table}` }, { sql: "SELECT 2" }]
      for (const level of ["weak", "linearizable", "strong", "auto"] as const) {
        const results = yield* client.query(count, { level, transaction: level === "linearizable" })
        expect(results.map(({ values }) => values)).toEqual([[[1]], [[2]]])
      }
      // It may be behind by any time, but it answers.
      const results = yield* client.query([{ sql: "SELECT 2" }], { level: "none", freshness: "1 hour" })
      expect(first(results)).toEqual([2])
    })
  )

  it.scoped("sends and reads five megabytes, and a thousand statements", () =>
    Effect.gen(function* () {
      const client = yield* prepared(open)
      const big = "z".repeat(5_000_000)
      const insert = { sql: `INSERT INTO ${table}(x) VALUES(?)`, params: [big] }
      yield* client.execute([insert])
      const [row] = yield* client.query([{ sql: `SELECT x FROM ${table}` }])
      expect(row?.values[0]?.[0] === big).toBe(true)
      const many = Array.from({ length: 1000 }, (_, i) => ({ sql: `INSERT INTO ${table}(x) VALUES(?)`, params: [i] }))
      const results = yield* client.execute(many)
      expect(results.map(({ lastInsertId }) => lastInsertId)).toEqual(many.map((_, i) => i + 2))
    })
  )

  it.scoped("asks whether the cluster is ready, for its version and its nodes", () =>
    Effect.gen(function* () {
      const client = yield* open
      yield* client.ready
      expect(yield* client.version).toMatch(/^v?\d+/)
      const nodes = yield* client.nodes
      expect(nodes.filter(({ leader }) => leader).length).toBe(1)
      for (const { reachable, url } of nodes) expect([reachable, Option.isSome(url)]).toEqual([true, true])
    })
  )
})
