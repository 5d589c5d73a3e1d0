import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { OutboxEntry } from "../../Commit.js"
import type { Encoded, EncodedExecution } from "../../EncodedStore.js"
import type { ExecutionStore, Notice } from "../../ExecutionStore.js"
import * as Time from "../../Time.js"
import * as executionCodec from "../codec/execution.js"
import * as json from "../codec/json.js"
import * as rows from "../codec/row.js"
import { copyOf } from "../codec/stringify.js"
import * as validate from "../codec/validate.js"
import { Asking } from "../executionCache/asking.js"
import { bytesOfText, type ExecutionCache } from "../executionCache/executionCache.js"
import * as eventIds from "../util/eventIds.js"
import {
  type Backend,
  checkIds,
  checkWhole,
  defaultPage,
  fenceFor,
  maxPage,
  momentOf,
  numberedPage,
  quiet
} from "./backend.js"
import { type Emitted, encodeEmits } from "./encodeCommit.js"

/** The earliest of times. */
export const earliest = (times: ReadonlyArray<number>): Option.Option<number> =>
  times.reduce(
    (least, time) => (Option.exists(least, (earlier) => earlier <= time) ? least : Option.some(time)),
    Option.none<number>()
  )

/**
 * The entries of events that were put into the outbox, made of what the stored texts say: nobody may change what was stored by changing the
 * event that he gave, or got. Nothing where the seqs are not known.
 */
const entriesOf = (
  { copies, emits }: Pick<Emitted, "copies" | "emits">,
  seqs: ReadonlyArray<number>
): ReadonlyArray<OutboxEntry> | undefined => {
  if (seqs.length !== emits.length) return undefined
  const entries: Array<OutboxEntry> = []
  for (const [i, { event, targetId }] of emits.entries()) {
    const row = { seq: seqs[i], targetId, event }
    const copy = copies[i]
    const entry = Either.try(() =>
      copy === undefined ? rows.outboxEntry(row) : rows.outboxEntryOf(row, copyOf(copy.value))
    )
    if (Either.isLeft(entry)) return undefined
    entries.push(entry.right)
  }
  return entries
}

/** What a notice says of events that were emitted, and got these seqs. */
export const noticeOf = (
  { copies, delayed, emits }: Emitted,
  seqs: ReadonlyArray<number>
): Pick<Notice, "emits" | "nextDelayed" | "outbox"> => ({
  emits: emits.length,
  nextDelayed: earliest(delayed.map((emit) => emit.dueAt)),
  outbox: emits.length === 0 ? undefined : () => entriesOf({ copies, emits }, seqs)
})

/** Remembers what a page of the outbox brought, where a commit can say later what it knows it by. */
const learn = (cache: ExecutionCache, { data, id, version }: EncodedExecution & { readonly id: unknown }): void => {
  if (typeof id !== "string" || typeof data !== "string") return
  if (typeof version !== "number" || !Number.isSafeInteger(version)) return
  const token = executionCodec.tokenAtEnd(data)
  if (token !== undefined) cache.learn(id, { row: () => json.parse(data), bytes: bytesOfText(data), version, token })
}

/**
 * Reads a page together with the executions that go with it, which are remembered. Where that cannot be, as a database may refuse a text, whoever works
 * on that execution meets it: the page comes without.
 */
const readWithExecutions = ({ cache, encoded }: Backend): Encoded["pendingOutbox"] => {
  const { pendingOutbox, pendingOutboxWithExecutions } = encoded
  if (cache === undefined || pendingOutboxWithExecutions === undefined) return pendingOutbox
  const asking = new Asking(cache)
  return (after, limit, except) => {
    if (cache.roomFor(limit) === 0) return pendingOutbox(after, limit, except)
    return Effect.suspend(() => pendingOutboxWithExecutions(after, limit, except, asking.forPage(limit))).pipe(
      Effect.tap(({ executions, rows }) => {
        asking.got(rows)
        for (const row of executions) learn(cache, row)
        return Effect.void
      }),
      Effect.catchIf(
        (error) => error._tag !== "StoreUnavailable",
        () => pendingOutbox(after, limit, except)
      )
    )
  }
}

/** The events to deliver, and those that wait until they are due. */
export const make = (backend: Backend): Pick<ExecutionStore, "enqueue" | "pendingOutbox" | "ackOutbox" | "delayed"> => {
  const { checks, encoded, isHeard, notify } = backend
  const table = {
    operation: "pendingOutbox",
    table: "outbox",
    kind: "Outbox",
    read: encoded.pendingOutbox,
    decode: rows.outboxEntry
  } as const
  const withExecutions = { ...table, read: readWithExecutions(backend) }

  return {
    enqueue: (emits, options) =>
      // Put together by hand, as a commit is: events are sent one by one.
      Effect.withFiberRuntime((fiber) => {
        const idProblem = (id: unknown): string | undefined =>
          checks.eventId(id) ?? (options?.reservedIds === "accept" ? undefined : eventIds.reserved(id))
        const events = encodeEmits({ operation: "enqueue" }, checks, emits, momentOf(fiber), idProblem, isHeard())
        if (Either.isLeft(events)) return Effect.fail(events.left)
        if (emits.length === 0) return Effect.succeed([])
        return Effect.map(encoded.enqueue(events.right), (seqs) => {
          notify({ ...quiet, ...noticeOf(events.right, seqs) })
          return seqs
        })
      }),

    pendingOutbox: (query = {}) => numberedPage(backend, query.executions === true ? withExecutions : table, query),

    ackOutbox: (seq) => {
      const call = { operation: "ackOutbox" }
      return checkWhole(call, "seq", seq, 0).pipe(
        Effect.zipRight(fenceFor(call)),
        Effect.flatMap((fence) => encoded.ackOutbox(seq, fence))
      )
    },

    delayed: {
      release: (time, limit = defaultPage) =>
        Effect.gen(function* () {
          const call = { operation: "releaseDelayed" }
          const now = Time.toSeconds(time)
          yield* validate.refuse(call, "now", validate.finite(now))
          yield* checkWhole(call, "limit", limit, 1, maxPage)
          const released = yield* encoded.releaseDelayed(now, limit)
          if (released > 0) notify({ ...quiet, emits: released })
          return released
        }),

      next: encoded.nextDelayed
    }
  }
}

/** The children to create. */
export const makeSpawns = (backend: Backend): Pick<ExecutionStore, "pendingSpawns" | "ackSpawn" | "spawns"> => {
  const { encoded } = backend
  const table = {
    operation: "pendingSpawns",
    table: "spawns",
    kind: "Spawn",
    read: encoded.pendingSpawns,
    decode: rows.spawnEntry
  } as const

  return {
    pendingSpawns: (query = {}) => numberedPage(backend, table, query),

    ackSpawn: (seq) => {
      const call = { operation: "ackSpawn" }
      return checkWhole(call, "seq", seq, 0).pipe(
        Effect.zipRight(fenceFor(call)),
        Effect.flatMap((fence) => encoded.ackSpawn(seq, fence))
      )
    },

    spawns: {
      isParent: (parentId) =>
        Effect.zipRight(
          checkIds(backend, { operation: "isSpawnParent", executionId: parentId }, { parentId }),
          encoded.isSpawnParent(parentId)
        ),

      isPending: (childId) =>
        Effect.zipRight(checkIds(backend, { operation: "isSpawning" }, { childId }), encoded.isSpawning(childId)),

      drop: (parentId) =>
        Effect.zipRight(
          checkIds(backend, { operation: "dropSpawns", executionId: parentId }, { parentId }),
          encoded.dropSpawns(parentId)
        )
    }
  }
}
