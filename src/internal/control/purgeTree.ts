import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { PurgeOptions } from "../../Control.js"
import { ChildrenLive, HasParent, NoSuchExecution, WrongStatus } from "../../ControlError.js"
import type { ExecutionSummary, Status } from "../../Execution.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import { StoreConflict, type StoreError } from "../../StoreError.js"
import * as executionTree from "./executionTree.js"
import { type Run, retrying } from "./run.js"

/** What purging needs to know of an execution. */
type Standing = Pick<ExecutionSummary, "id" | "status" | "version" | "finishedAt">

export interface Options {
  /** The statuses of executions that may be removed. */
  readonly statuses: ReadonlyArray<Status>
  /** Whether a finished tree may be removed; by default yes. */
  readonly mayPurge?: ((tree: ReadonlyArray<Standing>) => Effect.Effect<boolean, StoreError>) | undefined
  readonly removed: (id: string) => void
}

/** The statuses that purging accepts, with failed executions or without. */
export const purgeable = (failed = false): ReadonlyArray<Status> =>
  failed ? ["DONE", "CANCELLED", "FAILED"] : ["DONE", "CANCELLED"]

/** The root of a tree, where it is one and is finished. */
const finishedRoot = (store: ExecutionStore, executionId: string, expected: ReadonlyArray<Status>) =>
  Effect.gen(function* () {
    const on = { command: "purge" as const, executionId }
    const found = yield* store.load(executionId)
    if (Option.isNone(found)) return yield* new NoSuchExecution(on)
    const { parentId, status } = found.value
    if (parentId !== null && Option.isSome(yield* store.load(parentId))) {
      return yield* new HasParent({ ...on, parentId })
    }
    return expected.includes(status) ? found.value : yield* new WrongStatus({ ...on, status, expected })
  })

/** A whole tree: its members, parents before their children, and the ids of those that are not finished or still to be created. */
const membersOf = (store: ExecutionStore, root: Standing, statuses: ReadonlyArray<Status>) =>
  Effect.gen(function* () {
    const members: Array<Standing> = [root]
    const live: Array<string> = []
    const known = new Set([root.id])
    const add = (child: Standing): void => {
      if (known.has(child.id)) return
      known.add(child.id)
      members.push(child)
      if (!statuses.includes(child.status)) live.push(child.id)
    }
    for (const parent of members) {
      // Asked before its children are listed: a spawn that is gone by then is among them.
      live.push(...(yield* executionTree.pendingSpawns(store, parent.id)).map(({ childId }) => childId))
      yield* executionTree.forEachPage(store, { parentId: parent.id, limit: 1000 }, ({ corrupt: [corrupt], items }) =>
        corrupt === undefined ? Effect.sync(() => items.forEach(add)) : corrupt
      )
    }
    return { members, live }
  })

/**
 * Removes a whole tree, children first, and gives whether it did. Nothing is removed unless all of it is finished; what moves on meanwhile
 * stops it with `StoreConflict`, and its root stays, by which it can be found again.
 */
export const purgeTree = (store: ExecutionStore, executionId: string, { removed, mayPurge, statuses }: Options) =>
  Effect.gen(function* () {
    const root = yield* finishedRoot(store, executionId, statuses)
    const { live, members } = yield* membersOf(store, root, statuses)
    if (live.length > 0) return yield* new ChildrenLive({ command: "purge", executionId, live })
    if (mayPurge !== undefined && !(yield* mayPurge(members))) return false
    for (const { id, version } of members.toReversed()) {
      if (!(yield* store.purge(id, version))) {
        return yield* new StoreConflict({ executionId: id, expected: version, found: Option.none() })
      }
      removed(id)
    }
    return true
  })

export const purge = (run: Run, executionId: string, { failed }: PurgeOptions) =>
  retrying(
    run,
    executionId,
    purgeTree(run.store, executionId, {
      statuses: purgeable(failed),
      removed: (id) => void run.changed.add(id)
    })
  )
