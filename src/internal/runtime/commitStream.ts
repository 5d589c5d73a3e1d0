import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { CommitRecord } from "../../ExecutionRuntime.js"
import { ExecutionStore, type Notice } from "../../ExecutionStore.js"

const toRecord = ({ origin, committed }: Notice): Omit<CommitRecord, "missed"> | undefined => {
  if (Option.isNone(committed)) return undefined
  const { activePath, definitionId, id, status, version } = committed.value.execution
  return {
    executionId: id,
    definitionId,
    from: {
      version: version - 1,
      status: Option.fromNullable(origin?.status),
      activePath: Option.map(Option.fromNullable(origin), ({ activePath }) => activePath)
    },
    to: { version, status, activePath },
    event: Option.fromNullable(origin?.event),
    command: Option.fromNullable(origin?.command)
  }
}

/**
 * The commits of a store from when the stream is run, until the scope closes. Each run has a buffer of its own, of which the oldest go when
 * it is full: whoever commits never waits. Nothing is kept where nobody runs it.
 */
export const make = (
  capacity: number
): Effect.Effect<Stream.Stream<CommitRecord>, never, ExecutionStore | Scope.Scope> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    let closed = false
    const closing = new Set<() => void>()
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        closed = true
        for (const close of closing) close()
      })
    )

    return Stream.unwrapScoped(
      Effect.gen(function* () {
        const more = yield* Effect.makeLatch(closed)
        let buffer: Array<CommitRecord> = []
        const wake = () => void more.unsafeOpen()
        yield* Effect.acquireRelease(
          Effect.sync(() => closing.add(wake)),
          () => Effect.sync(() => closing.delete(wake))
        )
        yield* store.listen((notice) => {
          const record = toRecord(notice)
          if (record === undefined) return
          buffer.push({ ...record, missed: 0 })
          // Many at a time: removing the first one of so many costs as much.
          if (buffer.length >= 2 * capacity) buffer = youngest(buffer, capacity)
          more.unsafeOpen()
        })
        const take = Effect.suspend(() => {
          const taken = youngest(buffer, capacity)
          buffer = []
          if (taken.length === 0 && closed) return Effect.fail(Option.none())
          if (!closed) more.unsafeClose()
          return Effect.succeed(Chunk.unsafeFromArray(taken))
        })
        return Stream.repeatEffectChunkOption(Effect.zipRight(more.await, take))
      })
    )
  })

/** The youngest, the first of which says how many were forgotten. */
const youngest = (records: Array<CommitRecord>, capacity: number): Array<CommitRecord> => {
  const forgotten = Math.max(0, records.length - capacity)
  const [first, ...rest] = records.slice(forgotten)
  if (first === undefined || forgotten === 0) return records
  const missed = records.slice(0, forgotten).reduce((sum, record) => sum + record.missed + 1, first.missed)
  return [{ ...first, missed }, ...rest]
}
