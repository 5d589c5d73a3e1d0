import { describe, expect, it } from "@effect/vitest"
import { deepStrictEqual } from "@effect/vitest/utils"
import * as Arbitrary from "effect/Arbitrary"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as Execution from "holdfast/Execution"
import * as Generators from "holdfast/testing/Generators"
import * as validate from "../../src/internal/codec/validate.js"
import { encodeCommit } from "../../src/internal/store/encodeCommit.js"

const decode = Schema.decodeUnknownEither(Execution.ExecutionFromText)
const encode = Schema.encodeEither(Execution.ExecutionFromText)

const decoded = (row: object) => Either.getOrThrowWith(decode(JSON.stringify(row)), (error) => new Error(error.message))

const minimal = { id: "a", definition_id: "order" }

const problem = (text: string): string =>
  Either.match(decode(text), { onLeft: (error) => error.message, onRight: () => "it decodes" })

const keys = [
  "id",
  "definition_id",
  "definition_fqn",
  "root_path",
  "status",
  "outcome",
  "error",
  "active_path",
  "history",
  "context",
  "processed_events",
  "version",
  "priority",
  "parent_id",
  "child_id",
  "deferred",
  "children",
  "invoke_seq",
  "created_at",
  "updated_at",
  "finished_at",
  "expires_at"
]

