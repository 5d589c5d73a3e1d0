import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { DeadLetter, Kind } from "../../DeadLetter.js"
import type { DeadLetterQuery, ExecutionStore } from "../../ExecutionStore.js"
import type { StoreError } from "../../StoreError.js"
import { type CliError, missing } from "../cli/failure.js"
import * as format from "../cli/format.js"
import { common, flag, limitOf, value, whole, withStore, wordOf } from "../cli/options.js"
import { note } from "../cli/screen.js"
import * as table from "../cli/table.js"
import * as bulk from "./bulk.js"

const kinds: ReadonlyArray<Kind> = ["Outbox", "Spawn", "Timer", "Activity"]

export const deadLetterFilters = { kind: value("kind"), execution: value("execution") }

export interface DeadLetterFilters {
  readonly kind: Option.Option<string>
  readonly execution: Option.Option<string>
}

export const deadLetterQuery = ({ execution, kind }: DeadLetterFilters): Effect.Effect<DeadLetterQuery, CliError> =>
  Effect.map(
    Effect.transposeMapOption(kind, (text) => wordOf("--kind", text, kinds)),
    (kind) => ({
      kind: Option.getOrUndefined(kind),
      executionId: Option.getOrUndefined(execution)
    })
  )

export const numberOf = (text: string): Effect.Effect<number, CliError> =>
  whole("the id", text, 1, Number.MAX_SAFE_INTEGER)

const columns: ReadonlyArray<table.Column<DeadLetter>> = [
  { name: "id", show: ({ id }) => String(id) },
  { name: "kind", show: ({ _tag }) => _tag },
  { name: "execution", show: ({ executionId }) => format.text(executionId) },
  { name: "reason", show: ({ reason }) => reason },
  { name: "attempts", show: ({ attempts }) => String(attempts) },
  { name: "died", show: ({ diedAt }) => format.time(diedAt) },
  { name: "error", show: ({ error }) => error, color: () => "red" }
]

const list = Command.make(
  "list",
  {
    ...common,
    ...deadLetterFilters,
    limit: value("limit"),
    cursor: value("cursor", "only those behind this id"),
    all: flag("all")
  },
  (options) =>
    withStore(options, "read", ({ store }) =>
      Effect.gen(function* () {
        const filter = yield* deadLetterQuery(options)
        const limit = options.all ? 1000 : yield* limitOf(options.limit)
        let after = Option.getOrUndefined(yield* Effect.transposeMapOption(options.cursor, numberOf))
        let header = true
        do {
          const { corrupt, entries, next } = yield* store.deadLetters.list({ ...filter, limit, after })
          yield* table.print(options.json, columns, entries, header)
          yield* Effect.forEach(corrupt, (row) => note(row.message), { discard: true })
          after = Option.getOrUndefined(next)
          header = false
        } while (options.all && after !== undefined)
        if (after !== undefined) yield* note(`there are more: give --cursor ${after}, or --all`)
      })
    )
).pipe(Command.withDescription("Lists the work that was given up."))

/** The dead letter of this id, and that there is none. */
export const findDeadLetter = (store: ExecutionStore, id: number): Effect.Effect<DeadLetter, CliError | StoreError> =>
  Effect.gen(function* () {
    const { corrupt, entries } = yield* store.deadLetters.list({ after: id - 1, limit: 1 })
    const [broken] = corrupt
    if (broken !== undefined && broken.key === String(id)) return yield* broken
    const [found] = entries
    return found?.id === id
      ? found
      : yield* missing(`there is no dead letter ${id}: holdfast dead-letter list shows them all`)
  })

const id = Args.text({ name: "id" }).pipe(Args.withDescription("the number of the dead letter"))

