import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as Control from "../../Control.js"
import type { ManyDeadLetters } from "../../Control.js"
import { type DeadLetter, type Kind, Reason } from "../../DeadLetter.js"
import { type DeadLetterFilter, ExecutionStore } from "../../ExecutionStore.js"
import type { StoreError } from "../../StoreError.js"
import { type CliError, missing, refused } from "../cli/failure.js"
import * as format from "../cli/format.js"
import { toText } from "../cli/json.js"
import { common, durationOf, flag, limitOf, value, whole, withStore, wordOf } from "../cli/options.js"
import { note, Screen } from "../cli/screen.js"
import * as table from "../cli/table.js"
import * as bulk from "./bulk.js"

const kinds: ReadonlyArray<Kind> = ["Outbox", "Spawn", "Timer", "Activity"]

export const deadLetterFilters = {
  kind: value("kind"),
  execution: value("execution"),
  "execution-prefix": value("execution-prefix"),
  definition: value("definition", "only those of executions of this definition"),
  reason: value("reason", `only those given up for this reason: ${Reason.literals.join(", ")}`),
  "older-than": value("older-than")
}

export interface DeadLetterFilters {
  readonly kind: Option.Option<string>
  readonly execution: Option.Option<string>
  readonly "execution-prefix": Option.Option<string>
  readonly definition: Option.Option<string>
  readonly reason: Option.Option<string>
  readonly "older-than": Option.Option<string>
}

const hasFilters = (options: DeadLetterFilters): boolean =>
  [
    options.kind,
    options.execution,
    options["execution-prefix"],
    options.definition,
    options.reason,
    options["older-than"]
  ].some(Option.isSome)

export const deadLetterQuery = (options: DeadLetterFilters): Effect.Effect<DeadLetterFilter, CliError> =>
  Effect.gen(function* () {
    const kind = yield* Effect.transposeMapOption(options.kind, (text) => wordOf("--kind", text, kinds))
    const reasons = Option.match(options.reason, { onNone: () => [], onSome: (text) => text.split(",") })
    const reason = yield* Effect.forEach(reasons, (text) => wordOf("--reason", text.trim(), Reason.literals))
    const age = yield* Effect.transposeMapOption(options["older-than"], (text) => durationOf("--older-than", text))
    const now = (yield* Clock.currentTimeMillis) / 1000
    return {
      kind: Option.getOrUndefined(kind),
      executionId: Option.getOrUndefined(options.execution),
      executionIdPrefix: Option.getOrUndefined(options["execution-prefix"]),
      definitionId: Option.getOrUndefined(options.definition),
      reason: reason.length === 0 ? undefined : reason,
      diedBefore: Option.getOrUndefined(Option.map(age, (age) => now - Duration.toSeconds(age)))
    }
  })

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

const named = (store: ExecutionStore, ids: ReadonlyArray<string>) =>
  Effect.forEach(ids, (text) =>
    Effect.gen(function* () {
      const id = yield* numberOf(text)
      // One that does not decode can be changed by its number.
      const letter = yield* findDeadLetter(store, id).pipe(
        Effect.catchTag("StoreCorrupt", () => Effect.succeed(undefined))
      )
      return { id, letter }
    })
  )

const targetColumns: ReadonlyArray<table.Column<Target>> = columns.map(({ name, show }) => ({
  name,
  show: ({ id, letter }) => (letter === undefined ? (name === "id" ? String(id) : format.nothing) : show(letter))
}))

type Verb = keyof ManyDeadLetters

/** Why a dead letter that was to be redriven is there still. */
const stays = (id: number): string => `dead letter ${id} stays: it is gone, or its work is there again`

const changeNamed = (verb: Verb, store: ExecutionStore, ids: ReadonlyArray<string>, options: Options) =>
  Effect.gen(function* () {
    const targets = yield* named(store, ids)
    yield* bulk.run(
      {
        verb,
        noun: "dead letter",
        question: targets.length === 1 ? undefined : `${verb} ${format.many(targets.length, "dead letter")}?`,
        targets,
        columns: targetColumns,
        apply: ({ id }) =>
          Effect.map(store.deadLetters[verb](id), (done): bulk.Outcome => {
            if (done) return { _tag: "Changed", value: { id }, shown: String(id) }
            return verb === "discard" ? { _tag: "Unchanged" } : { _tag: "Failed", message: stays(id) }
          })
      },
      options
    )
  })

/** Changes what filters select, page after page, so that it needs no memory for all of it. */
const changeSelected = (verb: Verb, store: ExecutionStore, options: Options) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const filter = yield* deadLetterQuery(options)
    const control = yield* Effect.provideService(Control.make(), ExecutionStore, store)
    const many = control.many.deadLetters[verb]
    const counts = { changed: 0, unchanged: 0, failed: 0 }
    let selected = 0
    yield* Stream.runForEach(many(filter, { dryRun: true, limit: 1000 }), ({ corrupt, selected: letters }) =>
      Effect.gen(function* () {
        if (options["dry-run"]) yield* table.print(options.json, columns, letters, selected === 0)
        yield* Effect.forEach(corrupt, (row) => note(row.message), { discard: true })
        selected += letters.length
      })
    )
    const noun = "dead letter"
    if (options["dry-run"]) return yield* note(`${verb} would change ${format.many(selected, noun)}`)
    if (selected === 0) return yield* note(`${verb}: there is nothing to change`)
    if (!options.yes && !(yield* screen.confirm(`${verb} ${format.many(selected, noun)}?`))) {
      return yield* refused("nothing was changed")
    }
    yield* Stream.runForEach(many(filter, { limit: 1000 }), ({ changed, unchanged }) =>
      Effect.gen(function* () {
        for (const id of changed) yield* screen.out(options.json ? yield* toText({ id }) : String(id))
        for (const id of verb === "redrive" ? unchanged : []) yield* note(stays(id))
        counts.changed += changed.length
        counts[verb === "redrive" ? "failed" : "unchanged"] += unchanged.length
        yield* screen.progress(`${verb}: ${counts.changed} of ${selected}`)
      })
    )
    const said = bulk.summary(noun, verb, counts)
    if (counts.failed > 0) return yield* refused(said)
    if (selected > 1 || counts.unchanged > 0) yield* note(said)
  })

const change = (verb: Verb, options: Options) =>
  withStore(options, options["dry-run"] ? "read" : "write", ({ store }) =>
    Effect.flatMap(bulk.selectionOf(verb, options.ids, hasFilters(options), options.all), (selection) =>
      selection._tag === "Named"
        ? changeNamed(verb, store, selection.ids, options)
        : changeSelected(verb, store, options)
    )
  )

const redrive = Command.make("redrive", options, (options) => change("redrive", options)).pipe(
  Command.withDescription("Puts dead letters back to work.")
)

const discard = Command.make("discard", options, (options) => change("discard", options)).pipe(
  Command.withDescription("Removes dead letters for good.")
)

export const commands = [list, show, redrive, discard] as const
