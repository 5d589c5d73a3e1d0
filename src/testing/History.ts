/**
 * Random histories of operations on a store, and a player for them. Two stores are compared by playing the same history on both.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import type { ActivityEntry, Commit, WorkItem } from "../Commit.js"
import { type Burial, type DeadLetter, type Failure, type Kind, Reason } from "../DeadLetter.js"
import * as Event from "../Event.js"
import * as Execution from "../Execution.js"
import {
  type ActivityClaim,
  type ClaimedActivity,
  type DeadLetterQuery,
  ExecutionStore,
  type ListQuery
} from "../ExecutionStore.js"
import { statuses } from "../internal/codec/execution.js"
import type { StoreConflict, StoreError } from "../StoreError.js"
import * as Generators from "./Generators.js"
import { visible } from "./internal/state.js"

/**
 * The value of an execution from which a commit starts: the stored one (`Current`), a new one (`Fresh`), one of a version that is not there
 * yet (`Ahead`), or one that was stored before (`Held`).
 *
 * @since 0.1.0
 * @category models
 */
export type Base = { readonly _tag: "Current" | "Fresh" | "Ahead" } | { readonly _tag: "Held"; readonly nth: number }

/**
 * The work that a commit finishes, by its place among the work of this history, because two stores need not number alike.
 *
 * @since 0.1.0
 * @category models
 */
export type AckOf = { readonly _tag: "None" } | { readonly _tag: "Outbox" | "Spawn" | "Timer"; readonly nth: number }

/**
 * One operation of a history. `Wait` lets time pass: the test that plays the history moves the clock.
 *
 * @since 0.1.0
 * @category models
 */
export type Operation =
  | {
      readonly _tag: "Commit"
      readonly id: string
      readonly base: Base
      readonly patch: Partial<Omit<Execution.Execution, "id" | "version">>
      readonly commit: Commit
      readonly ack: AckOf
    }
  | { readonly _tag: "Wait"; readonly millis: number }
  | { readonly _tag: "Enqueue"; readonly emits: NonNullable<Commit["emits"]> }
  | { readonly _tag: "Release"; readonly now: number; readonly limit: number }
  | { readonly _tag: "Ack"; readonly ack: AckOf }
  | { readonly _tag: "Fail"; readonly ack: AckOf; readonly failure: Omit<Failure, "work" | "failedAt"> }
  | { readonly _tag: "Bury"; readonly ack: AckOf; readonly why: Burial }
  | { readonly _tag: "Redrive" | "Discard"; readonly nth: number }
  | { readonly _tag: "Claim"; readonly claim: ActivityClaim }
  | { readonly _tag: "Leave"; readonly owner: string; readonly orphans: boolean }
  | {
      readonly _tag: "EndRun"
      readonly nth: number
      readonly how: (typeof ends)[number]
      readonly failure: Omit<Failure, "work" | "failedAt">
    }
  | { readonly _tag: "CancelActivity"; readonly id: string; readonly key: string }
  | { readonly _tag: "Trace"; readonly id: string; readonly step: NonNullable<Commit["trace"]> }
  | { readonly _tag: "Purge"; readonly id: string; readonly base: Base }
  | { readonly _tag: "LoadForEvent"; readonly id: string; readonly eventId: string }
  | { readonly _tag: "List"; readonly query: ListQuery }
  | { readonly _tag: "DeadLetters"; readonly query: DeadLetterQuery }
  | { readonly _tag: "Due"; readonly now: number; readonly limit: number }
  | { readonly _tag: "Prefix"; readonly prefix: string }

