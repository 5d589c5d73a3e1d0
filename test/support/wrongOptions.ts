import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Inspectable from "effect/Inspectable"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { longer, share } from "./extent.js"

/** What is in each of the values below that could show it. */
export const mark = "k33p-me"

/** Values of all types, by name. */
const values = {
  null: null,
  string: `${mark} `,
  number: 33_733,
  fraction: 3373.3,
  negative: -33_733,
  nan: Number.NaN,
  infinity: Number.POSITIVE_INFINITY,
  bigint: 33_733_000_000n,
  boolean: true,
  symbol: Symbol(mark),
  object: { value: mark },
  empty: {},
  bare: Object.assign(Object.create(null), { toString: () => assert.fail("it was made a text") }),
  array: [mark, 33_733],
  function: () => mark,
  effect: Effect.succeed({ value: mark }),
  secret: Redacted.make(mark),
  "secret of an object": Redacted.make({ value: mark }),
  duration: "3373 bananas"
}

/** A type of values, or one wrong value of a type that is right. */
export type Kind = keyof typeof values

const kinds: ReadonlyArray<Kind> = Object.keys(values).filter((kind): kind is Kind => Object.hasOwn(values, kind))

/**
 * A layer, options that are right, and what each option takes of the values above, or what else it does not take. Every option is there, or
 * this does not compile.
 */
export interface Layer<O extends object> {
  readonly name: string
  /** What the tests are named after, where that is not the name that errors show. */
  readonly what?: string | undefined
  /** Whether they are a part of other options. */
  readonly part?: boolean | undefined
  readonly right: O
  readonly takes: { readonly [K in keyof Required<O>]: ReadonlyArray<Kind> }
  readonly refuses?: { readonly [K in keyof O]?: ReadonlyArray<unknown> } | undefined
  readonly build: (options: O) => Effect.Effect<unknown, unknown, Scope.Scope>
}

/** All that anybody could see of it. */
const shown = (exit: Exit.Exit<unknown, unknown>, error: unknown): string =>
  [
    String(exit),
    JSON.stringify(exit),
    Inspectable.format(error),
    Exit.isFailure(exit) ? Cause.pretty(exit.cause, { renderErrorCause: true }) : "",
    error instanceof Error ? `${error.stack} ${String(error.cause)}` : ""
  ].join("\n")

const marks = [mark, "33733", "3373"]

/** Checks that a wrong option is a typed error of one sentence, which names layer and option and shows nothing of the value. */
const check = <O extends object>({ build, name, right }: Layer<O>, option: string, value: unknown) =>
  Effect.gen(function* () {
    const exit = yield* Effect.exit(Effect.scoped(build(Object.assign({}, right, { [option]: value }))))
    const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.failureOption(exit.cause)) : undefined
    assert.isDefined(error, `it is taken, or a defect: ${Exit.isFailure(exit) ? Cause.pretty(exit.cause) : "taken"}`)
    assert.isTrue(Predicate.hasProperty(error, "reason") && error.reason === "invalid-input", String(error))
    assert.isTrue(Predicate.hasProperty(error, "path") && String(error.path).startsWith(option), String(error))
    assert.include(String(error), `(an option of ${name})`)
    assert.notInclude(String(error), "\n")
    for (const mark of marks) assert.notInclude(shown(exit, error), mark)
  })

/**
 * Tries the wrong types, by default a third of them with each option, so that the options of a layer have all of them between them; and each
 * of the wrong values that are named.
 */
export const describeLayer = <O extends object>(layer: Layer<O>): void => {
  describe(`the options of ${layer.what ?? layer.name}`, () => {
    it.effect("are taken where they are right", () => Effect.scoped(layer.build(layer.right)))

    if (layer.part !== true) {
      it.effect("must be an object", () =>
        Effect.gen(function* () {
          const options: O = JSON.parse("null")
          const error = yield* Effect.flip(Effect.scoped(layer.build(options)))
          assert.include(String(error), "options: expected an object")
        })
      )
    }

    for (const [i, [option, taken]] of Object.entries<ReadonlyArray<Kind>>(layer.takes).entries()) {
      const wrong = kinds.filter((kind) => !taken.includes(kind))
      const tried = share(wrong, i, 3)
      it.effect(longer(`${option} is refused where it is of another type`), () =>
        Effect.forEach(tried, (kind) => check(layer, option, values[kind]))
      )
    }

    for (const [option, refused] of Object.entries<ReadonlyArray<unknown> | undefined>(layer.refuses ?? {})) {
      it.effect(`${option} is refused where it is no such value`, () =>
        Effect.forEach(refused ?? [], (value) => check(layer, option, value))
      )
    }
  })
}