describe("Execution", () => {
  it("is made at version 0, pending and empty", () => {
    expect(Execution.make({ id: "a", definitionId: "order" })).toEqual({
      id: "a",
      definitionId: "order",
      definitionVersion: 1,
      definitionFqn: null,
      rootPath: "",
      status: "PENDING",
      outcome: null,
      result: null,
      error: null,
      activePath: null,
      history: {},
      context: {},
      processedEvents: 0,
      version: 0,
      priority: 0,
      parentId: null,
      childId: null,
      deferred: [],
      children: {},
      invokeSeq: {},
      createdAt: null,
      updatedAt: null,
      finishedAt: null,
      expiresAt: null,
      extra: {}
    })
    expect(Execution.make({ id: "a", definitionId: "order", priority: 3 }).priority).toBe(3)
  })

  it("is finished when done, cancelled or failed", () => {
    const finished = Execution.Status.literals.filter((status) => Execution.isFinished({ status }))
    expect(finished.toSorted()).toEqual(["CANCELLED", "DONE", "FAILED"])
  })

  describe("stored form", () => {
    it("has all keys in the order of the format, compact, in raw UTF-8, unknown keys last", () => {
      const execution = Execution.make({
        id: "a",
        definitionId: "order",
        context: { unicode: "ñ 😀", qty: 2 },
        extra: { zone: "eu", before: true }
      })
      expect(encode(execution)).toEqual(
        Either.right(
          '{"id":"a","definition_id":"order","definition_fqn":null,"root_path":"","status":"PENDING","outcome":null,"error":null,' +
            '"active_path":null,"history":{},"context":{"unicode":"ñ 😀","qty":2},"processed_events":0,"version":0,"priority":0,' +
            '"parent_id":null,"child_id":null,"deferred":[],"children":{},"invoke_seq":{},"created_at":null,"updated_at":null,' +
            '"finished_at":null,"expires_at":null,"zone":"eu","before":true}'
        )
      )
    })

    it("has the version of the definition among the counters of spawn sites, which other readers keep, where it is not 1", () => {
      const execution = Execution.make({ id: "a", definitionId: "order", definitionVersion: 3, invokeSeq: { Pick: 2 } })
      const text = Either.getOrThrow(encode(execution))
      expect(text).toContain('"invoke_seq":{"Pick":2,"@definition_version":3}')
      expect(decode(text)).toEqual(Either.right(execution))
    })

    it("is of version 1 where the row does not say, and refuses what is no version", () => {
      const row = (version: unknown): string =>
        JSON.stringify({ id: "a", definition_id: "order", invoke_seq: { "@definition_version": version, Pick: 1 } })
      expect(decode('{"id":"a","definition_id":"order"}')).toMatchObject({ right: { definitionVersion: 1 } })
      // other readers take numbers leniently
      expect(decode(row("2"))).toMatchObject({ right: { definitionVersion: 2, invokeSeq: { Pick: 1 } } })
      expect(decode(row(0))).toMatchObject({
        left: { message: expect.stringContaining('invoke_seq["@definition_version"]: expected the version') }
      })
    })

    it("as a commit writes it: the keys of the format, the unknown ones, the token", () => {
      const execution = Execution.make({ id: "a", definitionId: "order", extra: { zone: "eu" } })
      const commit = encodeCommit(
        { operation: "commit", executionId: "a" },
        validate.makeChecks({}),
        execution,
        { ...execution, version: 1 },
        {},
        "token-1",
        { now: 0, traceparent: null }
      )
      const { data, token, version } = Either.getOrThrow(commit).written
      expect(Object.keys(JSON.parse(data))).toEqual([...keys, "zone", "commit_token"])
      expect(JSON.parse(data)).toMatchObject({ version: 1, commit_token: "token-1", zone: "eu" })
      expect([token, version]).toEqual(["token-1", 0])
    })

    it("has a child's and a deferred event's keys in their order", () => {
      const execution = Execution.make({
        id: "a",
        definitionId: "order",
        deferred: [
          {
            id: "e",
            kind: "Paid",
            createdTime: null,
            receivedTime: "2026-09-21T10:00:00Z",
            data: { n: 1 },
            extra: { hop: 1 }
          }
        ],
        children: {
          c: {
            rootPath: "R",
            finished: true,
            outcome: "success",
            result: { s: 7 },
            submachine: false,
            key: "k",
            extra: { x: 1 }
          }
        }
      })
      const text = Either.getOrThrow(encode(execution))
      expect(text).toContain(
        '"deferred":[{"id":"e","kind":"Paid","created_time":null,"received_time":"2026-09-21T10:00:00Z","data":{"n":1},"hop":1}]'
      )
      expect(text).toContain(
        '"children":{"c":{"root_path":"R","finished":true,"outcome":"success","result":{"s":7},"submachine":false,"key":"k","x":1}}'
      )
    })

    it("may leave out all but id and definition_id", () => {
      expect(decoded(minimal)).toEqual(Execution.make({ id: "a", definitionId: "order" }))
      expect(decoded({ ...minimal, children: { c: { root_path: "R" } } }).children).toEqual({
        c: { rootPath: "R", finished: false, outcome: null, result: {}, submachine: false, key: "", extra: {} }
      })
    })

    it("may write a number as a numeric text or with a fraction of zero", () => {
      const text =
        '{"id":"a","definition_id":"order","version":"3","priority":3.0,"processed_events":" 7 ","created_at":"1790000000.5","invoke_seq":{"s":"2"}}'
      expect(decode(text)).toMatchObject({
        right: { version: 3, priority: 3, processedEvents: 7, createdAt: 1790000000.5, invokeSeq: { s: 2 } }
      })
    })

    it("keeps unknown keys at every level", () => {
      const row = {
        ...minimal,
        zone: { a: [1] },
        children: { c: { root_path: "R", retries: 3 } },
        deferred: [{ id: "e", kind: "K", hop: null }]
      }
      const execution = decoded(row)
      expect(execution.extra).toEqual({ zone: { a: [1] } })
      expect(execution.children["c"]?.extra).toEqual({ retries: 3 })
      expect(execution.deferred[0]?.extra).toEqual({ hop: null })
      const again: unknown = JSON.parse(Either.getOrThrow(encode(execution)))
      expect(again).toMatchObject(row)
    })

    it("drops a commit token", () => {
      expect(decoded({ ...minimal, commit_token: "t" }).extra).toEqual({})
    })

    it("keeps keys that objects have by nature, in whatever record", () => {
      const text =
        '{"id":"a","definition_id":"order","history":{"__proto__":"A"},"context":{"__proto__":{"x":1}},"children":{"__proto__":{"root_path":"R"}},"__proto__":{"y":2}}'
      const execution = Either.getOrThrow(decode(text))
      expect(Object.entries(execution.history)).toEqual([["__proto__", "A"]])
      expect(Object.keys(execution.children)).toEqual(["__proto__"])
      const again = Either.getOrThrow(encode(execution))
      expect(again).toContain('"history":{"__proto__":"A"},"context":{"__proto__":{"x":1}}')
      expect(again).toContain('"__proto__":{"y":2}')
      deepStrictEqual(Either.getOrThrow(decode(again)), execution)
    })

    const refused: ReadonlyArray<readonly [row: object | string, problem: string]> = [
      ["", "not JSON"],
      ["{", "not JSON"],
      ['{"id":"a","definition_id":"order","context":{"x":NaN}}', "not JSON"],
      ["[]", "expected an object, found an array"],
      ["null", "expected an object, found null"],
      ["7", "expected an object, found 7"],
      [{ definition_id: "order" }, "id: is missing"],
      [{ id: "a" }, "definition_id: is missing"],
      [{ ...minimal, id: 7 }, "id: expected a string, found 7"],
      [{ ...minimal, definition_id: null }, "definition_id: expected a string, found null"],
      [{ ...minimal, root_path: null }, "root_path: expected a string, found null"],
      [
        { ...minimal, status: "EXPIRED" },
        'status: expected one of PENDING, RUNNING, DONE, CANCELLED, SUSPENDED, CANCELLING, FAILED, found "EXPIRED"'
      ],
      [{ ...minimal, status: "done" }, "status: expected one of"],
      [{ ...minimal, status: null }, "status: expected one of"],
      [{ ...minimal, outcome: 1 }, "outcome: expected a string, found 1"],
      [{ ...minimal, error: {} }, "error: expected a string, found an object"],
      [{ ...minimal, history: null }, "history: expected an object, found null"],
      [{ ...minimal, history: [] }, "history: expected an object, found an array"],
      [{ ...minimal, history: { "": 1 } }, 'history[""]: expected a string, found 1'],
      [{ ...minimal, context: null }, "context: expected an object, found null"],
      [{ ...minimal, context: [] }, "context: expected an object, found an array"],
      [{ ...minimal, processed_events: null }, "processed_events: expected an integer below 2^53, found null"],
      [{ ...minimal, processed_events: 1.5 }, "processed_events: expected an integer below 2^53, found 1.5"],
      [{ ...minimal, version: -1 }, "version: expected a version of 0 or more, found -1"],
      [{ ...minimal, version: "three" }, 'version: expected an integer below 2^53, found "three"'],
      ['{"id":"a","definition_id":"order","version":9007199254740993}', "version: expected an integer below 2^53"],
      [{ ...minimal, priority: 9 }, "priority: expected a priority of 0 to 4, found 9"],
      [{ ...minimal, priority: -1 }, "priority: expected a priority of 0 to 4, found -1"],
      [{ ...minimal, parent_id: 1 }, "parent_id: expected a string, found 1"],
      [{ ...minimal, deferred: null }, "deferred: expected an array, found null"],
      [{ ...minimal, deferred: {} }, "deferred: expected an array, found an object"],
      [{ ...minimal, deferred: [{ id: "e" }] }, "deferred[0].kind: is missing"],
      [{ ...minimal, children: null }, "children: expected an object, found null"],
      [{ ...minimal, children: { "a.b": {} } }, 'children["a.b"].root_path: is missing'],
      [{ ...minimal, children: { c: null } }, "children.c: expected an object, found null"],
      [
        { ...minimal, children: { c: { root_path: "R", finished: "yes" } } },
        'children.c.finished: expected true or false, found "yes"'
      ],
      [{ ...minimal, invoke_seq: null }, "invoke_seq: expected an object, found null"],
      [{ ...minimal, invoke_seq: { s: null } }, "invoke_seq.s: expected an integer below 2^53, found null"],
      [{ ...minimal, created_at: "today" }, 'created_at: expected a finite number, found "today"'],
      [{ ...minimal, updated_at: "" }, 'updated_at: expected a finite number, found ""'],
      [{ ...minimal, finished_at: true }, "finished_at: expected a finite number, found true"],
      ['{"id":"a","definition_id":"order","expires_at":1e999}', "expires_at: a number that is larger than any double"]
    ]
    it.each(refused)("refuses %j: %s", (row, expected) => {
      expect(problem(typeof row === "string" ? row : JSON.stringify(row))).toContain(expected)
    })

    it("says what cannot be written, by its path", () => {
      const problemOf = (parts: Partial<Execution.Execution>) =>
        Either.match(encode({ ...Execution.make({ id: "a", definitionId: "order" }), ...parts }), {
          onLeft: (error) => error.message,
          onRight: () => "it encodes"
        })
      expect(problemOf({ context: { a: { b: [0, 1, () => 2] } } })).toContain(
        "context.a.b[2]: JSON cannot carry a function"
      )
      expect(problemOf({ extra: { id: "b" } })).toContain("extra.id: is a key of the stored row itself")
      expect(problemOf({ priority: 9 })).toContain("priority")
    })

    it.prop(
      "comes back as it was",
      [Generators.execution],
      ([execution]) => {
        const text = Either.getOrThrow(encode(execution))
        deepStrictEqual(Either.getOrThrow(decode(text)), execution)
        // and the text is as it was, too
        expect(encode(Either.getOrThrow(decode(text)))).toEqual(Either.right(text))
      },
      { fastCheck: { numRuns: 100, seed: 1 } }
    )

    it("has arbitraries, of the model and of the schema", () => {
      for (const arbitrary of [Arbitrary.make(Execution.Execution), Arbitrary.make(Execution.ExecutionFromText)]) {
        for (const execution of FastCheck.sample(arbitrary, { numRuns: 10, seed: 2 })) {
          expect(Schema.is(Execution.Execution)(execution)).toBe(true)
        }
      }
    })
  })
})
