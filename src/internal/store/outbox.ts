import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Encoded, EncodedCommit, ExecutionStore, Notice } from "../../ExecutionStore.js"
import * as traceContext from "../telemetry/traceContext.js"
import { encodeEmits } from "./encodeCommit.js"
import { defaultPage, maxPage } from "./pending.js"
import * as validate from "./validate.js"

/** The earliest of times. */
export const earliest = (times: ReadonlyArray<number>): Option.Option<number> =>
  times.reduce(
    (least, time) => (Option.exists(least, (earlier) => earlier <= time) ? least : Option.some(time)),
    Option.none<number>()
  )

/** What a notice says of events that were emitted. */
export const noticeOf = ({ delayed, emits }: Pick<EncodedCommit, "delayed" | "emits">) => ({
  emits: emits.length,
  nextDelayed: earliest(delayed.map((emit) => emit.dueAt))
})

const nothing = { committed: Option.none(), spawns: 0, nextTimer: Option.none(), nextDelayed: Option.none() }

/** The events that come into the outbox from outside of any commit, and those that wait until they are due. */
export const make = (
  encoded: Encoded,
  checks: validate.Checks,
  notify: (notice: Notice) => void
): Pick<ExecutionStore, "enqueue" | "releaseDelayed" | "nextDelayed"> => ({
  enqueue: (emits) =>
    Effect.gen(function* () {
      const emission = { now: (yield* Clock.currentTimeMillis) / 1000, traceparent: yield* traceContext.current }
      const events = yield* encodeEmits({ operation: "enqueue" }, checks, emits, emission)
      if (emits.length === 0) return []
      const seqs = yield* encoded.enqueue(events)
      notify({ ...nothing, ...noticeOf(events) })
      return seqs
    }),

  releaseDelayed: (now, limit = defaultPage) =>
    Effect.gen(function* () {
      const call = { operation: "releaseDelayed" }
      yield* validate.refuse(call, "now", validate.finite(now))
      yield* validate.refuse(call, "limit", validate.wholeNumber(limit, 1, maxPage))
      const released = yield* encoded.releaseDelayed(now, limit)
      if (released > 0) notify({ ...nothing, emits: released })
      return released
    }),

  nextDelayed: encoded.nextDelayed
})
