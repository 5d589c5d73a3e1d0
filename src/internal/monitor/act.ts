import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { Control, Report } from "../../Control.js"
import type { Any as Definition } from "../../Definition.js"
import * as Event from "../../Event.js"
import { isFinished } from "../../Execution.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import * as Ids from "../../Ids.js"
import type * as models from "../monitorApi/models.js"
import { Conflict, Invalid, Missing, type Problem } from "../monitorApi/problems.js"
import { answering } from "../monitorHttp/reply.js"
import { isObject } from "../options/decode.js"
import { printable, quoted } from "../util/printable.js"

type Action = Schema.Schema.Type<typeof models.Action>
type Send = Extract<Action, { readonly action: "send" }>
type LetterAction = Schema.Schema.Type<typeof models.LetterAction>

/** What actions are carried out on. */
export interface Acting {
  readonly store: ExecutionStore
  readonly control: Control
  readonly definitions: ReadonlyArray<Definition>
  /** Has the counts read anew. */
  readonly forget: Effect.Effect<void>
}

const reasonOf = (reason: string | undefined) =>
  reason === undefined || reason.trim() === "" ? undefined : { text: reason }

/** The data of an event as its definition stores it, where the definition is known; else as it was given. */
const dataOf = (
  acting: Acting,
  definitionId: string,
  { data = {}, kind }: Send
): Effect.Effect<Event.Event["data"], Invalid> => {
  const events = acting.definitions.find(({ name }) => name === definitionId)?.schemas.events ?? {}
  const schema = Object.hasOwn(events, kind) ? events[kind] : undefined
  if (schema === undefined) return Effect.succeed(data)
  return Schema.decodeUnknown(schema)(data).pipe(
    Effect.flatMap(Schema.encodeUnknown(schema)),
    Effect.mapError(
      (error) =>
        new Invalid({
          title: "Not as the definition says",
          detail: printable(
            ParseResult.ArrayFormatter.formatErrorSync(error)
              .slice(0, 3)
              .map(({ message, path }) => `${path.join(".") || kind}: ${message}`)
              .join("; ")
          )
        })
    ),
    Effect.map((encoded) => (isObject(encoded) ? encoded : data))
  )
}

const send = (acting: Acting, executionId: string, action: Send): Effect.Effect<Report, Problem> =>
  Effect.gen(function* () {
    const { store } = acting
    const found = yield* answering(store.load(executionId))
    if (Option.isNone(found)) {
      return yield* new Missing({
        title: "No such execution",
        detail: `there is no execution ${quoted(executionId)}: it was never created, or was purged`
      })
    }
    const { definitionId, status } = found.value
    if (isFinished({ status })) {
      return yield* new Conflict({
        title: "It has ended",
        detail: `execution ${quoted(executionId)} is ${status}: an event to it would be dropped`
      })
    }
    const id = action.eventId ?? Event.externalId("monitor", yield* Ids.next)
    const event = Event.make({ id, kind: action.kind, data: yield* dataOf(acting, definitionId, action) })
    const now = (yield* Clock.currentTimeMillis) / 1000
    const dueAt = action.delay === undefined || action.delay === 0 ? undefined : now + action.delay
    yield* answering(store.enqueue([{ targetId: executionId, event, dueAt }]))
    return { changed: [executionId], corrupt: [] }
  })

/** Does something to an execution; gives what it changed. */
export const act = (acting: Acting, id: string, action: Action): Effect.Effect<Report, Problem> => {
  const { control } = acting
  switch (action.action) {
    case "suspend":
      return answering(control.suspend(id, { reason: reasonOf(action.reason) }))
    case "resume":
      return answering(control.resume(id, { reason: reasonOf(action.reason) }))
    case "cancel":
      return answering(control.cancel(id, { reason: reasonOf(action.reason), children: action.children }))
    case "terminate":
      return answering(control.terminate(id, { reason: reasonOf(action.reason) }))
    case "redrive":
      return answering(control.redrive(id, { reason: reasonOf(action.reason), activePath: action.activePath }))
    case "purge":
      return answering(control.purge(id, { failed: action.failed }))
    case "send":
      return send(acting, id, action)
  }
}

/** Puts a dead letter back to work, or removes it; gives whether it did. */
export const settle = ({ store }: Acting, id: number, action: LetterAction): Effect.Effect<boolean, Problem> =>
  answering(action === "redrive" ? store.deadLetters.redrive(id) : store.deadLetters.discard(id))
