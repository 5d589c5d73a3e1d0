import * as fs from "node:fs"
import * as path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as AST from "effect/SchemaAST"
import { printableCause } from "../../src/internal/telemetry/log.js"
import { halved, unprintable } from "../support/hostileText.js"

/** A value of a type, whose texts are all hostile. */
const hostileOf = (ast: AST.AST): unknown => {
  switch (ast._tag) {
    case "StringKeyword":
      return halved
    case "NumberKeyword":
      return 1
    case "Literal":
      return ast.literal
    case "UnknownKeyword":
      return new Error(halved, { cause: new Error(halved, { cause: { detail: halved } }) })
    case "Refinement":
      return hostileOf(ast.from)
    case "Union":
      return ast.types.map(hostileOf).find((value) => value !== undefined && value !== null)
    case "TupleType":
      return ast.rest.map((rest) => hostileOf(rest.type))
    case "TypeLiteral":
      return Object.fromEntries(ast.propertySignatures.map(({ name, type }) => [name, hostileOf(type)]))
    case "Declaration":
      return Option.fromNullable(ast.typeParameters[0]).pipe(Option.map(hostileOf))
    case "UndefinedKeyword":
      return undefined
    case "BooleanKeyword":
      return false
    default:
      return assert.fail(`no value of ${ast._tag}: teach this test to make one`)
  }
}

interface ErrorClass {
  readonly name: string
  readonly make: (fields: unknown) => Error
  readonly fields: Schema.Struct.Fields
}

const isErrorClass = (u: unknown): u is (new (fields: unknown) => Error) & { readonly fields: Schema.Struct.Fields } =>
  typeof u === "function" && u.prototype instanceof Error && "fields" in u

const src = path.resolve(import.meta.dirname, "../../src")

const membersOf = async (file: string): Promise<ReadonlyArray<readonly [name: string, member: unknown]>> =>
  Object.entries(await import(path.join(src, file)))

/** Each class of errors that any module exports. */
const classes: ReadonlyArray<ErrorClass> = (
  await Promise.all(
    fs
      .readdirSync(src)
      .filter((file) => file.endsWith(".ts") && file !== "index.ts")
      .map(async (file) =>
        (
          await membersOf(file)
        ).flatMap(([name, member]) =>
          isErrorClass(member)
            ? [{ name: `${file}: ${name}`, fields: member.fields, make: (fields: unknown) => new member(fields) }]
            : []
        )
      )
  )
).flat()

const lineEnds = /\n/g

describe("errors", () => {
  it("are found", () => {
    for (const name of [
      "StoreError.ts: StoreCorrupt",
      "ProcessorError.ts: TransitionDied",
      "QueueWorker.ts: Refused",
      "RqliteError.ts: RqliteRejected"
    ]) {
      assert.include(
        classes.map((found) => found.name),
        name
      )
    }
    assert.isAtLeast(classes.length, 26)
  })

  for (const { fields, make, name } of classes) {
    it(`${name} says everything on one line, with nothing that a terminal would obey`, () => {
      const error = make(hostileOf(Schema.typeSchema(Schema.Struct(fields)).ast))
      assert.notStrictEqual(error.message, "")
      assert.deepStrictEqual(unprintable(error.message), [])
      assert.deepStrictEqual(unprintable(String(error)), [])
      assert.deepStrictEqual(unprintable((error.stack ?? "").replaceAll(lineEnds, "")), [])
      const shown = Cause.pretty(printableCause(Cause.fail(error)), { renderErrorCause: true })
      assert.deepStrictEqual(unprintable(shown.replaceAll(lineEnds, "")), [])
      assert.isFalse(shown.split("\n").some((line) => line.startsWith("timestamp=")))
    })
  }
})