const show = Command.make("show", { ...common, id }, (options) =>
  withStore(options, "read", ({ store }) =>
    Effect.gen(function* () {
      const letter = yield* Effect.flatMap(numberOf(options.id), (id) => findDeadLetter(store, id))
      yield* table.printOne(options.json, letter, [
        { name: "id", value: String(letter.id), color: "bold" },
        { name: "kind", value: letter._tag },
        { name: "execution", value: format.text(letter.executionId) },
        { name: "reason", value: letter.reason },
        { name: "attempts", value: String(letter.attempts) },
        { name: "died", value: format.time(letter.diedAt) },
        { name: "error", value: letter.error, color: "red" },
        { name: "row", value: letter.text }
      ])
    })
  )
).pipe(Command.withDescription("Shows a dead letter, with what was in its row."))

const ids = Args.repeated(Args.text({ name: "id" })).pipe(
  Args.withDescription("the numbers of dead letters, or none and filters")
)

const options = { ...common, ...deadLetterFilters, ...bulk.bulkOptions, ids }

interface Options extends bulk.BulkOptions, DeadLetterFilters {
  readonly store: Option.Option<string>
  readonly prefix: Option.Option<string>
  readonly ids: ReadonlyArray<string>
}

type Target = Pick<DeadLetter, "id"> & { readonly letter: DeadLetter | undefined }

/** All that filters select, before any of it is changed. One that does not decode can be changed by its number. */
const selectedBy = (store: ExecutionStore, query: DeadLetterQuery) =>
  Effect.gen(function* () {
    const found: Array<Target> = []
    let after: number | undefined
    do {
      const page = yield* store.deadLetters.list({ ...query, limit: 1000, after })
      found.push(...page.entries.map((letter) => ({ id: letter.id, letter })))
      yield* Effect.forEach(page.corrupt, (row) => note(row.message), { discard: true })
      after = Option.getOrUndefined(page.next)
    } while (after !== undefined)
    return found
  })

const find = (verb: string, store: ExecutionStore, options: Options) =>
  Effect.gen(function* () {
    const filtered = Option.isSome(options.kind) || Option.isSome(options.execution)
    const selection = yield* bulk.selectionOf(verb, options.ids, filtered, options.all)
    if (selection._tag === "Filtered") return yield* selectedBy(store, yield* deadLetterQuery(options))
    return yield* Effect.forEach(selection.ids, (text) =>
      Effect.gen(function* () {
        const id = yield* numberOf(text)
        const letter = yield* findDeadLetter(store, id).pipe(
          Effect.catchTag("StoreCorrupt", () => Effect.succeed(undefined))
        )
        return { id, letter }
      })
    )
  })

const targetColumns: ReadonlyArray<table.Column<Target>> = columns.map(({ name, show }) => ({
  name,
  show: ({ id, letter }) => (letter === undefined ? (name === "id" ? String(id) : format.nothing) : show(letter))
}))

const change = (
  verb: "redrive" | "discard",
  options: Options,
  apply: (store: ExecutionStore, id: number) => Effect.Effect<boolean, StoreError>
) =>
  withStore(options, options["dry-run"] ? "read" : "write", ({ store }) =>
    Effect.gen(function* () {
      const targets = yield* find(verb, store, options)
      const single = options.ids.length > 0 && targets.length === 1
      yield* bulk.run(
        {
          verb,
          noun: "dead letter",
          question: single ? undefined : `${verb} ${format.many(targets.length, "dead letter")}?`,
          targets,
          columns: targetColumns,
          apply: ({ id }) =>
            Effect.map(apply(store, id), (done): bulk.Outcome => {
              if (done) return { _tag: "Changed", value: { id }, shown: String(id) }
              if (verb === "discard") return { _tag: "Unchanged" }
              return {
                _tag: "Failed",
                message: `dead letter ${id} stays: it is gone, or its timer is armed for another time`
              }
            })
        },
        options
      )
    })
  )

const redrive = Command.make("redrive", options, (options) =>
  change("redrive", options, (store, id) => store.deadLetters.redrive(id))
).pipe(Command.withDescription("Puts dead letters back to work."))

const discard = Command.make("discard", options, (options) =>
  change("discard", options, (store, id) => store.deadLetters.discard(id))
).pipe(Command.withDescription("Removes dead letters for good."))

export const commands = [list, show, redrive, discard] as const