/**
 * The ids of executions in a history.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const ids = ["a", "\ufffd", "\u{1f600}"] as const

/**
 * The ids of consumed events in a history.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const eventIds = ["e1", "e2", "x'4142'"] as const

const ends = ["complete", "fail", "release", "drop", "bury"] as const

const endOf = ({ executionId, key, name, version }: Pick<ActivityEntry, "executionId" | "key" | "name" | "version">) =>
  Event.make({
    id: Event.activityId(executionId, key, version),
    kind: Event.WellKnownKind.ActivityEnded,
    data: { name }
  })

const id = FastCheck.constantFrom(...ids)
const definitionId = FastCheck.constantFrom("order", "refund")
const status = FastCheck.constantFrom(...statuses)
const nth = FastCheck.nat(20)

// Times lie close together, so that there are ties.
const fireAt = FastCheck.oneof(FastCheck.integer({ min: 0, max: 4 }), Generators.fireAt)

const base: FastCheck.Arbitrary<Base> = FastCheck.oneof(
  { weight: 6, arbitrary: FastCheck.constant<Base>({ _tag: "Current" }) },
  { weight: 1, arbitrary: FastCheck.constantFrom<Base>({ _tag: "Fresh" }, { _tag: "Ahead" }) },
  { weight: 3, arbitrary: nth.map((nth): Base => ({ _tag: "Held", nth })) }
)

const work: FastCheck.Arbitrary<AckOf> = FastCheck.oneof(
  nth.map((nth): AckOf => ({ _tag: "Outbox", nth })),
  nth.map((nth): AckOf => ({ _tag: "Spawn", nth })),
  nth.map((nth): AckOf => ({ _tag: "Timer", nth }))
)

const ackOf: FastCheck.Arbitrary<AckOf> = FastCheck.oneof(
  { weight: 1, arbitrary: FastCheck.constant<AckOf>({ _tag: "None" }) },
  { weight: 3, arbitrary: work }
)

const path = FastCheck.constantFrom("", "p", "q", "@ttl")

const activityKey = FastCheck.constantFrom("k", "K", "l", "\ufffd")

const activityName = FastCheck.constantFrom("charge", "ship")

const owner = FastCheck.constantFrom("one", "two")

const claim = FastCheck.record(
  {
    name: activityName,
    owner,
    limit: FastCheck.integer({ min: 1, max: 4 }),
    concurrency: FastCheck.integer({ min: 1, max: 3 }),
    rate: FastCheck.record({
      limit: FastCheck.integer({ min: 1, max: 3 }),
      window: FastCheck.constantFrom(1, 7, 60)
    }),
    after: Generators.text
  },
  { requiredKeys: ["name", "owner", "limit"] }
)

const commit: FastCheck.Arbitrary<Commit> = FastCheck.record(
  {
    emits: FastCheck.array(
      FastCheck.record(
        { targetId: FastCheck.option(id), event: Generators.event, dueAt: fireAt },
        { requiredKeys: ["targetId", "event"] }
      ),
      { maxLength: 4 }
    ),
    processed: FastCheck.constantFrom(...eventIds),
    timers: FastCheck.array(
      FastCheck.oneof(
        FastCheck.record({ _tag: FastCheck.constant("Schedule" as const), path, fireAt }),
        FastCheck.record({ _tag: FastCheck.constant("Cancel" as const), path })
      ),
      { maxLength: 5 }
    ),
    spawns: FastCheck.array(
      FastCheck.record({ childId: id, rootPath: Generators.text, context: Generators.jsonObject }),
      { maxLength: 2 }
    ),
    activities: FastCheck.array(Generators.activityOp(activityKey, activityName), { maxLength: 3 }),
    attributes: Generators.attributes,
    trace: Generators.traceStep
  },
  { requiredKeys: [] }
)

const definitionVersion = FastCheck.constantFrom(1, 2)

const patch = FastCheck.record(
  {
    definitionId,
    definitionVersion,
    status,
    parentId: FastCheck.option(id),
    outcome: FastCheck.option(Generators.text),
    context: Generators.jsonObject,
    extra: Generators.extra
  },
  { requiredKeys: [] }
)

/** A version is sought of a definition alone. */
const query = FastCheck.record(
  {
    definitionId,
    definitionVersion,
    status: FastCheck.array(status, { maxLength: 3 }),
    rootsOnly: FastCheck.boolean(),
    attributes: Generators.attributes,
    limit: FastCheck.integer({ min: 1, max: 4 })
  },
  { requiredKeys: [] }
).map((query) => (query.definitionId === undefined ? { ...query, definitionVersion: undefined } : query))

const deadLetterQuery = FastCheck.record(
  {
    definitionId,
    executionIdPrefix: id,
    reason: FastCheck.array(FastCheck.constantFrom(...Reason.literals), { maxLength: 2 }),
    diedBefore: FastCheck.integer({ min: 0, max: 10 }),
    kind: FastCheck.constantFrom<Kind>("Outbox", "Spawn", "Timer", "Activity"),
    executionId: id,
    limit: FastCheck.integer({ min: 1, max: 4 })
  },
  { requiredKeys: [] }
)

const tagged = <const Tag extends Operation["_tag"]>(_tag: Tag) => FastCheck.constant(_tag)

