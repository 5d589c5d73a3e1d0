import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { Instance, Spec } from "../../Definition.js"
import { StoredInvalid } from "../../DefinitionError.js"
import type { Execution } from "../../Execution.js"
import type { Codec, Contract } from "./contract.js"
import * as migrations from "./migrations.js"

const part = (
  { name }: Contract,
  execution: Execution,
  part: StoredInvalid["part"],
  codec: Codec<unknown>,
  stored: unknown
): Either.Either<unknown, StoredInvalid> =>
  Either.mapLeft(
    codec.decode(stored),
    (problem) => new StoredInvalid({ executionId: execution.id, definition: name, part, ...problem })
  )

/** The result of an execution that is `DONE`. */
export const resultOf = (contract: Contract, execution: Execution): Either.Either<unknown, StoredInvalid> =>
  part(contract, execution, "result", contract.result, execution.result)

/** The error of the definition's own that an execution failed with, none where it failed with any other. */
export const failureOf = (
  contract: Contract,
  execution: Execution
): Either.Either<Option.Option<unknown>, StoredInvalid> =>
  execution.status === "FAILED" && execution.result !== null && contract.schemas.error !== undefined
    ? Either.map(part(contract, execution, "error", contract.error, execution.result), Option.some)
    : Either.right(Option.none())

/** The execution in the definition's own version. Nothing is written. */
const migrated = (contract: Contract, execution: Execution): Either.Either<Execution, StoredInvalid> =>
  Either.mapLeft(
    migrations.migrate(contract, execution),
    (unfit) =>
      new StoredInvalid({
        executionId: execution.id,
        definition: contract.name,
        part: "context",
        ...migrations.problemOf(contract, execution, unfit)
      })
  )

/** The context of an execution, in the definition's own version. */
export const contextOf = (contract: Contract, execution: Execution): Either.Either<unknown, StoredInvalid> =>
  Either.flatMap(migrated(contract, execution), ({ context }) =>
    part(contract, execution, "context", contract.context, context)
  )

/** An execution, decoded. */
export const decode = (contract: Contract, execution: Execution): Either.Either<Instance<Spec>, StoredInvalid> =>
  Either.gen(function* () {
    const { definitionVersion, error, id, outcome, status, version } = execution
    const { activePath, context: stored } = yield* migrated(contract, execution)
    const context = yield* part(contract, execution, "context", contract.context, stored)
    const failure = yield* failureOf(contract, execution)
    const result = status === "DONE" ? Option.some(yield* resultOf(contract, execution)) : Option.none()
    return { id, version, definitionVersion, status, activePath, context, outcome, result, failure, error, execution }
  })
