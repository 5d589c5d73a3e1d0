import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { ExecutionStore } from "../../ExecutionStore.js"
import { emitted } from "../codec/event.js"
import * as json from "../codec/json.js"
import { type Backend, seconds } from "./backend.js"

/** Since when the first event of the outbox is to be delivered, where its row says so. */
const oldestEmit = (event: unknown): Option.Option<number> =>
  typeof event === "string"
    ? Option.flatMapNullable(
        Option.getRight(Either.try(() => emitted.decode(json.parse(event), "event"))),
        ({ emittedAt }) => emittedAt
      )
    : Option.none()

const time = (u: unknown): Option.Option<number> => (typeof u === "number" ? Option.some(u) : Option.none())

/** How much work there is. */
export const make = ({ encoded }: Backend): ExecutionStore["stats"] =>
  Effect.gen(function* () {
    const { deadLetters, delayed, outbox, spawns, timers } = yield* encoded.stats(yield* seconds)
    const { event, ...events } = outbox
    const { earliest, ...armed } = timers
    return {
      outbox: { ...events, oldest: oldestEmit(event) },
      spawns: { ...spawns, oldest: Option.none() },
      timers: { ...armed, oldest: time(earliest) },
      delayed: { count: delayed.count, corrupt: delayed.corrupt, oldest: time(delayed.dueAt) },
      deadLetters: { count: deadLetters.count, oldest: time(deadLetters.diedAt) }
    }
  })
