import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Mailbox from "effect/Mailbox"
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
 * The commits of a store from when the stream is run, until the scope closes. Each run has a buffer of its own. Where it is full the oldest
 * commits are dropped, so that a commit never waits for readers. While nobody runs the stream nothing is kept.
 */
export const make = (
  capacity: number
): Effect.Effect<Stream.Stream<CommitRecord>, never, ExecutionStore | Scope.Scope> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const closed = yield* Effect.makeLatch()
    yield* Effect.addFinalizer(() => closed.open)

    return Stream.unwrapScoped(
      Effect.gen(function* () {
        const buffer = yield* Mailbox.make<CommitRecord>({ capacity, strategy: "sliding" })
        yield* Effect.forkScoped(Effect.zipRight(closed.await, buffer.end))
        let missed = 0
        yield* store.listen((notice) => {
          const record = toRecord(notice)
          if (record === undefined) return
          if (Option.contains(buffer.unsafeSize(), capacity)) missed++
          buffer.unsafeOffer({ ...record, missed: 0 })
        })
        // The first one says how many before it were forgotten.
        const take = Effect.flatMap(buffer.takeAll, ([records]) => {
          if (Chunk.isEmpty(records)) return Effect.fail(Option.none())
          const [first, rest] = [Chunk.unsafeHead(records), Chunk.drop(records, 1)]
          const taken = missed === 0 ? records : Chunk.prepend(rest, { ...first, missed })
          missed = 0
          return Effect.succeed(taken)
        })
        return Stream.repeatEffectChunkOption(take)
      })
    )
  })
