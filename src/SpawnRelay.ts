/**
 * The worker that creates the children that commits spawn.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { SpawnEntry } from "./Commit.js"
import type * as Execution from "./Execution.js"
import type { ExecutionStore } from "./ExecutionStore.js"
import type { ParentNotFound } from "./internal/relays/spawnErrors.js"
import * as internal from "./internal/relays/spawnRelay.js"
import type { QueueWorker, Options as WorkerOptions } from "./QueueWorker.js"
import type { StoreRejected } from "./StoreError.js"

export {
  /** @since 0.1.0 */
  ChildIdTaken,
  /** @since 0.1.0 */
  ChildRejected,
  /** @since 0.1.0 */
  ParentNotFound
} from "./internal/relays/spawnErrors.js"

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
export const defaultChild: MakeChild<ParentNotFound> = internal.defaultChild

/**
 * Starts a relay, which runs until the scope closes. The services that `child` needs are taken from the context here.
 *
 * Fails with `StoreRejected` where an option is invalid.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: <E = never, R = never>(
  options?: Options<E, R>
) => Effect.Effect<SpawnRelay, StoreRejected, ExecutionStore | Scope.Scope | R> = (options) => internal.make(options)

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
