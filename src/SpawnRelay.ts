/**
 * Creates the children that commits ask for.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type { SpawnEntry } from "./Commit.js"
import * as Event from "./Event.js"
import * as Execution from "./Execution.js"
import { ExecutionStore } from "./ExecutionStore.js"
import * as captured from "./internal/captured.js"
import * as seqs from "./internal/seqs.js"
import * as worker from "./internal/worker.js"
import type { Worker } from "./Worker.js"

/**
 * The parent of a spawn is gone, and without it nothing says which definition the child follows.
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
    return `child ${JSON.stringify(this.childId)} has no parent ${JSON.stringify(this.parentId)} to take its definition from: give the relay a \`child\` that knows it, or remove the spawn`
  }
}

/**
 * `child` made another execution than the one that was asked for: one with another id.
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
    return `execution ${JSON.stringify(this.parentId)} spawned ${JSON.stringify(this.childId)}, but \`child\` made ${JSON.stringify(this.madeId)}: it must keep the id`
  }
}

/**
 * Decides what a child is when it is created; the parent is none where it was purged.
 *
 * @since 0.1.0
 * @category models
 */
export type MakeChild<E = never, R = never> = (
  spawn: SpawnEntry,
  parent: Option.Option<Execution.Execution>
) => Effect.Effect<Execution.Execution, E, R>

/**
 * How children are created.
 *
 * - `child`: decides what a child is; by default {@link defaultChild}.
 * - `concurrency`, `pageSize`, `pollInterval`, `shutdownTimeout`: as of the outbox relay.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<E = never, R = never> {
  readonly child?: MakeChild<E, R>
  readonly concurrency?: number
  readonly pageSize?: number
  readonly pollInterval?: Duration.DurationInput
  readonly shutdownTimeout?: Duration.DurationInput
}

/**
 * The spawn relay. A child is created, sent its `Start` event and its spawn removed in one commit; where there is an execution of that id
 * already, the spawn is removed. A child that cannot be created is tried again at the next poll and stops no other.
 *
 * @since 0.1.0
 * @category models
 */
export interface SpawnRelay extends Worker {}

/**
 * @since 0.1.0
 * @category tags
 */
export const SpawnRelay: Context.Tag<SpawnRelay, SpawnRelay> = Context.GenericTag<SpawnRelay>("holdfast/SpawnRelay")

/**
 * A child that follows its parent's definition, from the root path and with the context of the spawn.
 *
 * Fails with `ParentNotFound` where the parent is gone.
 *
 * @since 0.1.0
 * @category constructors
 */
export const defaultChild: MakeChild<ParentNotFound> = ({ childId, context, parentId, rootPath }, parent) =>
  Option.match(parent, {
    onNone: () => new ParentNotFound({ parentId, childId }),
    onSome: ({ definitionFqn, definitionId }) =>
      Effect.succeed(Execution.make({ id: childId, definitionId, definitionFqn, rootPath, context, parentId, childId }))
  })

/**
 * Starts a relay, which runs until the scope closes. The services that `child` needs are taken once, here.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <E = never, R = never>(
  options: Options<E, R> = {}
): Effect.Effect<SpawnRelay, never, ExecutionStore | Scope.Scope | R> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const provide = captured.provide(yield* Effect.context<R>())
    const makeChild: MakeChild<E | ParentNotFound, R> = options.child ?? defaultChild

    const create = (spawn: SpawnEntry) =>
      Effect.gen(function* () {
        const { childId, parentId, seq } = spawn
        const child = yield* provide(makeChild(spawn, yield* store.load(parentId)))
        if (child.id !== childId) return yield* new ChildRejected({ parentId, childId, madeId: child.id })
        yield* store
          .commit(
            { ...child, version: 0 },
            { emits: [{ targetId: childId, event: Event.start(childId) }], ack: { _tag: "Spawn", seq } }
          )
          .pipe(Effect.catchTag("StoreConflict", () => store.ackSpawn(seq)))
      })

    return yield* worker.make({
      ...seqs.settings(options),
      module: "SpawnRelay",
      from: seqs.pages(options, store.pendingSpawns, describe),
      noticed: (notice) => (notice.spawns > 0 ? seqs.added : undefined),
      run: create
    })
  })

const describe = ({ childId, parentId, seq }: SpawnEntry) => ({
  lane: childId,
  label: `creation of child ${JSON.stringify(childId)} (spawn ${seq}) of ${JSON.stringify(parentId)}`
})

/**
 * {@link make} as a layer.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <E = never, R = never>(
  options: Options<E, R> = {}
): Layer.Layer<SpawnRelay, never, ExecutionStore | Exclude<R, Scope.Scope>> => Layer.scoped(SpawnRelay, make(options))
