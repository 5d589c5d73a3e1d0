import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type * as ControlError from "../../ControlError.js"
import type { StoreConflict, StoreError } from "../../StoreError.js"
import * as json from "../codec/json.js"
import { stringify } from "../codec/stringify.js"
import { Conflict, Failed, Invalid, Missing, type Problem, TooLarge, Unavailable } from "../monitorApi/problems.js"
import { printable } from "../util/printable.js"

const levels = 1000

/** The text of a value; integers of any size are written as they are. */
export const toText = <A>(schema: Schema.Schema<A, A>, value: A): Effect.Effect<string, Failed> =>
  Either.match(stringify(value, "", { levels }), {
    onLeft: ({ path, problem }) =>
      Effect.fail(new Failed({ title: "No JSON", detail: `${schema.ast._tag} ${path}: ${problem}` })),
    onRight: ({ text }) => Effect.succeed(text)
  })

/** An answer in JSON. The schema is what the API says of it, which the compiler holds it to. */
export const reply = <A>(
  schema: Schema.Schema<A, A>,
  value: A
): Effect.Effect<HttpServerResponse.HttpServerResponse, Failed> =>
  Effect.map(toText(schema, value), (text) => HttpServerResponse.text(text, { contentType: "application/json" }))

/** How large a body may be: an event of the size that stores take by default, and what is around it. */
const maxBody = 2 * 1024 * 1024

class Longer {
  readonly _tag = "Longer"
}

const notRead = () => new Invalid({ title: "No body", detail: "the body of the request cannot be read" })

const readText = (request: HttpServerRequest.HttpServerRequest): Effect.Effect<string, Problem> =>
  Effect.suspend(() => {
    const chunks: Array<Uint8Array> = []
    let size = 0
    return request.stream.pipe(
      Stream.mapError(notRead),
      Stream.runForEach((chunk) => {
        size += chunk.byteLength
        if (size > maxBody) return Effect.fail(new Longer())
        chunks.push(chunk)
        return Effect.void
      }),
      Effect.catchTag("Longer", () =>
        Effect.fail(
          new TooLarge({ title: "Too large", detail: `the body of the request is larger than ${maxBody} bytes` })
        )
      ),
      Effect.map(() => new TextDecoder().decode(concat(chunks, size)))
    )
  })

const concat = (chunks: ReadonlyArray<Uint8Array>, size: number): Uint8Array => {
  const whole = new Uint8Array(size)
  let at = 0
  for (const chunk of chunks) {
    whole.set(chunk, at)
    at += chunk.byteLength
  }
  return whole
}

/** The body of a request, by its schema. Integers of any size are read as they are. */
export const body = <A, I>(
  request: HttpServerRequest.HttpServerRequest,
  schema: Schema.Schema<A, I>
): Effect.Effect<A, Problem> =>
  Effect.gen(function* () {
    const text = yield* readText(request)
    const value = yield* Effect.try({
      try: () => json.parse(text),
      catch: () => new Invalid({ title: "No JSON", detail: "the body of the request is no JSON" })
    })
    return yield* Effect.mapError(
      Schema.decodeUnknown(schema)(value),
      (error) =>
        new Invalid({
          title: "Not as expected",
          detail: printable(
            ParseResult.ArrayFormatter.formatErrorSync(error)
              .slice(0, 3)
              .map(({ message, path }) => `${path.join(".") || "the body"}: ${message}`)
              .join("; ")
          )
        })
    )
  })

type Failure =
  | StoreConflict
  | StoreError
  | ControlError.ChildrenLive
  | ControlError.ControlConflict
  | ControlError.HasParent
  | ControlError.NoSuchExecution
  | ControlError.WrongStatus

/** What a failure of the store or of a command is, as an answer. */
export const toProblem = (failure: Failure): Problem => {
  const detail = failure.message
  switch (failure._tag) {
    case "NoSuchExecution":
      return new Missing({ title: "No such execution", detail })
    case "StoreConflict":
    case "ChildrenLive":
    case "ControlConflict":
    case "HasParent":
    case "WrongStatus":
      return new Conflict({ title: "Not possible now", detail })
    case "StoreUnavailable":
      return new Unavailable({ title: "The store does not answer", detail })
    case "StoreRejected":
      return failure.reason === "invalid-input"
        ? new Invalid({ title: "Not accepted", detail })
        : new Failed({ title: "The store refused", detail })
    case "StoreCorrupt":
      return new Failed({ title: "A stored row cannot be read", detail })
  }
}

/** An effect on the store, whose failures are answers. */
export const answering = <A, R>(effect: Effect.Effect<A, Failure, R>): Effect.Effect<A, Problem, R> =>
  Effect.mapError(effect, toProblem)

/** A problem as an answer, for what does not go through the API. */
export const problemResponse = (status: number, problem: Problem): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(JSON.stringify({ _tag: problem._tag, title: problem.title, detail: problem.detail }), {
    status,
    contentType: "application/problem+json"
  })
