import * as Schema from "effect/Schema"
import type { CommonOptions, Options } from "../../ExecutionRuntime.js"
import type * as Processor from "../../Processor.js"
import { decoder, type Fields, refused } from "../options/decode.js"
import * as fields from "../options/fields.js"
import { definitions, onFailure, processorFields, queueFields, target } from "../options/worker.js"

export type AnyOptions<E, R, EC, RC, ED, RD> =
  | Options<{ readonly [definitionId: string]: Processor.Transition<E, R> }, EC, RC, ED, RD>
  | CommonOptions<EC, RC, ED, RD>

export const decode = decoder(
  Schema.Struct({
    ...queueFields,
    ...processorFields,
    definitions: fields.optional(definitions),
    onFailure,
    child: fields.optional(fields.callable),
    deliverExternal: fields.optional(fields.callable),
    onGivenUp: target,
    unknownTarget: fields.optional(fields.oneOf("drop", "dead-letter", "wait")),
    unknownDefinition: fields.optional(fields.oneOf("wait", "fail")),
    timerInterval: fields.optional(fields.timeOrInfinity),
    leases: fields.optional(fields.flagOrObject),
    retention: fields.optional(fields.object),
    activityTtl: fields.optional(fields.time),
    commitsBuffer: fields.optional(fields.whole(1)),
    stallAfter: fields.optional(fields.patience),
    statsInterval: fields.optional(fields.timeOrInfinity)
  } satisfies Fields<CommonOptions>),
  refused("start", "ExecutionRuntime")
)
