import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { ChildrenLive, HasParent, NoSuchExecution, WrongStatus } from "../../ControlError.js"
import type { ExecutionSummary, Status } from "../../Execution.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import { StoreConflict, type StoreError } from "../../StoreError.js"
import * as executionTree from "./executionTree.js"

/** Where an execution stands, as far as purging it asks. */
type Standing = Pick<ExecutionSummary, "id" | "status" | "version" | "finishedAt">

const statuses: ReadonlyArray<Status> = ["DONE", "CANCELLED", "FAILED"]

export interface Options {
  /** Whether an execution is so finished that it may be removed. */
  readonly accepts: (execution: Standing) => boolean
  /** Whether all of a tree that is finished may be removed; by default it may. */
  readonly ripe?: (tree: ReadonlyArray<Standing>) => Effect.Effect<boolean, StoreError>
  readonly removed: (id: string) => void
}

/**
 * Removes a whole tree, children first, and gives whether it did. Nothing is removed unless all of it is finished; what moves on meanwhile
 * stops it with `StoreConflict`, and its root stays, by which it can be found again.
 */
export const purgeTree = (store: ExecutionStore, executionId: string, { accepts, removed, ripe }: Options) =>
  Effect.gen(function* () {
    const on = { command: "purge" as const, executionId }
    const found = yield* store.load(executionId)
    if (Option.isNone(found)) return yield* new NoSuchExecution(on)
    const root = found.value
    const { parentId, status } = root
    if (parentId !== null && Option.isSome(yield* store.load(parentId)))
      return yield* new HasParent({ ...on, parentId })
    if (!accepts(root)) {
      return yield* new WrongStatus({
        ...on,
        status,
        expected: statuses.filter((status) => accepts({ ...root, status }))
      })
    }
    const members: Array<Standing> = [root]
    const known = new Set([executionId])
    const live: Array<string> = []
    for (const parent of members) {
      // Asked before its children are listed: a spawn that is gone by then is among them.
      live.push(...(yield* executionTree.pendingSpawns(store, parent.id)).map(({ childId }) => childId))
      yield* executionTree.forEachPage(store, { parentId: parent.id, limit: 1000 }, (page) =>
        Effect.gen(function* () {
          const [corrupt] = page.corrupt
          if (corrupt !== undefined) return yield* corrupt
          for (const child of page.items) {
            if (known.has(child.id)) continue
            known.add(child.id)
            members.push(child)
            if (!accepts(child)) live.push(child.id)
          }
        })
      )
    }
    if (live.length > 0) return yield* new ChildrenLive({ ...on, live })
    if (ripe !== undefined && !(yield* ripe(members))) return false
    for (const { id, version } of members.toReversed()) {
      if (!(yield* store.purge(id, version))) {
        return yield* new StoreConflict({ executionId: id, expected: version, found: Option.none() })
      }
      removed(id)
    }
    return true
  })
