import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { TraceEntry } from "../../Commit.js"
import type { Attributes, Execution, ExecutionSummary } from "../../Execution.js"
import type { ExecutionStore, ListQuery } from "../../ExecutionStore.js"
import type { StoreError } from "../../StoreError.js"
import { findExecution } from "../cli/findExecution.js"
import * as format from "../cli/format.js"
import { toPretty, toText } from "../cli/json.js"
import { common, filters, flag, limitOf, queryOf, value, withStore } from "../cli/options.js"
import { note, Screen } from "../cli/screen.js"
import * as table from "../cli/table.js"
import { printable } from "../util/printable.js"

const definitionOf = ({
  definitionId,
  definitionVersion
}: Pick<ExecutionSummary, "definitionId" | "definitionVersion">): string =>
  definitionVersion === 1 ? definitionId : `${definitionId}, version ${definitionVersion}`

export const columns: ReadonlyArray<table.Column<ExecutionSummary>> = [
  { name: "id", show: ({ id }) => id },
  { name: "definition", show: (execution) => definitionOf(execution) },
  { name: "status", show: ({ status }) => status, color: ({ status }) => format.statusColor(status) },
  { name: "outcome", show: ({ outcome }) => format.text(outcome) },
  { name: "state", show: ({ activePath }) => format.text(activePath) },
  { name: "version", show: ({ version }) => String(version) },
  { name: "parent", show: ({ parentId }) => format.text(parentId) },
  { name: "finished", show: ({ finishedAt }) => format.time(finishedAt) }
]

/** Prints a page, and says how to see the next one. */
const printPage = (store: ExecutionStore, json: boolean, query: ListQuery, header: boolean) =>
  Effect.gen(function* () {
    const page = yield* store.listExecutions(query)
    yield* table.print(json, columns, page.items, header)
    yield* Effect.forEach(page.corrupt, (row) => note(row.message), { discard: true })
    return page.nextCursor
  })

const list = Command.make(
  "list",
  { ...common, ...filters, limit: value("limit"), cursor: value("cursor"), all: flag("all") },
  (options) =>
    withStore(options, "read", ({ store }) =>
      Effect.gen(function* () {
        const filter = yield* queryOf(options)
        const limit = options.all ? 1000 : yield* limitOf(options.limit)
        let cursor = Option.getOrUndefined(options.cursor)
        let header = true
        do {
          const next = yield* printPage(store, options.json, { ...filter, limit, cursor }, header)
          cursor = Option.getOrUndefined(next)
          header = false
        } while (options.all && cursor !== undefined)
        if (cursor !== undefined) yield* note(`there are more: give --cursor ${cursor}, or --all`)
      })
    )
).pipe(Command.withDescription("Lists executions, in the order of their ids."))

export const executionId = Args.text({ name: "id" }).pipe(Args.withDescription("the id of the execution"))

const fieldsOf = (execution: Execution, attributes: Attributes): ReadonlyArray<table.Field> => [
  { name: "id", value: execution.id, color: "bold" },
  { name: "definition", value: definitionOf(execution) },
  { name: "status", value: execution.status, color: format.statusColor(execution.status) },
  { name: "outcome", value: format.text(execution.outcome) },
  { name: "error", value: format.text(execution.error), color: execution.error === null ? undefined : "red" },
  { name: "state", value: format.text(execution.activePath) },
  { name: "version", value: String(execution.version) },
  { name: "priority", value: String(execution.priority) },
  { name: "parent", value: format.text(execution.parentId) },
  { name: "events", value: `${execution.processedEvents} consumed, ${execution.deferred.length} deferred` },
  { name: "created", value: format.time(execution.createdAt) },
  { name: "updated", value: format.time(execution.updatedAt) },
  { name: "finished", value: format.time(execution.finishedAt) },
  { name: "expires", value: format.time(execution.expiresAt) },
  { name: "attributes", value: toPretty(attributes) },
  { name: "children", value: toPretty(execution.children) },
  { name: "result", value: toPretty(execution.result) },
  { name: "context", value: toPretty(execution.context) }
]

