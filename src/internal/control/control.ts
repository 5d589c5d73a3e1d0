import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type {
  BulkOptions,
  CancelOptions,
  Control,
  Options,
  PurgeOptions,
  ReasonOptions,
  RedriveOptions
} from "../../Control.js"
import type { Command } from "../../ControlError.js"
import { type ExecutionFilter, ExecutionStore } from "../../ExecutionStore.js"
import type { StoreRejected } from "../../StoreError.js"
import { decoder, type Fields, refused } from "../options/decode.js"
import { flag, object, oneOf, optional, schedule, text, whole } from "../options/fields.js"
import { problemOf } from "../shapes/shape.js"
import { selectedExecutions } from "../shapes/store.js"
import { cancel } from "./cancel.js"
import * as many from "./many.js"
import * as manyDeadLetters from "./manyDeadLetters.js"
import { purge } from "./purgeTree.js"
import { redrive } from "./redriveExecution.js"
import { type Environment, reporting } from "./run.js"
import { resume, suspend } from "./suspend.js"
import { terminate } from "./terminate.js"

const defaultConflictRetry = Schedule.exponential("5 millis").pipe(
  Schedule.jittered,
  Schedule.intersect(Schedule.recurs(9))
)

const bulkFields = {
  limit: optional(whole(1, 1000)),
  cursor: optional(text),
  dryRun: optional(flag)
} satisfies Fields<BulkOptions>

const decode = decoder(
  Schema.Struct({ conflictRetry: optional(schedule) } satisfies Fields<Options>),
  refused("start", "Control")
)

const reasonFields = { reason: optional(object) } satisfies Fields<ReasonOptions>

/** The options of each command. */
const commandFields = {
  suspend: reasonFields,
  resume: reasonFields,
  terminate: reasonFields,
  cancel: {
    reason: optional(object),
    children: optional(oneOf("terminate", "cancel"))
  } satisfies Fields<CancelOptions>,
  redrive: {
    activePath: optional(text),
    event: optional(object),
    reason: optional(object)
  } satisfies Fields<RedriveOptions>,
  purge: { failed: optional(flag) } satisfies Fields<PurgeOptions>
}

const decodeOf = (command: Command) =>
  decoder(Schema.Struct(commandFields[command]), refused(command, `Control.${command}`))

const decodeMany = (command: Command) =>
  decoder(Schema.Struct({ ...commandFields[command], ...bulkFields }), refused(command, `Control.many.${command}`))

const decoders = {
  suspend: decodeOf("suspend"),
  resume: decodeOf("resume"),
  cancel: decodeOf("cancel"),
  terminate: decodeOf("terminate"),
  redrive: decodeOf("redrive"),
  purge: decodeOf("purge")
}

type Single = Omit<Control, "many">

/** The commands on single executions. */
const makeSingle = (environment: Environment): Single => ({
  suspend: (id, options = {}) =>
    Effect.zipRight(
      decoders.suspend(options),
      reporting(environment, "suspend", options, (run) => suspend(run, id))
    ),
  resume: (id, options = {}) =>
    Effect.zipRight(
      decoders.resume(options),
      reporting(environment, "resume", options, (run) => resume(run, id))
    ),
  cancel: (id, options = {}) =>
    Effect.zipRight(
      decoders.cancel(options),
      reporting(environment, "cancel", options, (run) => cancel(run, id, options))
    ),
  terminate: (id, options = {}) =>
    Effect.zipRight(
      decoders.terminate(options),
      reporting(environment, "terminate", options, (run) => terminate(run, id))
    ),
  redrive: (id, options = {}) =>
    Effect.zipRight(
      decoders.redrive(options),
      reporting(environment, "redrive", options, (run) => redrive(run, id, options))
    ),
  purge: (id, options = {}) =>
    Effect.zipRight(
      decoders.purge(options),
      reporting(environment, "purge", {}, (run) => purge(run, id, options))
    )
})

/** The commands on all that a filter selects. */
const makeMany = ({ store }: Environment, single: Single): Control["many"] => {
  const run = (
    command: Command,
    filter: ExecutionFilter,
    options: BulkOptions & PurgeOptions,
    apply: (id: string) => many.Applied
  ) =>
    Stream.unwrap(
      Effect.map(problemOf(command, [["filter", selectedExecutions]], [filter]) ?? decodeMany(command)(options), () =>
        many.stream(store, many.selections(options.failed)[command], filter, options, apply)
      )
    )
  return {
    suspend: (filter, options = {}) => run("suspend", filter, options, (id) => single.suspend(id, options)),
    resume: (filter, options = {}) => run("resume", filter, options, (id) => single.resume(id, options)),
    cancel: (filter, options = {}) => run("cancel", filter, options, (id) => single.cancel(id, options)),
    terminate: (filter, options = {}) => run("terminate", filter, options, (id) => single.terminate(id, options)),
    redrive: (filter, options = {}) => run("redrive", filter, options, (id) => single.redrive(id, options)),
    purge: (filter, options = {}) => run("purge", filter, options, (id) => single.purge(id, options)),
    deadLetters: manyDeadLetters.make(store)
  }
}

/** @internal */
export const make = (options: Options = {}): Effect.Effect<Control, StoreRejected, ExecutionStore> =>
  Effect.gen(function* () {
    yield* decode(options)
    const { conflictRetry = defaultConflictRetry } = options
    const environment: Environment = { store: yield* ExecutionStore, conflictRetry }
    const single = makeSingle(environment)
    return { ...single, many: makeMany(environment, single) }
  })
