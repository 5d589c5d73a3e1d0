import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { BulkFailure, BulkOptions, BulkPage, Report } from "../../Control.js"
import type {
  ChildrenLive,
  Command,
  ControlConflict,
  HasParent,
  NoSuchExecution,
  WrongStatus
} from "../../ControlError.js"
import type { Execution, ExecutionSummary, Status } from "../../Execution.js"
import type { ExecutionFilter, ExecutionStore } from "../../ExecutionStore.js"
import type { StoreError, StoreRejected } from "../../StoreError.js"
import { rejected } from "../codec/validate.js"
import { purgeable } from "./purgeTree.js"

/**
 * Which executions a command is for, where a query selects them.
 *
 * - `statuses`: those in which it changes something.
 * - `withParents`: whether it changes whole trees, so that a child is left to its parent where that is selected too.
 * - `settled`: the status that it leaves an execution in whose children are its own affair from then on.
 */
export interface Selection {
  readonly command: Command
  readonly statuses: ReadonlyArray<Status>
  readonly withParents: boolean
  readonly rootsOnly: boolean
  readonly settled?: Status | undefined
}

const tree = { withParents: true, rootsOnly: false }

/** What each command is for; purging with failed executions, or without. */
export const selections = (failed = false): { readonly [command in Command]: Selection } => ({
  suspend: { ...tree, command: "suspend", statuses: ["PENDING", "RUNNING"] },
  resume: { ...tree, command: "resume", statuses: ["SUSPENDED"] },
  cancel: {
    ...tree,
    command: "cancel",
    statuses: ["PENDING", "RUNNING", "SUSPENDED", "FAILED"],
    settled: "CANCELLING"
  },
  terminate: {
    ...tree,
    command: "terminate",
    statuses: ["PENDING", "RUNNING", "SUSPENDED", "CANCELLING", "FAILED"]
  },
  redrive: { command: "redrive", statuses: ["FAILED"], withParents: false, rootsOnly: false },
  purge: { command: "purge", statuses: purgeable(failed), withParents: true, rootsOnly: true }
})

/** What a filter selects for a command; a status that the command is not for is refused. */
const narrowed = (
  { command, rootsOnly, statuses }: Selection,
  filter: ExecutionFilter
): Effect.Effect<ExecutionFilter & { readonly status: ReadonlyArray<Status> }, StoreRejected> => {
  const status = filter.status ?? statuses
  const wrong = status.filter((one) => !statuses.includes(one))
  return wrong.length > 0
    ? rejected({ operation: command }, "status", `is for ${statuses.join(" or ")}, and not for ${wrong.join(" or ")}`)
    : Effect.succeed({ ...filter, status, rootsOnly: rootsOnly || filter.rootsOnly === true })
}

/** Whether an execution is selected, or was before the command came to it. */
const isSelected = (
  store: ExecutionStore,
  { settled }: Selection,
  filter: ExecutionFilter & { readonly status: ReadonlyArray<Status> },
  { definitionId, definitionVersion, id, parentId, status }: Execution
): Effect.Effect<boolean, StoreError> => {
  const { attributes = {} } = filter
  const fits =
    (filter.status.includes(status) || status === settled) &&
    (filter.definitionId === undefined || filter.definitionId === definitionId) &&
    (filter.definitionVersion === undefined || filter.definitionVersion === definitionVersion) &&
    (filter.parentId === undefined || filter.parentId === parentId) &&
    (filter.rootsOnly !== true || parentId === null) &&
    id.startsWith(filter.idPrefix ?? "")
  const sought = Object.entries(attributes)
  if (!fits || sought.length === 0) return Effect.succeed(fits)
  return Effect.map(store.attributes.of(id), (has) => sought.every(([name, value]) => has[name] === value))
}

/**
 * Without those whose parent is selected too: they are changed with it, and side by side the two would be in each other's way. A parent that
 * does not decode is not changed.
 */
