import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import type { CancelOptions, Control, Options, PurgeOptions, ReasonOptions, RedriveOptions } from "../../Control.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { StoreRejected } from "../../StoreError.js"
import { decoder, type Fields, refused } from "../options/decode.js"
import { flag, object, oneOf, optional, schedule, text } from "../options/fields.js"
import { cancel } from "./cancel.js"
import { purge } from "./purgeTree.js"
import { redrive } from "./redrive.js"
import { type Environment, reporting } from "./run.js"
import { resume, suspend } from "./suspend.js"
import { terminate } from "./terminate.js"

const defaultConflictRetry = Schedule.exponential("5 millis").pipe(
  Schedule.jittered,
  Schedule.intersect(Schedule.recurs(9))
)

const decode = decoder(
  Schema.Struct({ conflictRetry: optional(schedule) } satisfies Fields<Options>),
  refused("start", "Control")
)

const reasonDecoder = (command: "suspend" | "resume" | "terminate") =>
  decoder(
    Schema.Struct({ reason: optional(object) } satisfies Fields<ReasonOptions>),
    refused(command, `Control.${command}`)
  )

const decodeReason = {
  suspend: reasonDecoder("suspend"),
  resume: reasonDecoder("resume"),
  terminate: reasonDecoder("terminate")
}

const decodeCancel = decoder(
  Schema.Struct({
    reason: optional(object),
    children: optional(oneOf("terminate", "cancel"))
  } satisfies Fields<CancelOptions>),
  refused("cancel", "Control.cancel")
)

const decodeRedrive = decoder(
  Schema.Struct({
    activePath: optional(text),
    event: optional(object),
    reason: optional(object)
  } satisfies Fields<RedriveOptions>),
  refused("redrive", "Control.redrive")
)

const decodePurge = decoder(
  Schema.Struct({ failed: optional(flag) } satisfies Fields<PurgeOptions>),
  refused("purge", "Control.purge")
)

/** @internal */
export const make = (options: Options = {}): Effect.Effect<Control, StoreRejected, ExecutionStore> =>
  Effect.gen(function* () {
    yield* decode(options)
    const { conflictRetry = defaultConflictRetry } = options
    const environment: Environment = { store: yield* ExecutionStore, conflictRetry }
    return {
      suspend: (id, options = {}) =>
        Effect.zipRight(
          decodeReason.suspend(options),
          reporting(environment, "suspend", options, (run) => suspend(run, id))
        ),
      resume: (id, options = {}) =>
        Effect.zipRight(
          decodeReason.resume(options),
          reporting(environment, "resume", options, (run) => resume(run, id))
        ),
      cancel: (id, options = {}) =>
        Effect.zipRight(
          decodeCancel(options),
          reporting(environment, "cancel", options, (run) => cancel(run, id, options))
        ),
      terminate: (id, options = {}) =>
        Effect.zipRight(
          decodeReason.terminate(options),
          reporting(environment, "terminate", options, (run) => terminate(run, id))
        ),
      redrive: (id, options = {}) =>
        Effect.zipRight(
          decodeRedrive(options),
          reporting(environment, "redrive", options, (run) => redrive(run, id, options))
        ),
      purge: (id, options = {}) =>
        Effect.zipRight(
          decodePurge(options),
          reporting(environment, "purge", {}, (run) => purge(run, id, options))
        )
    }
  })
