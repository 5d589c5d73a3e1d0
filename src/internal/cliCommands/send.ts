import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Event from "../../Event.js"
import { isFinished } from "../../Execution.js"
import * as Ids from "../../Ids.js"
import { type CliError, refused, usage } from "../cli/failure.js"
import { findExecution } from "../cli/findExecution.js"
import { parseObject } from "../cli/json.js"
import { common, durationOf, flag, value, withStore } from "../cli/options.js"
import { note } from "../cli/screen.js"
import * as table from "../cli/table.js"
import * as eventIds from "../util/eventIds.js"
import { executionId } from "./executions.js"

const kind = Args.text({ name: "kind" }).pipe(Args.withDescription("the kind of the event"))

/** When an event is due that is sent with a delay. */
const dueAfter = (delay: string) =>
  Effect.gen(function* () {
    const duration = yield* durationOf("--delay", delay)
    return (yield* Clock.currentTimeMillis) / 1000 + Duration.toSeconds(duration)
  })

/** The id of the event: one that the engine makes would swallow the engine's own event. */
const idOf = (given: Option.Option<string>): Effect.Effect<string, CliError> => {
  if (Option.isNone(given)) return Ids.next
  const purpose = eventIds.purposeOf(given.value)
  if (purpose === undefined) return Effect.succeed(given.value)
  return usage(
    `--event-id ${JSON.stringify(given.value)}: ids that begin with "${purpose}:" are those of the engine itself, give it another beginning`
  )
}

const given = { data: value("data"), "event-id": value("event-id"), delay: value("delay"), "dry-run": flag("dry-run") }

export const send = Command.make("send", { ...common, ...given, id: executionId, kind }, (options) =>
  withStore(options, options["dry-run"] ? "read" : "write", ({ store }) =>
    Effect.gen(function* () {
      const data = Option.getOrUndefined(
        yield* Effect.transposeMapOption(options.data, (text) => parseObject("--data", text))
      )
      const dueAt = Option.getOrUndefined(yield* Effect.transposeMapOption(options.delay, dueAfter))
      const { id: targetId, status } = yield* findExecution(store, options.id)
      if (isFinished({ status })) {
        return yield* refused(`execution ${JSON.stringify(targetId)} is ${status}: an event to it would be dropped`)
      }
      const id = yield* idOf(options["event-id"])
      const event = Event.make({ id, kind: options.kind, data })
      if (options["dry-run"]) {
        yield* table.printOne(options.json, { targetId, event, dueAt: dueAt ?? null }, [
          { name: "event", value: id },
          { name: "target", value: targetId }
        ])
        return yield* note("send would send this event")
      }
      const [seq] = yield* store.enqueue([{ targetId, event, dueAt }])
      yield* table.printOne(options.json, { targetId, eventId: id, seq: seq ?? null, dueAt: dueAt ?? null }, [
        { name: "event", value: id },
        { name: "target", value: targetId },
        { name: "seq", value: seq === undefined ? "waits until it is due" : String(seq) }
      ])
    })
  )
).pipe(Command.withDescription("Sends an event to an execution, durably."))
