import * as Either from "effect/Either"
import type { Attributes, AttributeValue } from "../../Execution.js"
import type { JsonObject } from "../../Json.js"
import type { Problem } from "../processor/parseProblem.js"
import { describe } from "../util/errorText.js"
import type { Contract } from "./contract.js"

/** What is wrong: with the context, or with an attribute, whose name is the path. */
export interface Wrong extends Problem {
  readonly subject: "context" | "attribute"
}

const isValue = (u: unknown): u is AttributeValue =>
  typeof u === "string" || typeof u === "boolean" || (typeof u === "number" && Number.isFinite(u))

const found = (u: unknown): string => (u === null ? "null" : typeof u === "number" ? String(u) : typeof u)

const valueOf = (
  name: string,
  of: (context: unknown) => unknown,
  context: unknown
): Either.Either<AttributeValue | undefined, Wrong> => {
  const wrong = (problem: string): Wrong => ({ subject: "attribute", path: name, problem })
  const made = Either.try({ try: () => of(context), catch: (cause) => wrong(`its function died: ${describe(cause)}`) })
  return Either.flatMap(made, (value) =>
    value === undefined || isValue(value)
      ? Either.right(value)
      : Either.left(wrong(`expected a string, a finite number or a boolean, found ${found(value)}`))
  )
}

/** What an execution with this context is found by. */
export const of = ({ attributes }: Contract, context: unknown): Either.Either<Attributes, Wrong> =>
  Either.gen(function* () {
    const entries: Array<readonly [string, AttributeValue]> = []
    for (const [name, of] of attributes) {
      const value = yield* valueOf(name, of, context)
      if (value !== undefined) entries.push([name, value])
    }
    return Object.fromEntries(entries)
  })

/** What an execution with this context, in stored form, is found by. */
export const ofStored = (contract: Contract, context: JsonObject): Either.Either<Attributes, Wrong> =>
  contract.attributes.size === 0
    ? Either.right({})
    : Either.flatMap(
        Either.mapLeft(contract.context.decode(context), (problem): Wrong => ({ subject: "context", ...problem })),
        (decoded) => of(contract, decoded)
      )

/** The same for a commit: nothing where the definition names no attributes, so that its steps may say what its executions are found by. */
export const written = (contract: Contract, context: unknown): Either.Either<Attributes | undefined, Wrong> =>
  contract.attributes.size === 0 ? Either.right(undefined) : of(contract, context)

/** {@link written} of a context in stored form. */
export const writtenStored = (contract: Contract, context: JsonObject): Either.Either<Attributes | undefined, Wrong> =>
  contract.attributes.size === 0 ? Either.right(undefined) : ofStored(contract, context)
