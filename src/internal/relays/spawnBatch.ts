import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Option from "effect/Option"
import type { Commit, Committed, SpawnEntry } from "../../Commit.js"
import * as Event from "../../Event.js"
import type { Execution } from "../../Execution.js"
import type { ExecutionStore, Loaded } from "../../ExecutionStore.js"
import type { Delivered } from "../../QueueWorker.js"
import type { StoreConflict, StoreError } from "../../StoreError.js"
import * as transitionTimeout from "../processor/transitionTimeout.js"
import * as log from "../telemetry/log.js"
import * as batchVariant from "../util/batchVariant.js"
import { fencedBy } from "../util/fence.js"
import type { RunTogether, Tried } from "../worker/worker.js"

/** A child that is ready to be created. */
export interface Child {
  readonly execution: Execution
  readonly commit: Commit
}

/** A spawn, and its parent as it was read. */
export interface Born {
  readonly spawn: SpawnEntry
  readonly parent: Option.Option<Execution>
}

/**
 * - `make`: makes the child that the spawn asks for.
 * - `settle`: what becomes of a spawn whose child was written, or could not be.
 * - `annotations`: what is logged for a spawn says that it is for it.
 */
export interface Options<E, E2> {
  readonly store: ExecutionStore
  readonly make: (born: Born) => Effect.Effect<Child, E>
  readonly settle: (
    born: Born,
    written: Effect.Effect<Committed, StoreConflict | StoreError>
  ) => Effect.Effect<Delivered, E2>
  readonly annotations: (spawn: SpawnEntry) => { readonly [name: string]: string | number }
}

type Parent = Exit.Exit<Option.Option<Execution>, StoreError>

const unread: Parent = Exit.die(new Error("the parent was not read"))

const parentOf = (loaded: Exit.Exit<Loaded, StoreError> | undefined): Parent =>
  loaded === undefined ? unread : Exit.map(loaded, ({ execution }) => execution)

/** The parents of several spawns, each of which is read once, by id. */
const loadParents = (
  { loadForEvents }: ExecutionStore,
  works: ReadonlyArray<Tried<SpawnEntry>>
): Effect.Effect<ReadonlyMap<string, Parent>> => {
  // Which event it is loaded for does not matter.
  const events = new Map(works.map(({ item: { childId, parentId } }) => [parentId, Event.start(childId).id]))
  const queries = Array.from(events, ([id, eventId]) => ({ id, eventId }))
  return Effect.map(loadForEvents(queries), (loaded) => new Map(queries.map(({ id }, i) => [id, parentOf(loaded[i])])))
}

/**
 * Creates children together: reads their parents in one read, makes them one after the other, as far as each goes without waiting, and writes them as one
 * group of commits. A child with which it is not so is one of the rest, at once. None where the store cannot, or where somebody watches what it
 * does with single ones.
 */
export const make = <E, E2>({
  annotations,
  make,
  settle,
  store
}: Options<E, E2>): RunTogether<SpawnEntry> | undefined => {
  const { commit, commitEach, load, loadForEvents } = store
  if (!batchVariant.isOf(commitEach, commit) || !batchVariant.isOf(loadForEvents, load)) return undefined
  return (works, { acknowledged, rest }) =>
    Effect.gen(function* () {
      const parents = yield* loadParents(store, works)
      const runtime = yield* Effect.runtime<never>()
      const ready: Array<
        Child & { readonly place: number; readonly born: Born; readonly fence: Tried<SpawnEntry>["fence"] }
      > = []
      for (const [place, { fence, item: spawn }] of works.entries()) {
        const parent = parents.get(spawn.parentId) ?? unread
        if (Exit.isFailure(parent)) {
          rest(place, Exit.failCause(parent.cause))
          continue
        }
        const born = { spawn, parent: parent.value }
        const made = fencedBy(fence)(make(born))
        const running = transitionTimeout.start(log.annotatedRuntime(runtime, annotations(spawn)), made)
        const exit = transitionTimeout.poll(running)
        if (exit !== undefined && Exit.isSuccess(exit)) {
          ready.push({ ...exit.value, place, born, fence })
          continue
        }
        const child = exit ?? transitionTimeout.join(running)
        rest(
          place,
          Effect.flatMap(child, (child) => settle(born, commit(child.execution, child.commit)))
        )
      }
      if (ready.length === 0) return
      const exits = yield* commitEach(ready)
      for (const [i, { born, commit: written, execution, place }] of ready.entries()) {
        const exit = exits[i]
        if (exit !== undefined && Exit.isSuccess(exit)) acknowledged(place)
        else rest(place, settle(born, exit ?? commit(execution, written)))
      }
    })
}
