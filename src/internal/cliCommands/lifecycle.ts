import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { type Control, make as makeControl, type Report } from "../../Control.js"
import type { Command as Command_ } from "../../ControlError.js"
import type { ExecutionSummary } from "../../Execution.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import { type Failure, usage } from "../cli/failure.js"
import { findExecution } from "../cli/findExecution.js"
import * as format from "../cli/format.js"
import { common, type Filters, filters, flag, hasFilters, queryOf, value, withStore } from "../cli/options.js"
import { note, type Screen } from "../cli/screen.js"
import { type Applied, outcome, selections } from "../control/many.js"
import * as bulk from "./bulk.js"
import { columns } from "./executions.js"

/** A command of the control plane, as it is given from a shell. */
interface Steering {
  readonly verb: Command_
  readonly apply: (control: Control, id: string) => Applied
  /** Failed executions too. */
  readonly failed?: boolean | undefined
}

/** All that filters select, before any of it is changed. */
const selectedBy = (control: Control, { failed, verb }: Steering, filters: Filters) =>
  Effect.gen(function* () {
    const query = yield* queryOf(filters)
    const { statuses } = selections(failed)[verb]
    const wrong = (query.status ?? []).filter((status) => !statuses.includes(status))
    if (wrong.length > 0) {
      return yield* usage(
        `${verb} is not for executions that are ${wrong.join(" or ")}, but for ${statuses.join(" or ")}`
      )
    }
    const found: Array<ExecutionSummary> = []
    const dry = { dryRun: true, limit: 1000 }
    const pages = verb === "purge" ? control.many.purge(query, { ...dry, failed }) : control.many[verb](query, dry)
    yield* Stream.runForEach(pages, ({ corrupt, selected }) => {
      found.push(...selected)
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

const failed = (error: { readonly message: string }): bulk.Outcome => ({ _tag: "Failed", message: error.message })

const done = (id: string, { changed, corrupt: [broken] }: Report): bulk.Outcome => {
  if (broken !== undefined) return failed(broken)
  return changed.length === 0
    ? { _tag: "Unchanged" }
    : { _tag: "Changed", value: { id, changed }, shown: `${id}${below(changed, id)}` }
}

const outcomeOf = (applied: Applied, mode: Mode, id: string): Outcome => {
  if (mode === "single") return Effect.map(applied, (report) => done(id, report))
  if (mode === "filtered") {
    return Effect.map(outcome(applied), Either.match({ onLeft: failed, onRight: (report) => done(id, report) }))
  }
  const told = (error: { readonly message: string }): Outcome => Effect.succeed(failed(error))
  return Effect.catchTags(
    Effect.map(applied, (report) => done(id, report)),
    {
      NoSuchExecution: told,
      WrongStatus: told,
      HasParent: told,
      ChildrenLive: told,
      ControlConflict: told,
      StoreCorrupt: told
    }
  )
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

interface Found {
  readonly mode: Mode
  readonly targets: ReadonlyArray<ExecutionSummary>
}

const summaryOf = ({
  activePath,
  definitionId,
  definitionVersion,
  finishedAt,
  id,
  outcome,
  parentId,
  status,
  version
}: ExecutionSummary): ExecutionSummary => ({
  id,
  definitionId,
  definitionVersion,
  status,
  outcome,
  activePath,
  version,
  parentId,
  finishedAt
})

const find = (
  store: ExecutionStore,
  control: Control,
  steering: Steering,
  options: Options
): Effect.Effect<Found, Failure, Screen> =>
  Effect.gen(function* () {
    const selection = yield* bulk.selectionOf(steering.verb, options.ids, hasFilters(options), options.all)
    if (selection._tag === "Filtered") {
      return { mode: "filtered", targets: yield* selectedBy(control, steering, options) }
    }
    const found = yield* Effect.forEach(selection.ids, (id) => findExecution(store, id))
    return { mode: found.length === 1 ? "single" : "named", targets: found.map(summaryOf) }
  })

const steer = (steering: Steering, options: Options) =>
  withStore(options, options["dry-run"] ? "read" : "write", ({ store }) =>
    Effect.gen(function* () {
      const control = yield* Effect.provideService(makeControl(), ExecutionStore, store)
      const { mode, targets } = yield* find(store, control, steering, options)
      const { verb } = steering
      const all = `${verb} ${format.many(targets.length, "execution")}${verb === "redrive" ? "" : ", and all below"}?`
      yield* bulk.run(
        {
          verb,
          noun: "execution",
          question: mode === "single" ? undefined : all,
          targets,
          columns,
          apply: ({ id }) => outcomeOf(steering.apply(control, id), mode, id)
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
      apply: (control, id) => control.suspend(id, { reason: reasonOf(options.reason) })
    },
    options
  )
).pipe(Command.withDescription("Stops executions, and all below them, from taking events."))

const resume = Command.make("resume", { ...options, reason }, (options) =>
  steer(
    {
      verb: "resume",
      apply: (control, id) => control.resume(id, { reason: reasonOf(options.reason) })
    },
    options
  )
).pipe(Command.withDescription("Lets suspended executions, and those below them, go on."))

const cancel = Command.make("cancel", { ...options, reason, "with-children": flag("with-children") }, (options) =>
  steer(
    {
      verb: "cancel",
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
      apply: (control, id) => control.terminate(id, { reason: reasonOf(options.reason) })
    },
    options
  )
).pipe(Command.withDescription("Ends executions, and all below them, at once and without clean-up."))

const redrive = Command.make("redrive", { ...options, reason, at: value("at") }, (options) =>
  steer(
    {
      verb: "redrive",
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
      failed: options.failed,
      apply: (control, id) => control.purge(id, { failed: options.failed })
    },
    options
  )
).pipe(Command.withDescription("Removes finished executions and all below them, with everything that is kept of them."))

export const commands = [suspend, resume, cancel, terminate, redrive, purge] as const
