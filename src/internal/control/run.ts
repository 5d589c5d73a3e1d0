import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Schedule from "effect/Schedule"
import { originOfCommand } from "../../Commit.js"
import type { ReasonOptions, Report } from "../../Control.js"
import { type Command, type ControlConflict, NoSuchExecution } from "../../ControlError.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import type { JsonObject } from "../../Json.js"
import type { StoreConflict, StoreCorrupt, StoreError } from "../../StoreError.js"
import { type Decide, traceOf } from "./change.js"
import { untilApplied } from "./conflictRetry.js"
import * as executionTree from "./executionTree.js"

/** What commands run on. */
export interface Environment {
  readonly store: ExecutionStore
  readonly conflictRetry: Schedule.Schedule<unknown, StoreConflict>
}

/** One run of a command: what it runs on, and what it has done so far. */
export interface Run extends Environment {
  readonly command: Command
  readonly reason: JsonObject | undefined
  readonly changed: Set<string>
  readonly corrupt: Map<string, StoreCorrupt>
}

/** Runs a command, and reports what it did. */
export const reporting = <E>(
  environment: Environment,
  command: Command,
  options: ReasonOptions,
  body: (run: Run) => Effect.Effect<unknown, E>
): Effect.Effect<Report, E> =>
  Effect.suspend(() => {
    const run: Run = { ...environment, command, reason: options.reason, changed: new Set(), corrupt: new Map() }
    return Effect.map(body(run), () => ({
      changed: Array.from(run.changed),
      corrupt: Array.from(run.corrupt.values())
    }))
  })

export const addCorrupt = (run: Run, row: StoreCorrupt): void => void run.corrupt.set(row.key, row)

/** Runs what changes an execution again where another commit came first. */
export const retrying = <A, E>(
  { command, conflictRetry }: Run,
  executionId: string,
  effect: Effect.Effect<A, E | StoreConflict>
): Effect.Effect<A, E | ControlConflict> => untilApplied(conflictRetry)({ command, executionId }, effect)

/** Changes one execution; gives whether there was anything to change. */
export const change = <E>(
  run: Run,
  executionId: string,
  decide: Decide<E>
): Effect.Effect<boolean, E | NoSuchExecution | ControlConflict | StoreError> =>
  retrying(
    run,
    executionId,
    Effect.gen(function* () {
      const { command, store } = run
      const found = yield* store.load(executionId)
      if (Option.isNone(found)) return yield* new NoSuchExecution({ command, executionId })
      const before = found.value
      const change = yield* decide(before)
      if (change === undefined) return false
      const trace = traceOf(run, before, change, (yield* Clock.currentTimeMillis) / 1000)
      yield* store.commit(change.execution, { ...change.commit, trace, origin: originOfCommand(before, command) })
      run.changed.add(executionId)
      return true
    })
  )

/** {@link change} of one that the command does not name: it may be gone meanwhile, and it may not decode. */
export const changeOther = (
  run: Run,
  executionId: string,
  decide: Decide<never>
): Effect.Effect<boolean, ControlConflict | StoreError> =>
  change(run, executionId, decide).pipe(
    Effect.catchTags({
      NoSuchExecution: () => Effect.succeed(false),
      StoreCorrupt: (row) => {
        addCorrupt(run, row)
        return Effect.succeed(false)
      }
    })
  )

/** Walks what is below an execution, again until there is nothing to change: children may be created meanwhile. */
export const changeBelow = (
  run: Run,
  executionId: string,
  visit: (id: string) => Effect.Effect<boolean, ControlConflict | StoreError>
): Effect.Effect<void, ControlConflict | StoreError> =>
  Effect.gen(function* () {
    let changed: boolean
    do {
      changed = false
      yield* executionTree.walk(run.store, executionId, {
        order: "before",
        corrupt: (row) => addCorrupt(run, row),
        visit: (id) =>
          Effect.map(visit(id), (did) => {
            changed ||= did
          })
      })
    } while (changed)
  })
