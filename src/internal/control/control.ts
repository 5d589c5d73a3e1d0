import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import { type Commit, originOfCommand, type TraceStep, traceStep } from "../../Commit.js"
import type { CancelOptions, Control, Options } from "../../Control.js"
import { ChildrenLive, type Command, type ControlConflict, NoSuchExecution, WrongStatus } from "../../ControlError.js"
import * as Event from "../../Event.js"
import type { Execution, Status } from "../../Execution.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { JsonObject } from "../../Json.js"
import type { StoreCorrupt, StoreError } from "../../StoreError.js"
import { untilApplied } from "./conflictRetry.js"
import * as executionTree from "./executionTree.js"
import * as purgeTree from "./purgeTree.js"

/** What an execution was before it was suspended, where that was not `RUNNING`; other readers of the format pass over it. */
const suspendedFrom = "suspended_from"

const defaultConflictRetry = Schedule.exponential("5 millis").pipe(
  Schedule.jittered,
  Schedule.intersect(Schedule.recurs(9))
)

/** What a command makes of an execution. */
interface Change {
  readonly execution: Execution
  readonly commit?: Commit
  readonly data?: JsonObject
}

/** The change of an execution, or nothing where it is as it should be. */
type Decide<E> = (execution: Execution) => Effect.Effect<Change | undefined, E>

/** What a command has done so far. */
class Progress {
  readonly changed = new Set<string>()
  readonly corrupt = new Map<string, StoreCorrupt>()

  readonly add = (row: StoreCorrupt): void => void this.corrupt.set(row.key, row)

  report() {
    return { changed: Array.from(this.changed), corrupt: Array.from(this.corrupt.values()) }
  }
}

const without = (extra: JsonObject, key: string): JsonObject =>
  Object.fromEntries(Object.entries(extra).filter(([name]) => name !== key))

const suspended = (execution: Execution): Change => {
  const extra = without(execution.extra, suspendedFrom)
  const from = execution.status === "RUNNING" ? undefined : { [suspendedFrom]: execution.status }
  return { execution: { ...execution, status: "SUSPENDED", extra: { ...extra, ...from } } }
}

const resumed = (execution: Execution): Change => ({
  execution: {
    ...execution,
    status: execution.extra[suspendedFrom] === "PENDING" ? "PENDING" : "RUNNING",
    extra: without(execution.extra, suspendedFrom)
  }
})

const ended = (execution: Execution, status: "CANCELLED" | "CANCELLING"): Execution => ({
  ...execution,
  status,
  extra: without(execution.extra, suspendedFrom)
})

const terminated = (execution: Execution): Change => ({ execution: ended(execution, "CANCELLED") })

/** Whether there may be something to clean up. */
const isStarted = ({ activePath, processedEvents, status }: Execution): boolean =>
  status === "RUNNING" || activePath !== null || processedEvents > 0

const step = (command: Command, before: Execution, { data = {}, execution }: Change, timestamp: number): TraceStep =>
  traceStep({
    eventKind: "Control",
    eventData: { ...data, command, from_status: before.status, to_status: execution.status },
    fromPath: before.activePath,
    toPath: execution.activePath,
    contextOut: execution.context,
    timestamp
  })

const runnable: ReadonlyArray<Status> = ["PENDING", "RUNNING"]
/** These hear of their children; one that is being cancelled hears of its cancellation alone. */
const listening: ReadonlyArray<Status> = [...runnable, "SUSPENDED"]
const live: ReadonlyArray<Status> = [...listening, "CANCELLING"]
const unfinished: ReadonlyArray<Status> = [...live, "FAILED"]

/** A change for executions in one of these statuses; those in others are left as they are. */
const where =
  (expected: ReadonlyArray<Status>, change: (execution: Execution) => Change): Decide<never> =>
  (execution) =>
    Effect.succeed(expected.includes(execution.status) ? change(execution) : undefined)

/** {@link where}, for the execution that a command names: a failure where it is in none of these, nor in one of `fine`. */
const strictly =
  <E>(
    command: Command,
    expected: ReadonlyArray<Status>,
    fine: ReadonlyArray<Status>,
    decide: Decide<E>
  ): Decide<E | WrongStatus> =>
  (execution) => {
    const { id, status } = execution
    return expected.includes(status) || fine.includes(status)
      ? decide(execution)
      : new WrongStatus({ command, executionId: id, status, expected })
  }

