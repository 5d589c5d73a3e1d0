import * as Either from "effect/Either"
import type { RqliteError, RqliteStatementError } from "../../RqliteError.js"
import * as decode from "./decode.js"
import type { Encoded } from "./encode.js"
import * as errors from "./errors.js"
import type { Answer } from "./request.js"

/** What a node says to a list of statements. An error about the whole request comes first: then the results say nothing. */
const answerOf = (
  call: errors.Call,
  { statements }: Encoded,
  { body, node, status, version }: Answer
): Either.Either<decode.Answer, RqliteError> => {
  if (status !== 200) return Either.left(errors.ofStatus(call, node, status, body, version !== undefined))
  const answer = decode.answer(body)
  if (Either.isLeft(answer)) return Either.left(errors.unknown(call, node, "answer", `the answer ${answer.left}`))
  const { error, results } = answer.right
  if (error !== undefined) {
    const failure = errors.ofRequest(call, node, error)
    return Either.left(failure ?? decode.statementError(error, { operation: call.operation, node }))
  }
  // A transaction stops at the statement that fails.
  const stopped = call.write && results.at(-1)?.error !== undefined && results.length < statements.length
  if (results.length !== statements.length && !stopped) {
    const detail = `${results.length} results came for ${statements.length} statements`
    return Either.left(errors.unknown(call, node, "answer", detail))
  }
  return Either.right(answer.right)
}

/** Each statement's result, or its error. */
export const resultsOf = <A>(
  call: errors.Call,
  encoded: Encoded,
  answer: Answer,
  read: (result: decode.Result, verb: string) => A
): Either.Either<ReadonlyArray<Either.Either<A, RqliteStatementError>>, RqliteError> =>
  Either.map(answerOf(call, encoded, answer), ({ results }) =>
    results.map((result, index) => {
      const statement = encoded.statements[index]
      const at = { operation: call.operation, node: answer.node, index, sql: statement?.sql }
      return result.error === undefined
        ? Either.right(read(result, statement?.verb ?? ""))
        : Either.left(decode.statementError(result.error, at))
    })
  )