const withoutChildren = (
  store: ExecutionStore,
  selection: Selection,
  filter: ExecutionFilter & { readonly status: ReadonlyArray<Status> },
  items: ReadonlyArray<ExecutionSummary>
): Effect.Effect<ReadonlyArray<ExecutionSummary>, StoreError> =>
  Effect.gen(function* () {
    if (!selection.withParents) return items
    const parents = new Map(items.map(({ id }) => [id, true]))
    const left: Array<ExecutionSummary> = []
    for (const item of items) {
      const { parentId } = item
      if (parentId !== null && !parents.has(parentId)) {
        const found = yield* Effect.catchTag(store.load(parentId), "StoreCorrupt", () => Effect.succeedNone)
        const known = Option.isSome(found) && (yield* isSelected(store, selection, filter, found.value))
        parents.set(parentId, known)
      }
      if (parentId === null || parents.get(parentId) !== true) left.push(item)
    }
    return left
  })

/** A command on one execution. */
export type Applied = Effect.Effect<
  Report,
  NoSuchExecution | WrongStatus | ChildrenLive | HasParent | ControlConflict | StoreError
>

/** What became of one: it was changed, or there was nothing to change any more, or it could not be. */
export type Outcome = Either.Either<Report, BulkFailure["error"]>

const nothing: Report = { changed: [], corrupt: [] }

/** Runs a command on an execution that was selected: it may have moved on since, or have been changed with another. */
export const outcome = (applied: Applied): Effect.Effect<Outcome, StoreError> =>
  applied.pipe(
    Effect.map((report): Outcome => {
      const [broken] = report.corrupt
      return broken === undefined ? Either.right(report) : Either.left(broken)
    }),
    Effect.catchTags({
      NoSuchExecution: () => Effect.succeed<Outcome>(Either.right(nothing)),
      WrongStatus: () => Effect.succeed<Outcome>(Either.right(nothing)),
      HasParent: () => Effect.succeed<Outcome>(Either.right(nothing)),
      ChildrenLive: (error) => Effect.succeed<Outcome>(Either.left(error)),
      ControlConflict: (error) => Effect.succeed<Outcome>(Either.left(error)),
      StoreCorrupt: (error) => Effect.succeed<Outcome>(Either.left(error))
    })
  )

/** How many are changed side by side: a store that shares transactions serves them together. */
const together = 8

const page = (
  store: ExecutionStore,
  selection: Selection,
  filter: ExecutionFilter,
  { cursor, dryRun = false, limit }: BulkOptions,
  apply: (id: string) => Applied
): Effect.Effect<BulkPage, StoreError> =>
  Effect.gen(function* () {
    const selected = yield* narrowed(selection, filter)
    const listed = yield* store.listExecutions({ ...selected, cursor, limit })
    const items = yield* withoutChildren(store, selection, selected, listed.items)
    const outcomes = dryRun
      ? []
      : yield* Effect.forEach(items, ({ id }) => Effect.map(outcome(apply(id)), (one) => [id, one] as const), {
          concurrency: together
        })
    const changed: Array<BulkPage["changed"][number]> = []
    const unchanged: Array<string> = []
    const failed: Array<BulkFailure> = []
    for (const [executionId, one] of outcomes) {
      if (Either.isLeft(one)) failed.push({ executionId, error: one.left })
      else if (one.right.changed.length === 0) unchanged.push(executionId)
      else changed.push({ executionId, changed: one.right.changed })
    }
    const { corrupt, nextCursor } = listed
    return { selected: items, changed, unchanged, failed, corrupt, nextCursor }
  })

/** Runs a command on all that a filter selects, page after page, each when it is asked for. */
export const stream = (
  store: ExecutionStore,
  selection: Selection,
  filter: ExecutionFilter,
  options: BulkOptions,
  apply: (id: string) => Applied
): Stream.Stream<BulkPage, StoreError> =>
  Stream.paginateEffect(options.cursor, (cursor) =>
    Effect.map(page(store, selection, filter, { ...options, cursor }, apply), (done) => [
      done,
      Option.map(done.nextCursor, (next): string | undefined => next)
    ])
  )