/** @internal */
export const make = (options: Options = {}): Effect.Effect<Control, never, ExecutionStore> =>
  Effect.map(ExecutionStore, (store): Control => {
    const retrying = untilApplied(options.conflictRetry ?? defaultConflictRetry)

    /** Changes one execution; gives whether there was anything to change. */
    const change = <E>(progress: Progress, command: Command, executionId: string, decide: Decide<E>) =>
      retrying(
        { command, executionId },
        Effect.gen(function* () {
          const found = yield* store.load(executionId)
          if (Option.isNone(found)) return yield* new NoSuchExecution({ command, executionId })
          const before = found.value
          const change = yield* decide(before)
          if (change === undefined) return false
          const trace = step(command, before, change, (yield* Clock.currentTimeMillis) / 1000)
          yield* store.commit(change.execution, { ...change.commit, trace, origin: originOfCommand(before, command) })
          progress.changed.add(executionId)
          return true
        })
      )

    /** {@link change} of one that the command does not name: it may be gone meanwhile, and it may not decode. */
    const changeOther = (progress: Progress, command: Command, executionId: string, decide: Decide<never>) =>
      change(progress, command, executionId, decide).pipe(
        Effect.catchTags({
          NoSuchExecution: () => Effect.succeed(false),
          StoreCorrupt: (row) =>
            Effect.as(
              Effect.sync(() => progress.add(row)),
              false
            )
        })
      )

    const reporting = <E>(run: (progress: Progress) => Effect.Effect<unknown, E>) =>
      Effect.suspend(() => {
        const progress = new Progress()
        return Effect.map(run(progress), () => progress.report())
      })

    /** Walks what is below an execution, again until there is nothing to change: children may be created meanwhile. */
    const changeBelow = (
      progress: Progress,
      executionId: string,
      visit: (id: string) => Effect.Effect<boolean, ControlConflict | StoreError>
    ) =>
      Effect.gen(function* () {
        let changed: boolean
        do {
          changed = false
          yield* executionTree.walk(store, executionId, {
            order: "before",
            corrupt: progress.add,
            visit: (id) =>
              Effect.map(visit(id), (did) => {
                changed ||= did
              })
          })
        } while (changed)
      })

    /** Ends those below an execution, and what it and they have asked to be created. */
    const terminateBelow = (progress: Progress, command: Command, executionId: string) =>
      Effect.zipRight(
        dropSpawns(executionId),
        changeBelow(progress, executionId, (id) =>
          Effect.zipLeft(changeOther(progress, command, id, where(unfinished, terminated)), dropSpawns(id))
        )
      )

    const dropSpawns = (executionId: string) =>
      Effect.flatMap(store.spawns.isParent(executionId), (any) => (any ? store.spawns.drop(executionId) : Effect.void))

    const terminateOther = (progress: Progress, command: Command, executionId: string) =>
      Effect.zipRight(
        changeOther(progress, command, executionId, where(unfinished, terminated)),
        terminateBelow(progress, command, executionId)
      )

    /** Its parent waits for it to finish, and nobody else would say that it did. */
    const terminatedAlone = (execution: Execution) =>
      Effect.gen(function* () {
        const { id, parentId } = execution
        const change = terminated(execution)
        if (parentId === null) return change
        const parent = yield* store.load(parentId)
        if (!Option.exists(parent, ({ status }) => listening.includes(status))) return change
        const data = { child_id: id, outcome: "cancelled" }
        // One that is created again under this id must be able to finish again.
        const eventId = `finished:${id}:${execution.createdAt ?? 0}:${execution.version}`
        const event = Event.make({ id: eventId, kind: Event.WellKnownKind.Finished, data })
        return { ...change, commit: { emits: [{ targetId: parentId, event }] } }
      })

    const asked = (execution: Execution, reason: JsonObject): Change => {
      const id = `cancel:${execution.id}:${execution.version}`
      const event = Event.make({ id, kind: Event.WellKnownKind.Cancel, data: reason })
      return {
        execution: ended(execution, "CANCELLING"),
        commit: { emits: [{ targetId: execution.id, event }] },
        data: { reason }
      }
    }

    /** Cancels one execution, whose status `check` has accepted, and then its children as they were before. */
    const cancelTree = <E>(
      progress: Progress,
      executionId: string,
      { children = "terminate", reason = {} }: CancelOptions,
      check: (decide: Decide<StoreError>) => Decide<E | StoreError>
    ): Effect.Effect<void, E | NoSuchExecution | ControlConflict | StoreError> =>
      Effect.gen(function* () {
        // What its clean-up creates comes later, and is left alone.
        let before: {
          readonly ids: ReadonlyArray<string>
          readonly spawns: ReadonlyArray<executionTree.PendingSpawn>
        } = {
          ids: [],
          spawns: []
        }
        let forceful = false
        yield* change(
          progress,
          "cancel",
          executionId,
          check((execution) =>
            Effect.gen(function* () {
              const { status } = execution
              // It has been asked already, and what is below it now may be its clean-up.
              if (status === "CANCELLING" || status === "CANCELLED") return undefined
              forceful = status === "FAILED" || (status !== "DONE" && !isStarted(execution))
              if (forceful) return yield* terminatedAlone(execution)
              before = yield* executionTree.childIds(store, executionId)
              return status === "DONE" ? undefined : asked(execution, reason)
            })
          )
        )
        if (forceful) return yield* terminateBelow(progress, "cancel", executionId)
        yield* Effect.forEach(before.spawns, ({ seq }) => store.ackSpawn(seq), { discard: true })
        // One of the spawns may have been carried out before it was removed.
        const ids = new Set([...before.ids, ...before.spawns.map(({ childId }) => childId)])
        yield* Effect.forEach(
          ids,
          (id) =>
            children === "terminate"
              ? terminateOther(progress, "cancel", id)
              : cancelTree(progress, id, { children, reason }, (decide) => decide).pipe(
                  Effect.catchTags({
                    NoSuchExecution: () => Effect.void,
                    StoreCorrupt: (row) => Effect.sync(() => progress.add(row))
                  })
                ),
          { discard: true }
        )
      })

    return {
      suspend: (executionId) =>
        reporting((progress) => {
          const decide = where(runnable, suspended)
          return Effect.zipRight(
            change(progress, "suspend", executionId, strictly("suspend", runnable, ["SUSPENDED"], decide)),
            changeBelow(progress, executionId, (id) => changeOther(progress, "suspend", id, decide))
          )
        }),

      resume: (executionId) =>
        reporting((progress) =>
          Effect.gen(function* () {
            const decide = where(["SUSPENDED"], resumed)
            const checked = strictly("resume", ["SUSPENDED"], [], decide)
            const found = yield* store.load(executionId)
            if (Option.isNone(found)) return yield* new NoSuchExecution({ command: "resume", executionId })
            yield* checked(found.value)
            // It comes last: as long as it is suspended the command can be repeated.
            yield* executionTree.walk(store, executionId, {
              order: "after",
              corrupt: progress.add,
              visit: (id) => changeOther(progress, "resume", id, decide)
            })
            yield* change(progress, "resume", executionId, checked)
          })
        ),

      cancel: (executionId, options = {}) =>
        reporting((progress) =>
          cancelTree(progress, executionId, options, (decide) => (execution) => {
            const { status } = execution
            return status === "DONE"
              ? new WrongStatus({ command: "cancel", executionId, status, expected: unfinished })
              : decide(execution)
          })
        ),

      terminate: (executionId) =>
        reporting((progress) =>
          Effect.zipRight(
            change(
              progress,
              "terminate",
              executionId,
              strictly("terminate", unfinished, ["CANCELLED"], (execution) =>
                execution.status === "CANCELLED" ? Effect.succeed(undefined) : terminatedAlone(execution)
              )
            ),
            terminateBelow(progress, "terminate", executionId)
          )
        ),

      redrive: (executionId, { activePath, event } = {}) =>
        reporting((progress) =>
          change(progress, "redrive", executionId, (execution) =>
            Effect.gen(function* () {
              const { status } = execution
              if (status !== "FAILED") {
                return yield* new WrongStatus({ command: "redrive", executionId, status, expected: ["FAILED"] })
              }
              const redriven = { ...execution, status: "RUNNING" as const, error: null }
              const commit = event === undefined ? {} : { emits: [{ targetId: executionId, event }] }
              if (activePath === undefined) return { execution: redriven, commit }
              const known = Object.entries(execution.children).flatMap(([id, child]) => (child.finished ? [] : [id]))
              const { items } = yield* store.listExecutions({ parentId: executionId, status: live, limit: 10 })
              const lost = Array.from(new Set([...known, ...items.map(({ id }) => id)]))
              if (lost.length > 0) {
                return yield* new ChildrenLive({ command: "redrive", executionId, live: lost })
              }
              return { execution: { ...redriven, activePath, history: {} }, commit }
            })
          )
        ),

      purge: (executionId, options = {}) =>
        reporting((progress) =>
          retrying(
            { command: "purge", executionId },
            purgeTree.purgeTree(store, executionId, {
              accepts: ({ status }) =>
                status === "DONE" || status === "CANCELLED" || (options.failed === true && status === "FAILED"),
              removed: (id) => void progress.changed.add(id)
            })
          )
        )
    }
  })