/**
 * One operation. Most are commits, and most of these start from the stored version.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const operation: FastCheck.Arbitrary<Operation> = FastCheck.oneof(
  { weight: 14, arbitrary: FastCheck.record({ _tag: tagged("Commit"), id, base, patch, commit, ack: ackOf }) },
  {
    weight: 1,
    arbitrary: FastCheck.record({ _tag: tagged("Wait"), millis: FastCheck.integer({ min: 1, max: 100_000 }) })
  },
  {
    weight: 1,
    arbitrary: FastCheck.record({
      _tag: tagged("Enqueue"),
      emits: FastCheck.array(FastCheck.oneof(Generators.emit, Generators.delayedEmit), { maxLength: 3 })
    })
  },
  {
    weight: 2,
    arbitrary: FastCheck.record({ _tag: tagged("Release"), now: fireAt, limit: FastCheck.integer({ min: 1, max: 5 }) })
  },
  { weight: 2, arbitrary: FastCheck.record({ _tag: tagged("Ack"), ack: ackOf }) },
  { weight: 3, arbitrary: FastCheck.record({ _tag: tagged("Fail"), ack: work, failure: Generators.failure }) },
  { weight: 3, arbitrary: FastCheck.record({ _tag: tagged("Bury"), ack: work, why: Generators.burial }) },
  { weight: 2, arbitrary: FastCheck.record({ _tag: tagged("Redrive"), nth }) },
  { weight: 1, arbitrary: FastCheck.record({ _tag: tagged("Discard"), nth }) },
  { weight: 4, arbitrary: FastCheck.record({ _tag: tagged("Claim"), claim }) },
  { weight: 1, arbitrary: FastCheck.record({ _tag: tagged("Leave"), owner, orphans: FastCheck.boolean() }) },
  {
    weight: 5,
    arbitrary: FastCheck.record({
      _tag: tagged("EndRun"),
      nth,
      how: FastCheck.constantFrom(...ends),
      failure: Generators.failure
    })
  },
  { weight: 1, arbitrary: FastCheck.record({ _tag: tagged("CancelActivity"), id, key: activityKey }) },
  { weight: 1, arbitrary: FastCheck.record({ _tag: tagged("DeadLetters"), query: deadLetterQuery }) },
  { weight: 1, arbitrary: FastCheck.record({ _tag: tagged("Trace"), id, step: Generators.traceStep }) },
  { weight: 1, arbitrary: FastCheck.record({ _tag: tagged("Purge"), id, base }) },
  {
    weight: 1,
    arbitrary: FastCheck.record({ _tag: tagged("LoadForEvent"), id, eventId: FastCheck.constantFrom(...eventIds) })
  },
  { weight: 2, arbitrary: FastCheck.record({ _tag: tagged("List"), query }) },
  {
    weight: 1,
    arbitrary: FastCheck.record({ _tag: tagged("Due"), now: fireAt, limit: FastCheck.integer({ min: 1, max: 5 }) })
  },
  {
    weight: 1,
    arbitrary: FastCheck.record({ _tag: tagged("Prefix"), prefix: FastCheck.constantFrom("", "a", "A", "\ufffd") })
  }
)

/**
 * A history of `length` to `length + 10` operations.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const operations = (length: number): FastCheck.Arbitrary<ReadonlyArray<Operation>> =>
  FastCheck.array(operation, { minLength: length, maxLength: length + 10 })

/**
 * Plays operations on the store of the context, one after the other. Two correct stores may give different seqs, so results have the rank
 * of a seq among those given so far in its place.
 *
 * @since 0.1.0
 * @category models
 */
export interface Player {
  /** Plays one operation; gives its result or its error. */
  readonly play: (operation: Operation) => Effect.Effect<unknown, never, ExecutionStore>

  /** All that the store shows now. */
  readonly state: Effect.Effect<unknown, StoreError, ExecutionStore>
}

/**
 * A player that has played nothing yet. It is for one store and one history: it remembers the seqs that the store gave.
 *
 * @example
 * ```ts
 * import { Effect, TestClock, TestContext } from "effect"
 * import * as MemoryStore from "holdfast/MemoryStore"
 * import * as History from "holdfast/testing/History"
 *
 * // What a store answers to a history, and what is in it at the end.
 * const play = (history: ReadonlyArray<History.Operation>) =>
 *   Effect.gen(function* () {
 *     const player = History.makePlayer()
 *     const answers = yield* Effect.forEach(history, (operation) =>
 *       operation._tag === "Wait" ? TestClock.adjust(operation.millis) : player.play(operation)
 *     )
 *     return { answers, state: yield* player.state }
 *   })
 *
 * const program = play([{ _tag: "Enqueue", emits: [] }, { _tag: "Wait", millis: 5 }, { _tag: "List", query: {} }]).pipe(
 *   Effect.provide(MemoryStore.layer),
 *   Effect.provide(TestContext.TestContext)
 * )
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const makePlayer = (): Player => {
  const played: Played = { versions: new Map(), seqs: [], runs: [] }
  return {
    play: (operation) => Effect.catchAll(run(played, operation), (error) => Effect.succeed({ failed: error.message })),

    state: Effect.map(visible(ids, eventIds), (state) => ({
      ...state,
      outbox: state.outbox.map((entry) => ({ ...entry, seq: rank(played, [entry.seq]) })),
      spawns: state.spawns.map(({ seq: _, ...entry }) => entry),
      activities: state.activities.map(({ seq: _, ...entry }) => entry),
      deadLetters: state.deadLetters.map((letter) => withoutIds(played, letter))
    }))
  }
}

/**
 * What a player remembers: all versions of each execution that were committed, all seqs of the outbox and all activities that were claimed, in the
 * order in which they came.
 */
