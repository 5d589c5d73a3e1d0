import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SpawnEntry } from "../../Commit.js"
import type { ExecutionPage } from "../../Execution.js"
import type { ExecutionStore, ListQuery } from "../../ExecutionStore.js"
import type { StoreCorrupt, StoreError } from "../../StoreError.js"

const maxPage = 1000

/** How many children of one execution are visited side by side: a store that shares transactions serves them together. */
const concurrency = 8

/** Calls `use` with each page of a listing, one after the other. */
export const forEachPage = <E, R>(
  store: ExecutionStore,
  query: ListQuery,
  use: (page: ExecutionPage) => Effect.Effect<unknown, E, R>
): Effect.Effect<void, E | StoreError, R> =>
  Effect.gen(function* () {
    let cursor: string | undefined
    do {
      const page = yield* store.listExecutions({ ...query, cursor })
      yield* use(page)
      cursor = Option.getOrUndefined(page.nextCursor)
    } while (cursor !== undefined)
  })

/** What is below an execution: each is visited before what is below it, or after. */
export interface Walk<E, R> {
  readonly order: "before" | "after"
  readonly visit: (id: string) => Effect.Effect<unknown, E, R>
  readonly corrupt: (row: StoreCorrupt) => void
}

/** Visits everything below an execution. */
export const walk = <E, R>(
  store: ExecutionStore,
  rootId: string,
  { corrupt, order, visit }: Walk<E, R>
): Effect.Effect<void, E | StoreError, R> => {
  // Nothing keeps a program from writing a circle of parents.
  const seen = new Set([rootId])
  const below = (parentId: string): Effect.Effect<void, E | StoreError, R> =>
    forEachPage(store, { parentId, limit: maxPage }, (page) => {
      page.corrupt.forEach(corrupt)
      const fresh = page.items.filter(({ id }) => !seen.has(id))
      for (const { id } of fresh) seen.add(id)
      return Effect.forEach(
        fresh,
        ({ id }) =>
          order === "before" ? Effect.zipRight(visit(id), below(id)) : Effect.zipRight(below(id), visit(id)),
        { concurrency, discard: true }
      )
    })
  return below(rootId)
}

/** The children of an execution, and the spawns that it has issued and that are pending. */
export interface Children {
  readonly ids: ReadonlyArray<string>
  readonly spawns: ReadonlyArray<SpawnEntry>
}

/** The children of an execution. Its spawns are read first: so none is missed. */
export const children = (store: ExecutionStore, parentId: string): Effect.Effect<Children, StoreError> =>
  Effect.gen(function* () {
    const spawns = yield* pendingSpawns(store, parentId)
    const ids: Array<string> = []
    yield* forEachPage(store, { parentId, limit: maxPage }, (page) =>
      Effect.sync(() => void ids.push(...page.items.map(({ id }) => id)))
    )
    return { ids, spawns }
  })

/** The spawns that an execution has issued and that are pending; all pending ones are read where there is any. */
export const pendingSpawns = (
  store: ExecutionStore,
  parentId: string
): Effect.Effect<ReadonlyArray<SpawnEntry>, StoreError> =>
  Effect.gen(function* () {
    const spawns: Array<SpawnEntry> = []
    if (!(yield* store.spawns.isParent(parentId))) return spawns
    let after: number | undefined
    do {
      const page = yield* store.pendingSpawns({ limit: maxPage, after })
      spawns.push(...page.entries.filter((entry) => entry.parentId === parentId))
      after = Option.getOrUndefined(page.next)
    } while (after !== undefined)
    return spawns
  })
