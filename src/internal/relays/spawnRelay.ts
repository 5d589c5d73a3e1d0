import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Commit, SpawnEntry } from "../../Commit.js"
import * as Event from "../../Event.js"
import * as Execution from "../../Execution.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import { DefinitionNotFound } from "../../ProcessorError.js"
import { type Delivered, Postponed } from "../../QueueWorker.js"
import type { MakeChild, Options, SpawnRelay } from "../../SpawnRelay.js"
import type { StoreError, StoreRejected } from "../../StoreError.js"
import { decoder, type Fields, refused } from "../options/decode.js"
import { callable, optional } from "../options/fields.js"
import { workerFields } from "../options/worker.js"
import * as children from "../processor/stepChildren.js"
import * as telemetryContext from "../telemetry/context.js"
import * as failureDecision from "../worker/failureDecision.js"
import * as seqPages from "../worker/seqPages.js"
import * as worker from "../worker/worker.js"
import * as spawnBatch from "./spawnBatch.js"
import { ChildIdTaken, ChildRejected, ParentNotFound } from "./spawnErrors.js"

export const defaultChild: MakeChild<ParentNotFound> = (spawn, parent) => {
  const { childId, parentId, rootPath } = spawn
  const named = children.named(spawn)
  const place = { id: childId, childId, parentId, rootPath }
  const priority = Option.match(parent, { onNone: () => 0, onSome: (parent) => parent.priority })
  if (named !== undefined) {
    return Effect.succeed(Execution.make({ ...place, ...named, definitionFqn: named.definitionId, priority }))
  }
  return Option.match(parent, {
    onNone: () => new ParentNotFound({ parentId, childId }),
    onSome: ({ definitionFqn, definitionId, definitionVersion }) =>
      Effect.succeed(
        Execution.make({ ...place, definitionId, definitionVersion, definitionFqn, context: spawn.context, priority })
      )
  })
}

const decode = decoder(
  Schema.Struct({
    ...workerFields,
    child: optional(callable),
    serves: optional(callable),
    attributes: optional(callable)
  } satisfies Fields<Options>),
  refused("start", "SpawnRelay")
)

/** A relay: see `SpawnRelay.make`. */
export const make = <E = never, R = never>(
  options: Options<E, R> = {}
): Effect.Effect<SpawnRelay, StoreRejected, ExecutionStore | Scope.Scope | R> =>
  Effect.gen(function* () {
    yield* decode(options)
    const store = yield* ExecutionStore
    const provide = telemetryContext.provide(yield* Effect.context<R>())
    const { attributes: attributesOf = () => undefined, serves = () => true } = options
    const makeChild: MakeChild<E | ParentNotFound, R> = options.child ?? defaultChild

    const makeCommit = ({ parent, spawn }: spawnBatch.Born) =>
      Effect.gen(function* () {
        const { childId, parentId, seq } = spawn
        if (Option.exists(parent, ({ status }) => status === "SUSPENDED")) {
          return yield* new Postponed({ reason: `its parent ${JSON.stringify(parentId)} is suspended` })
        }
        const child = yield* provide(makeChild(spawn, parent))
        if (child.id !== childId) return yield* new ChildRejected({ parentId, childId, madeId: child.id })
        if (!serves(child.definitionId)) {
          const { definitionId } = child
          return yield* new DefinitionNotFound({ executionId: childId, eventId: Event.start(childId).id, definitionId })
        }
        const commit: Commit = {
          emits: [{ targetId: childId, event: Event.start(childId) }],
          attributes: attributesOf(child),
          ack: { _tag: "Spawn", seq }
        }
        return { execution: { ...child, version: 0 }, commit }
      })

    const settle: spawnBatch.Options<never, ChildIdTaken | Postponed | StoreError>["settle"] = (born, written) =>
      written.pipe(
        Effect.catchTag("StoreConflict", () => childThere(store, born.spawn, born.parent)),
        Effect.as(acknowledged)
      )

    const create = (spawn: SpawnEntry): Effect.Effect<Delivered, unknown> =>
      Effect.gen(function* () {
        const born = { spawn, parent: yield* store.load(spawn.parentId) }
        const { commit, execution } = yield* makeCommit(born)
        return yield* settle(born, store.commit(execution, commit))
      })

    // What a child of one's own making will follow, only that tells.
    const passing = options.child === undefined ? options : { ...options, elsewhere: undefined }

    return yield* worker.make<SpawnEntry>({
      module: "SpawnRelay",
      settings: options,
      polling: seqPages.polling(options),
      heed: seqPages.heed,
      from: seqPages.pages(
        passing,
        "spawns",
        store.pendingSpawns,
        seqPages.toWork(({ childId }) => childId, label, parentOf)
      ),
      noticed: (notice) => (notice.spawns > 0 ? seqPages.added : undefined),
      run: create,
      runTogether: spawnBatch.make({
        store,
        make: makeCommit,
        settle,
        annotations: (spawn) => described(spawn).annotations
      }),
      spanName: "SpawnRelay.create",
      described,
      since: () => null,
      workItem: ({ seq }) => ({ _tag: "Spawn", seq }),
      remove: ({ seq }) => store.ackSpawn(seq),
      decide
    })
  })

const decide = (spawn: SpawnEntry, cause: Cause.Cause<unknown>): failureDecision.Decision => {
  const error = Option.getOrUndefined(Cause.failureOption(cause))
  // Who spawned it is gone for good, and its spawns with it.
  if (error instanceof ParentNotFound) return { _tag: "Bury", reason: "rejected" }
  if (!(error instanceof ChildIdTaken)) return failureDecision.decide(cause, spawn.childId, { _tag: "Retry" })
  return { _tag: "Bury", reason: "id-taken", emit: error.orphaned ? undefined : children.rejection(spawn) }
}

/** There is an execution of the child's id: the child itself, made by another program or by another process just now, or another one. */
const childThere = (
  store: ExecutionStore,
  spawn: SpawnEntry,
  parent: Option.Option<Execution.Execution>
): Effect.Effect<void, ChildIdTaken | Postponed | StoreError> =>
  Effect.gen(function* () {
    const { childId, parentId, seq } = spawn
    const found = yield* store.load(childId)
    if (Option.exists(found, (found) => children.isOf(found, spawn, parent))) return yield* store.ackSpawn(seq)
    // Whoever made the child removed the spawn with it.
    const pending = yield* store.pendingSpawns({ after: seq - 1, limit: 1 })
    if (pending.entries[0]?.seq !== seq) return
    if (Option.isNone(found)) {
      return yield* new Postponed({ reason: `an execution ${JSON.stringify(childId)} was removed just now` })
    }
    return yield* new ChildIdTaken({ parentId, childId, owner: found.value.parentId, orphaned: Option.isNone(parent) })
  })

const acknowledged: Delivered = "Acknowledged"

const described = ({ childId, parentId, seq }: SpawnEntry) => ({
  annotations: { executionId: childId, parentId, seq }
})

const parentOf = ({ parentId }: SpawnEntry): string => parentId

const label = ({ childId, parentId, seq }: SpawnEntry): string =>
  `creation of child ${JSON.stringify(childId)} (spawn ${seq}) of ${JSON.stringify(parentId)}`