interface Played {
  readonly versions: Map<string, ReadonlyArray<Execution.Execution>>
  readonly seqs: Array<number>
  readonly runs: Array<ClaimedActivity>
}

const rank = ({ seqs }: Played, given: ReadonlyArray<number>): ReadonlyArray<number> =>
  given.map((seq) => seqs.indexOf(seq))

/** Remembers seqs that the store gave just now; gives their ranks. */
const remember = (played: Played, given: ReadonlyArray<number>): ReadonlyArray<number> => {
  played.seqs.push(...given)
  return rank(played, given)
}

const pick = <A>(items: ReadonlyArray<A>, nth: number): A | undefined => items[nth % Math.max(1, items.length)]

/** The work that an operation means, in this store. */
const resolve = (played: Played, ack: AckOf): Effect.Effect<WorkItem | undefined, StoreError, ExecutionStore> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    switch (ack._tag) {
      case "None":
        return undefined
      case "Outbox": {
        const seq = pick(played.seqs, ack.nth)
        return seq === undefined ? undefined : { _tag: "Outbox", seq }
      }
      case "Spawn": {
        const entry = pick((yield* store.pendingSpawns()).entries, ack.nth)
        return entry === undefined ? undefined : { _tag: "Spawn", seq: entry.seq }
      }
      case "Timer": {
        const timer = pick((yield* store.dueTimers(Number.MAX_VALUE)).entries, ack.nth)
        return timer === undefined ? undefined : { _tag: "Timer", ...timer }
      }
    }
  })

/** A dead letter without the numbers that two stores need not have in common. */
const withoutIds = (played: Played, { id: _, row, text, work, ...letter }: DeadLetter) => ({
  ...letter,
  work: work._tag === "Outbox" ? { ...work, seq: rank(played, [work.seq]) } : work._tag === "Timer" ? work : work._tag,
  row: row._tag === "Some" ? { ...row.value, seq: undefined } : undefined,
  text: text.replace(/^\{"seq":\d+/, "{")
})

/** The id of the nth dead letter of this store; one that no letter has where there are none. */
const deadLetterId = (nth: number): Effect.Effect<number, StoreError, ExecutionStore> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    return pick((yield* store.deadLetters.list()).entries, nth)?.id ?? 1
  })

/** The value that a commit or a purge starts from. */
const startingPoint = (
  played: Played,
  id: string,
  base: Base
): Effect.Effect<Execution.Execution, StoreError, ExecutionStore> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const fresh = Execution.make({ id, definitionId: "order" })
    if (base._tag === "Held") return pick(played.versions.get(id) ?? [], base.nth) ?? { ...fresh, version: 1 }
    if (base._tag === "Fresh") return fresh
    const stored = Option.getOrElse(yield* store.load(id), () => fresh)
    return base._tag === "Current" ? stored : { ...stored, version: stored.version + 1 }
  })

type OperationOf<Tag extends Operation["_tag"]> = Extract<Operation, { readonly _tag: Tag }>

const runCommit = (played: Played, { ack, base, commit, id, patch }: OperationOf<"Commit">) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const before = yield* startingPoint(played, id, base)
    const work = yield* resolve(played, ack)
    const committed = yield* store.commit(
      { ...before, ...patch },
      work === undefined ? commit : { ...commit, ack: work }
    )
    played.versions.set(id, [...(played.versions.get(id) ?? []), committed.execution])
    return { execution: committed.execution, seqs: remember(played, committed.seqs) }
  })

const runRelease = (played: Played, { limit, now }: OperationOf<"Release">) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const released = yield* store.delayed.release(now, limit)
    const page = yield* store.pendingOutbox({ limit: 1000 })
    const seqs = page.entries.map((entry) => entry.seq).filter((seq) => !played.seqs.includes(seq))
    return { released, seqs: remember(played, seqs) }
  })