const show = Command.make("show", { ...common, id: executionId }, (options) =>
  withStore(options, "read", ({ store }) =>
    Effect.gen(function* () {
      const execution = yield* findExecution(store, options.id)
      const attributes = yield* store.attributes.of(execution.id)
      yield* table.printOne(options.json, { ...execution, attributes }, fieldsOf(execution, attributes))
    })
  )
).pipe(Command.withDescription("Shows an execution, with its context and its result."))

const traceColumns: ReadonlyArray<table.Column<TraceEntry>> = [
  { name: "step", show: ({ index }) => String(index) },
  { name: "time", show: ({ timestamp }) => format.time(timestamp) },
  {
    name: "event",
    show: ({ eventKind }) => eventKind,
    color: ({ eventKind }) => (eventKind === "Control" ? "yellow" : undefined)
  },
  { name: "from", show: ({ fromPath }) => format.text(fromPath) },
  { name: "to", show: ({ toPath }) => format.text(toPath) },
  { name: "actions", show: ({ actions }) => (actions.length === 0 ? format.nothing : actions.join(", ")) },
  {
    name: "data",
    show: ({ eventData }) => JSON.stringify(eventData, (_, each) => (typeof each === "bigint" ? String(each) : each))
  }
]

const trace = Command.make("trace", { ...common, id: executionId }, (options) =>
  withStore(options, "read", ({ store }) =>
    Effect.gen(function* () {
      const { corrupt, entries } = yield* store.readTrace(options.id)
      // A trace may outlive what it tells of, and an execution may have none.
      if (entries.length + corrupt.length === 0) yield* findExecution(store, options.id)
      yield* table.print(options.json, traceColumns, entries)
      yield* Effect.forEach(corrupt, (row) => note(row.message), { discard: true })
    })
  )
).pipe(Command.withDescription("Shows the steps of an execution that are kept, oldest first."))

/** An execution of a tree, and how far below the root it is. */
interface Member {
  readonly depth: number
  readonly execution: ExecutionSummary
}

const children = (
  store: ExecutionStore,
  parentId: string
): Effect.Effect<ReadonlyArray<ExecutionSummary>, StoreError> =>
  Effect.gen(function* () {
    const found: Array<ExecutionSummary> = []
    let cursor: string | undefined
    do {
      const page = yield* store.listExecutions({ parentId, limit: 1000, cursor })
      found.push(...page.items)
      cursor = Option.getOrUndefined(page.nextCursor)
    } while (cursor !== undefined)
    return found
  })

/** All below an execution, each behind its parent. A program may have written a circle of parents. */
const walk = <E, R>(
  store: ExecutionStore,
  root: ExecutionSummary,
  visit: (member: Member) => Effect.Effect<void, E, R>
): Effect.Effect<void, E | StoreError, R> =>
  Effect.gen(function* () {
    const seen = new Set<string>([root.id])
    const pending: Array<Member> = [{ depth: 0, execution: root }]
    for (let member = pending.pop(); member !== undefined; member = pending.pop()) {
      yield* visit(member)
      const depth = member.depth + 1
      const below = yield* children(store, member.execution.id)
      const fresh = below.filter(({ id }) => !seen.has(id))
      for (const { id } of fresh) seen.add(id)
      pending.push(...fresh.map((execution) => ({ depth, execution })).toReversed())
    }
  })

const tree = Command.make("tree", { ...common, id: executionId }, (options) =>
  withStore(options, "read", ({ store }) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      const root = yield* findExecution(store, options.id)
      yield* walk(store, root, ({ depth, execution }) => {
        const { activePath, definitionId, id, parentId, status } = execution
        if (options.json) {
          return Effect.flatMap(toText({ depth, id, definitionId, status, activePath, parentId }), screen.out)
        }
        const branch = depth === 0 ? "" : `${"  ".repeat(depth - 1)}└ `
        const shown = table.paint(screen.colors, status, format.statusColor(status))
        return screen.out(
          `${branch}${printable(id)}  ${printable(definitionId)}  ${shown}  ${printable(format.text(activePath))}`
        )
      })
    })
  )
).pipe(Command.withDescription("Shows an execution and all below it."))

export const commands = [list, show, trace, tree] as const
