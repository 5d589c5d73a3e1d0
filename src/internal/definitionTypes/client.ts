import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Option from "effect/Option"
import type { Instance, Spec } from "../../Definition.js"
import type {
  AlreadyExists,
  ExecutionCancelled,
  ExecutionFailed,
  ExecutionMissing,
  InvalidInput,
  OtherDefinition,
  StoredInvalid
} from "../../DefinitionError.js"
import type { ExecutionFilter, ExecutionStore, ListQuery } from "../../ExecutionStore.js"
import type { StoreCorrupt, StoreError, StoreRejected } from "../../StoreError.js"
import type * as Time from "../../Time.js"

/**
 * One page of the executions of a definition.
 *
 * - `invalid`: executions that do not decode by the schemas of the definition.
 * - `corrupt`: rows that are no executions.
 * - `nextCursor`: the `cursor` of the next page, none at the end.
 *
 * @since 0.1.0
 * @category models
 */
export interface InstancePage<out S extends Spec> {
  readonly items: ReadonlyArray<Instance<S>>
  readonly invalid: ReadonlyArray<StoredInvalid>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
  readonly nextCursor: Option.Option<string>
}

/**
 * - `id`: the id of the event. An execution consumes an id once, so an event that is sent again with the same id has no second effect. By
 *   default a new id each time.
 * - `after`: how long the event waits before it is delivered, by default not at all.
 * - `at`: when it is delivered, in place of `after`.
 *
 * @since 0.1.0
 * @category models
 */
export interface SendOptions {
  readonly id?: string | undefined
  readonly after?: Duration.DurationInput | undefined
  readonly at?: Time.Input | undefined
}

/**
 * The attributes that executions of a definition are sought by. An execution must have all of them. One that is undefined is refused, so
 * that it does not select all: leave it out.
 *
 * @since 0.1.0
 * @category models
 */
export type Where<S extends Spec> = [keyof S["attributes"]] extends [never]
  ? { readonly [name: string]: never }
  : { readonly [K in keyof S["attributes"]]?: S["attributes"][K] }

/**
 * Which executions of a definition.
 *
 * - `where`: those with these attributes, sought by the first one: name that one first which the fewest have.
 * - the others: see `ExecutionStore.ExecutionFilter`.
 *
 * @since 0.1.0
 * @category models
 */
export interface InstanceFilter<in out S extends Spec> extends Omit<ExecutionFilter, "definitionId" | "attributes"> {
  readonly where?: Where<S> | undefined
}

/**
 * What to list: see {@link InstanceFilter} and `ExecutionStore.ListQuery`. The default limit is 100.
 *
 * @since 0.1.0
 * @category models
 */
export interface InstanceQuery<in out S extends Spec> extends InstanceFilter<S>, Pick<ListQuery, "limit" | "cursor"> {}

/**
 * Which page of the executions of a definition to index anew: the one behind `cursor`, at most `limit` executions (1 to 1,000, by default
 * 100).
 *
 * - `dryRun`: whether to write nothing, by default false.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReindexOptions extends Pick<ListQuery, "limit" | "cursor"> {
  readonly dryRun?: boolean | undefined
}

/**
 * What one page of indexing came to.
 *
 * - `read`: how many executions were read.
 * - `changed`: the ids of those whose attributes were not those of their context.
 * - `invalid`: executions that do not decode by the schemas of the definition, or of which an attribute cannot be made. They were left as
 *   they are.
 * - `corrupt`: rows that are no executions.
 * - `nextCursor`: the `cursor` of the next page, none at the end.
 *
 * @since 0.1.0
 * @category models
 */
export interface Reindexed {
  readonly read: number
  readonly changed: ReadonlyArray<string>
  readonly invalid: ReadonlyArray<StoredInvalid>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
  readonly nextCursor: Option.Option<string>
}

/**
 * The ids that `startMany` started, and those under which an execution existed already and was left as it is.
 *
 * @since 0.1.0
 * @category models
 */
export interface StartedMany {
  readonly started: ReadonlyArray<string>
  readonly existing: ReadonlyArray<string>
}

/**
 * How reading an execution of a definition can fail.
 *
 * @since 0.1.0
 * @category errors
 */
export type GetError = ExecutionMissing | OtherDefinition | StoredInvalid | StoreError

/**
 * How waiting for the end of an execution can fail, beside the definition's own error.
 *
 * @since 0.1.0
 * @category errors
 */
export type AwaitError = ExecutionFailed | ExecutionCancelled | GetError

/**
 * The client of a definition. It needs the store alone: any process that has the store can start executions, send them events, read them
 * and wait for their end, whichever process runs them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Client<in out S extends Spec> {
  /** Starts an execution: stores it and its `Start` event in one commit. */
  readonly start: (
    id: string,
    input: S["input"]
  ) => Effect.Effect<Instance<S>, AlreadyExists | InvalidInput | StoreError, ExecutionStore>

  /** Starts an execution. Where one of this id exists, gives that one as it is now. */
  readonly startOrGet: (
    id: string,
    input: S["input"]
  ) => Effect.Effect<Instance<S>, InvalidInput | GetError, ExecutionStore>

  /**
   * Starts many executions, as many as possible in one transaction. All inputs are checked before the first is written. Where the store
   * fails in the middle, some are started: call it again, and it starts the others.
   */
  readonly startMany: (
    executions: Iterable<{ readonly id: string; readonly input: S["input"] }>
  ) => Effect.Effect<StartedMany, InvalidInput | StoreError, ExecutionStore>

  /**
   * Sends an event, which is durable when this succeeds; gives its id. It does not check whether the execution exists: the option
   * `unknownTarget` of the runtime says what becomes of an event whose target does not.
   */
  readonly send: <K extends keyof S["events"] & string>(
    id: string,
    kind: K,
    payload: S["events"][K],
    options?: SendOptions
  ) => Effect.Effect<string, InvalidInput | StoreError, ExecutionStore>

  /** The execution as it is now. */
  readonly get: (id: string) => Effect.Effect<Instance<S>, GetError, ExecutionStore>

  /** One page of the executions of this definition, in the order of their ids. */
  readonly list: (query?: InstanceQuery<S>) => Effect.Effect<InstancePage<S>, StoreError, ExecutionStore>

  /**
   * The same filter in the terms of the store, for what is not the definition's own: `Control.many`, `ExecutionStore.streamExecutions`.
   * Fails where it names what the definition does not have, as `list` does.
   */
  readonly filter: (filter?: InstanceFilter<S>) => Effect.Effect<ExecutionFilter, StoreRejected>

  /** How many executions of this definition a filter selects. It looks at each of them. */
  readonly count: (filter?: InstanceFilter<S>) => Effect.Effect<number, StoreError, ExecutionStore>

  /**
   * Gives one page of the executions of this definition the attributes that their contexts have, where these are others: those that were
   * written before the definition named them, or by another program. Each is written only where the execution is still at the version that
   * was read. Versions stay.
   */
  readonly reindex: (options?: ReindexOptions) => Effect.Effect<Reindexed, StoreError, ExecutionStore>

  /**
   * Waits until the execution ends, in whichever process, and gives its result. Fails with the definition's own error, `ExecutionFailed` or
   * `ExecutionCancelled` where it ended so. A wait that is interrupted changes nothing: wait again.
   */
  readonly await: (id: string) => Effect.Effect<S["result"], S["error"] | AwaitError, ExecutionStore>

  /** Starts an execution, or finds it started, and waits for its result. */
  readonly run: (
    id: string,
    input: S["input"]
  ) => Effect.Effect<S["result"], S["error"] | InvalidInput | AwaitError, ExecutionStore>
}