const runAck = (played: Played, { ack }: OperationOf<"Ack">): Effect.Effect<unknown, StoreError, ExecutionStore> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const work = yield* resolve(played, ack)
    switch (work?._tag) {
      case undefined:
        return undefined
      case "Outbox":
        return yield* store.ackOutbox(work.seq)
      case "Spawn":
        return yield* store.ackSpawn(work.seq)
      case "Timer":
        return yield* store.deleteTimer(work)
    }
  })

/** A run without the numbers that two stores need not have in common. */
const withoutNumbers = ({ claim: _, seq: __, ...run }: ClaimedActivity) => run

const runClaim = (played: Played, { claim }: OperationOf<"Claim">) =>
  Effect.gen(function* () {
    const { activities, leases } = yield* ExecutionStore
    const { entries: unknown } = yield* activities.claim({ ...claim, owner: "nobody" })
    yield* leases.renew({ pool: "activities", holder: claim.owner, ttl: 10 })
    const found = yield* activities.claim(claim)
    played.runs.push(...found.entries)
    const waiting = yield* activities.waiting(claim.owner)
    const owned = yield* activities.owned(claim.owner)
    return { unknown, ...found, entries: found.entries.map(withoutNumbers), waiting, owned: owned.length }
  })

const runLeave = ({ orphans, owner }: OperationOf<"Leave">) =>
  Effect.gen(function* () {
    const { activities, leases } = yield* ExecutionStore
    yield* leases.leave("activities", owner)
    return yield* orphans ? activities.releaseOrphans : activities.releaseAll(owner)
  })

const runEnd = (played: Played, { failure, how, nth }: OperationOf<"EndRun">) =>
  Effect.gen(function* () {
    const { activities, deadLetters } = yield* ExecutionStore
    const run = pick(played.runs, nth)
    if (run === undefined) return undefined
    switch (how) {
      case "complete":
        return yield* activities.complete(run, run.executionId, endOf(run))
      case "fail":
        return yield* activities.fail(run, failure)
      case "release":
        return yield* activities.release(run, failure.retryAt)
      case "drop":
        return yield* activities.drop(run)
      case "bury":
        return yield* deadLetters.bury({ _tag: "Activity", seq: run.seq }, { ...failure, reason: "rejected" })
    }
  })

const run = (
  played: Played,
  operation: Operation
): Effect.Effect<unknown, StoreConflict | StoreError, ExecutionStore> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    switch (operation._tag) {
      case "Commit":
        return yield* runCommit(played, operation)
      case "Wait":
        return undefined
      case "Enqueue":
        return remember(played, yield* store.enqueue(operation.emits))
      case "Release":
        return yield* runRelease(played, operation)
      case "Ack":
        return yield* runAck(played, operation)
      case "Fail": {
        const work = yield* resolve(played, operation.ack)
        return work === undefined ? undefined : yield* store.deadLetters.recordFailure({ work, ...operation.failure })
      }
      case "Bury": {
        const work = yield* resolve(played, operation.ack)
        return work === undefined ? undefined : yield* store.deadLetters.bury(work, operation.why)
      }
      case "Redrive":
        return yield* store.deadLetters.redrive(yield* deadLetterId(operation.nth))
      case "Discard":
        return yield* store.deadLetters.discard(yield* deadLetterId(operation.nth))
      case "Claim":
        return yield* runClaim(played, operation)
      case "Leave":
        return yield* runLeave(operation)
      case "EndRun":
        return yield* runEnd(played, operation)
      case "CancelActivity":
        return yield* store.activities.cancel(operation.id, operation.key, endOf)
      case "DeadLetters": {
        const { entries, next } = yield* store.deadLetters.list(operation.query)
        return { entries: entries.map((letter) => withoutIds(played, letter)), next: Option.isSome(next) }
      }
      case "Trace":
        return yield* store.appendTrace(operation.id, operation.step)
      case "Purge":
        return yield* store.purge(operation.id, (yield* startingPoint(played, operation.id, operation.base)).version)
      case "LoadForEvent":
        return yield* store.loadForEvent(operation.id, operation.eventId)
      case "List": {
        const { cursor: _, limit: __, ...filter } = operation.query
        return { page: yield* store.listExecutions(operation.query), count: yield* store.countExecutions(filter) }
      }
      case "Due":
        return yield* store.dueTimers(operation.now, { limit: operation.limit })
      case "Prefix":
        return yield* store.idsWithPrefix(operation.prefix)
    }
  })
