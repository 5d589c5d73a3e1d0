import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { type Control, make as makeControl, type Report } from "../../Control.js"
import type { ExecutionSummary, Status } from "../../Execution.js"
import { ExecutionStore, type ListQuery } from "../../ExecutionStore.js"
import { type Failure, usage } from "../cli/failure.js"
import { findExecution } from "../cli/findExecution.js"
import * as format from "../cli/format.js"
import { common, type Filters, filters, flag, hasFilters, queryOf, value, withStore } from "../cli/options.js"
import { note, type Screen } from "../cli/screen.js"
import * as executionTree from "../control/executionTree.js"
import * as bulk from "./bulk.js"
import { columns } from "./executions.js"

/** A command of the control plane, as it is given from a shell. */
interface Steering {
  readonly verb: keyof Control
  /** The statuses that it changes something in. */
  readonly statuses: ReadonlyArray<Status>
  /** Whether it is for whole trees, which only their roots stand for. */
  readonly rootsOnly: boolean
  readonly apply: Apply
}

type Apply = (control: Control, id: string) => Effect.Effect<Report, Failure>

const queryFor = ({ rootsOnly, statuses, verb }: Steering, filters: Filters): Effect.Effect<ListQuery, Failure> =>
  Effect.flatMap(queryOf(filters), (query) => {
    const asked = query.status ?? statuses
    const wrong = asked.filter((status) => !statuses.includes(status))
    return wrong.length > 0
      ? usage(`${verb} is not for executions that are ${wrong.join(" or ")}, but for ${statuses.join(" or ")}`)
      : Effect.succeed({ ...query, status: asked, rootsOnly: rootsOnly || query.rootsOnly === true, limit: 1000 })
  })

/** All that a query selects, before any of it is changed. */
const selectedBy = (store: ExecutionStore, query: ListQuery) =>
  Effect.gen(function* () {
    const found: Array<ExecutionSummary> = []
    yield* executionTree.forEachPage(store, query, ({ corrupt, items }) => {
      found.push(...items)
      return Effect.forEach(corrupt, (row) => note(row.message), { discard: true })
    })
    return found
  })

const below = (changed: ReadonlyArray<string>, id: string): string => {
  const count = changed.filter((each) => each !== id).length
  return count === 0 ? "" : ` and ${count} below it`
}

type Outcome = Effect.Effect<bulk.Outcome, Failure>

/** How executions were selected, which says what it means where one of them cannot be changed. */
type Mode = "single" | "named" | "filtered"

const failed = (error: { readonly message: string }): Outcome =>
  Effect.succeed({ _tag: "Failed", message: error.message })

// What was selected by a query may have moved on since, or been changed with its parent.
const unchanged = (): Outcome => Effect.succeed({ _tag: "Unchanged" })

const outcomeOf = (apply: Apply, mode: Mode, id: string, control: Control): Outcome => {
  const applied = Effect.map(apply(control, id), ({ changed, corrupt }): bulk.Outcome => {
    const [broken] = corrupt
    if (broken !== undefined) return { _tag: "Failed", message: broken.message }
    return changed.length === 0
      ? { _tag: "Unchanged" }
      : { _tag: "Changed", value: { id, changed }, shown: `${id}${below(changed, id)}` }
  })
  if (mode === "single") return applied
  const moved = mode === "filtered" ? unchanged : failed
  return Effect.catchTags(applied, {
    NoSuchExecution: moved,
    WrongStatus: moved,
    HasParent: moved,
    ChildrenLive: failed,
    ControlConflict: failed,
    StoreCorrupt: failed
  })
}

const ids = Args.repeated(Args.text({ name: "id" })).pipe(
  Args.withDescription("the ids of executions, or none and filters")
)

const options = { ...common, ...filters, ...bulk.bulkOptions, ids }

type Options = Filters &
  bulk.BulkOptions & {
    readonly store: Option.Option<string>
    readonly prefix: Option.Option<string>
    readonly ids: ReadonlyArray<string>
  }

/** Without those whose parent is changed too: they are below it, and side by side the two would be in each other's way. */
const withoutChildren = (found: ReadonlyArray<ExecutionSummary>): ReadonlyArray<ExecutionSummary> => {
  const ids = new Set(found.map(({ id }) => id))
  return found.filter(({ parentId }) => parentId === null || !ids.has(parentId))
}

interface Found {
  readonly mode: Mode
  readonly targets: ReadonlyArray<ExecutionSummary>
}

