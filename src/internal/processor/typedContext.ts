import * as Effect from "effect/Effect"
import type * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { Event } from "../../Event.js"
import type { Execution } from "../../Execution.js"
import { JsonObject } from "../../Json.js"
import type { PlainTransition, Transition, TransitionFailure, TypedTransition } from "../../Processor.js"
import { ContextInvalid, StepInvalid } from "../../ProcessorError.js"
import { boundedAs, withPolicy } from "./failurePolicy.js"
import { problemOf } from "./parseProblem.js"
import { invalidOf } from "./step.js"

const invalid =
  (execution: Execution, event: Event, operation: ContextInvalid["operation"]) =>
  (error: ParseResult.ParseError): ContextInvalid =>
    new ContextInvalid({
      executionId: execution.id,
      eventId: event.id,
      definitionId: execution.definitionId,
      operation,
      ...problemOf(error)
    })

const asJson = Schema.decodeUnknown(JsonObject)

/** A transition on contexts in stored form, of one on contexts of a type. */
const encoded = <A, I extends object, RS, E, R>(
  schema: Schema.Schema<A, I, RS>,
  onExcessProperty: "preserve" | "ignore" | "error",
  transition: Transition<E, R, A>
): Transition<E | ContextInvalid | StepInvalid, R | RS> => {
  const decode = Schema.decodeUnknown(schema, { onExcessProperty })
  const encode = Schema.encode(schema, { onExcessProperty })
  return boundedAs(transition, (execution, event) =>
    Effect.gen(function* () {
      const context = yield* Effect.mapError(decode(execution.context), invalid(execution, event, "decode"))
      const step = yield* transition({ ...execution, context }, event)
      const unwritable = invalidOf(step)
      if (unwritable !== undefined) {
        const { definitionId, id } = execution
        return yield* new StepInvalid({ executionId: id, eventId: event.id, definitionId, ...unwritable })
      }
      const stored = yield* encode(step.execution.context).pipe(
        Effect.flatMap(asJson),
        Effect.mapError(invalid(execution, event, "encode"))
      )
      return { execution: { ...step.execution, context: stored }, commit: step.commit }
    })
  )
}

/** The transition of a definition, on contexts of a type where it has one. */
export const transition = <A, I extends object, RS, E, R, RP>(
  options: TypedTransition<A, I, RS, E, R, RP> | PlainTransition<E, R, RP>
): Transition<TransitionFailure<E>, R | RS | RP> =>
  withPolicy(
    options.context === undefined
      ? options.transition
      : encoded(options.context, options.onExcessProperty ?? "preserve", options.transition),
    options.onFailure ?? "retry"
  )

/** Those of definitions on contexts that are all of one type. */
export const definitions = <A, I extends object, RS, E, R>({
  context,
  definitions,
  onExcessProperty = "preserve"
}: {
  readonly context: Schema.Schema<A, I, RS>
  readonly definitions: { readonly [definitionId: string]: Transition<E, R, A> }
  readonly onExcessProperty?: "preserve" | "ignore" | "error" | undefined
}): { readonly [definitionId: string]: Transition<E | ContextInvalid | StepInvalid, R | RS> } =>
  Object.fromEntries(
    Object.entries(definitions).map(([definitionId, transition]) => [
      definitionId,
      encoded(context, onExcessProperty, transition)
    ])
  )
