/**
 * The worker that creates the children that commits spawn.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { Commit, SpawnEntry } from "./Commit.js"
import * as Event from "./Event.js"
import * as Execution from "./Execution.js"
import { ExecutionStore } from "./ExecutionStore.js"
import { decoder, type Fields, refused } from "./internal/options/decode.js"
import { callable, optional } from "./internal/options/fields.js"
import { workerFields } from "./internal/options/worker.js"
import * as children from "./internal/processor/stepChildren.js"
import * as spawnBatch from "./internal/relays/spawnBatch.js"
import * as telemetryContext from "./internal/telemetry/context.js"
import { printable } from "./internal/util/printable.js"
import * as failureDecision from "./internal/worker/failureDecision.js"
import * as seqPages from "./internal/worker/seqPages.js"
import * as worker from "./internal/worker/worker.js"
import { DefinitionNotFound } from "./ProcessorError.js"
import { type Delivered, Postponed, type QueueWorker, type Options as WorkerOptions } from "./QueueWorker.js"
import type { StoreError, StoreRejected } from "./StoreError.js"

/**
 * The parent of a spawn does not exist any more, and only the parent says which definition the child follows.
 *
 * @since 0.1.0
 * @category errors
 */
export class ParentNotFound extends Schema.TaggedError<ParentNotFound>("holdfast/SpawnRelay/ParentNotFound")(
  "ParentNotFound",
  { parentId: Schema.String, childId: Schema.String }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `child ${JSON.stringify(this.childId)} has no parent ${JSON.stringify(this.parentId)} to take its definition from: give the relay a \`child\` that knows it, or remove the spawn`
    )
  }
}

/**
 * There is an execution of the child's id already, and it is another: one of a user's own, another parent's child, or a child of an
 * earlier spawn of the same parent that has ended. The spawn is a dead letter then, with the reason `"id-taken"`, and the parent is sent
 * `Finished` with the outcome `rejected`, unless the child is `orphaned`: its parent is gone. `owner` is the parent of the execution that
 * has the id.
 *
 * @since 0.1.0
 * @category errors
 */
export class ChildIdTaken extends Schema.TaggedError<ChildIdTaken>("holdfast/SpawnRelay/ChildIdTaken")("ChildIdTaken", {
  parentId: Schema.String,
  childId: Schema.String,
  owner: Schema.NullOr(Schema.String),
  orphaned: Schema.Boolean
}) {
  /** @since 0.1.0 */
  override get message(): string {
    const owner =
      this.owner === null
        ? "an execution without a parent"
        : this.owner === this.parentId
          ? "a child that it spawned before and that has ended"
          : `a child of ${JSON.stringify(this.owner)}`
    return printable(
      `execution ${JSON.stringify(this.parentId)} spawned ${JSON.stringify(this.childId)}, which is ${owner}: spawn it under another id, or purge that one and redrive this`
    )
  }
}

/**
 * `child` made an execution with another id than that of the spawn.
 *
 * @since 0.1.0
 * @category errors
 */
export class ChildRejected extends Schema.TaggedError<ChildRejected>("holdfast/SpawnRelay/ChildRejected")(
  "ChildRejected",
  { parentId: Schema.String, childId: Schema.String, madeId: Schema.String }
) {
  /** @since 0.1.0 */
  override get message(): string {
    return printable(
      `execution ${JSON.stringify(this.parentId)} spawned ${JSON.stringify(this.childId)}, but \`child\` made ${JSON.stringify(this.madeId)}: it must keep the id`
    )
  }
}

/**
 * Makes the execution of a child when it is created. The parent is none where it was purged.
 *
 * @since 0.1.0
 * @category models
 */
export type MakeChild<E = never, R = never> = (
  spawn: SpawnEntry,
  parent: Option.Option<Execution.Execution>
) => Effect.Effect<Execution.Execution, E, R>

/**
 * - `child`: makes the execution of a child; by default {@link defaultChild}.
 * - `serves`: whether this process has a definition, by default true for all. A child of another definition waits for a process that has
 *   it.
 * - `attributes`: what a child is found by from the beginning (see `Commit.attributes`); by default nothing, until its first step says it.
 *   A runtime takes it from the child's definition.
 * - the others: see `QueueWorker.Options`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<E = never, R = never> extends WorkerOptions {
  readonly child?: MakeChild<E, R> | undefined
  readonly serves?: ((definitionId: string) => boolean) | undefined
  readonly attributes?: ((child: Execution.Execution) => Execution.Attributes | undefined) | undefined
}

/**
 * The spawn relay. One commit creates the child, sends it its `Start` event and removes the spawn. Where the child is there already,
 * because another program made it, the spawn is removed. Where another execution has its id, see {@link ChildIdTaken}.
 *
 * A child that cannot be created is tried again as `retry` says and holds back no other. The store remembers attempts and error over
 * restarts. After `maxAttempts` its spawn is a dead letter. It is one at once where `child` fails with `QueueWorker.Refused` or
 * `ParentNotFound`, and where the row does not decode. `QueueWorker.Postponed`, a suspended parent, and a store that is down count as no
 * attempt.
 *
 * @since 0.1.0
 * @category models
 */
export interface SpawnRelay extends QueueWorker {}

/**
 * The service of the spawn relay.
 *
 * @since 0.1.0
 * @category tags
 */
export const SpawnRelay: Context.Tag<SpawnRelay, SpawnRelay> = Context.GenericTag<SpawnRelay>("holdfast/SpawnRelay")

/**
 * A child with the root path, the context and the definition of its spawn, at its parent's priority. A spawn names a definition under the
 * key `__invoke_fqn__` of its context and its version under `__definition_version__` (see `Step.spawn`), which the child does not get.
 * Without them the child follows its parent's definition, at its parent's version.
 *
 * Fails with `ParentNotFound` where it needs the parent's definition and the parent does not exist any more.
 *
 * @since 0.1.0
 * @category constructors
 */
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

/**
 * Starts a relay, which runs until the scope closes. The services that `child` needs are taken from the context here.
 *
 * Fails with `StoreRejected` where an option is invalid.
 *
 * @since 0.1.0
 * @category constructors
 */
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

/**
 * {@link make} as a layer.
 *
 * @example
 * ```ts
 * import { Effect, Option } from "effect"
 * import { Execution, SpawnRelay } from "holdfast"
 *
 * // Children follow one definition, at their parent's priority. `ExecutionRuntime.layer` has the option `child`.
 * const Relay = SpawnRelay.layer({
 *   child: ({ childId, context, parentId, rootPath }, parent) =>
 *     Effect.succeed(
 *       Execution.make({
 *         id: childId,
 *         childId,
 *         parentId,
 *         rootPath,
 *         context,
 *         definitionId: "delivery",
 *         priority: Option.match(parent, { onNone: () => 0, onSome: ({ priority }) => priority })
 *       })
 *     )
 * })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <E = never, R = never>(
  options: Options<E, R> = {}
): Layer.Layer<SpawnRelay, StoreRejected, ExecutionStore | Exclude<R, Scope.Scope>> =>
  Layer.scoped(SpawnRelay, make(options))