const summaryOf = ({
  activePath,
  definitionId,
  finishedAt,
  id,
  outcome,
  parentId,
  status,
  version
}: ExecutionSummary): ExecutionSummary => ({
  id,
  definitionId,
  status,
  outcome,
  activePath,
  version,
  parentId,
  finishedAt
})

const find = (store: ExecutionStore, steering: Steering, options: Options): Effect.Effect<Found, Failure, Screen> =>
  Effect.gen(function* () {
    const selection = yield* bulk.selectionOf(steering.verb, options.ids, hasFilters(options), options.all)
    if (selection._tag === "Filtered") {
      const query = yield* queryFor(steering, options)
      const found = yield* selectedBy(store, query)
      return { mode: "filtered", targets: steering.verb === "redrive" ? found : withoutChildren(found) }
    }
    const found = yield* Effect.forEach(selection.ids, (id) => findExecution(store, id))
    return { mode: found.length === 1 ? "single" : "named", targets: found.map(summaryOf) }
  })

const steer = (steering: Steering, options: Options) =>
  withStore(options, options["dry-run"] ? "read" : "write", ({ store }) =>
    Effect.gen(function* () {
      const control = yield* Effect.provideService(makeControl(), ExecutionStore, store)
      const { mode, targets } = yield* find(store, steering, options)
      const { verb } = steering
      const all = `${verb} ${format.many(targets.length, "execution")}${verb === "redrive" ? "" : ", and all below"}?`
      yield* bulk.run(
        {
          verb,
          noun: "execution",
          question: mode === "single" ? undefined : all,
          targets,
          columns,
          apply: ({ id }) => outcomeOf(steering.apply, mode, id, control)
        },
        options
      )
    })
  )

const reason = value("reason")

/** A text, as what the control plane keeps. */
const reasonOf = (text: Option.Option<string>) => Option.getOrUndefined(Option.map(text, (text) => ({ text })))

const suspend = Command.make("suspend", { ...options, reason }, (options) =>
  steer(
    {
      verb: "suspend",
      statuses: ["PENDING", "RUNNING"],
      rootsOnly: false,
      apply: (control, id) => control.suspend(id, { reason: reasonOf(options.reason) })
    },
    options
  )
).pipe(Command.withDescription("Stops executions, and all below them, from taking events."))

const resume = Command.make("resume", { ...options, reason }, (options) =>
  steer(
    {
      verb: "resume",
      statuses: ["SUSPENDED"],
      rootsOnly: false,
      apply: (control, id) => control.resume(id, { reason: reasonOf(options.reason) })
    },
    options
  )
).pipe(Command.withDescription("Lets suspended executions, and those below them, go on."))

const cancel = Command.make("cancel", { ...options, reason, "with-children": flag("with-children") }, (options) =>
  steer(
    {
      verb: "cancel",
      statuses: ["PENDING", "RUNNING", "SUSPENDED", "FAILED"],
      rootsOnly: false,
      apply: (control, id) =>
        control.cancel(id, {
          reason: reasonOf(options.reason),
          children: options["with-children"] ? "cancel" : "terminate"
        })
    },
    options
  )
).pipe(Command.withDescription("Asks executions to clean up and end."))

const terminate = Command.make("terminate", { ...options, reason }, (options) =>
  steer(
    {
      verb: "terminate",
      statuses: ["PENDING", "RUNNING", "SUSPENDED", "CANCELLING", "FAILED"],
      rootsOnly: false,
      apply: (control, id) => control.terminate(id, { reason: reasonOf(options.reason) })
    },
    options
  )
).pipe(Command.withDescription("Ends executions, and all below them, at once and without clean-up."))

const redrive = Command.make("redrive", { ...options, reason, at: value("at") }, (options) =>
  steer(
    {
      verb: "redrive",
      statuses: ["FAILED"],
      rootsOnly: false,
      apply: (control, id) =>
        control.redrive(id, { reason: reasonOf(options.reason), activePath: Option.getOrUndefined(options.at) })
    },
    options
  )
).pipe(Command.withDescription("Puts failed executions back to work."))

const purge = Command.make("purge", { ...options, failed: flag("failed") }, (options) =>
  steer(
    {
      verb: "purge",
      statuses: options.failed ? ["DONE", "CANCELLED", "FAILED"] : ["DONE", "CANCELLED"],
      rootsOnly: true,
      apply: (control, id) => control.purge(id, { failed: options.failed })
    },
    options
  )
).pipe(Command.withDescription("Removes finished executions and all below them, with everything that is kept of them."))

export const commands = [suspend, resume, cancel, terminate, redrive, purge] as const
