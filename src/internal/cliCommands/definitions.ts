import { existsSync } from "node:fs"
import { resolve } from "node:path"
import { pathToFileURL } from "node:url"
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Stream from "effect/Stream"
import * as Definition from "../../Definition.js"
import type { Encoded, Position } from "../../EncodedStore.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { StoreError } from "../../StoreError.js"
import { missing, refused, unsound } from "../cli/failure.js"
import * as format from "../cli/format.js"
import { toText } from "../cli/json.js"
import { common, flag, whole, withStore } from "../cli/options.js"
import { note, Screen } from "../cli/screen.js"
import { didYouMean } from "../cli/suggestion.js"
import * as table from "../cli/table.js"
import { describe } from "../util/errorText.js"
import * as bulk from "./bulk.js"

/** A published version, as a listing shows it: without its source. */
interface Published {
  readonly definitionId: string
  readonly version: number
  readonly digest: string
  readonly publishedAt: number | null
}

const publishedAll = (encoded: Encoded) =>
  Effect.gen(function* () {
    const found: Array<Published> = []
    let after: Position | undefined
    do {
      const { next, rows } = yield* encoded.verify("definitions", after, 100)
      for (const { columns } of rows) {
        const { definition_id, digest, published_at, version } = columns
        found.push({
          definitionId: String(definition_id),
          version: Number(version),
          digest: String(digest),
          publishedAt: typeof published_at === "number" ? published_at : null
        })
      }
      after = next
    } while (after !== undefined)
    return found.toSorted((a, b) =>
      a.definitionId === b.definitionId ? a.version - b.version : a.definitionId < b.definitionId ? -1 : 1
    )
  })

const columns: ReadonlyArray<table.Column<Published>> = [
  { name: "definition", show: ({ definitionId }) => definitionId },
  { name: "version", show: ({ version }) => String(version) },
  { name: "published", show: ({ publishedAt }) => format.time(publishedAt) },
  { name: "digest", show: ({ digest }) => digest }
]

const list = Command.make("list", common, (options) =>
  withStore(options, "read", ({ encoded }) =>
    Effect.flatMap(publishedAll(encoded), (rows) => table.print(options.json, columns, rows))
  )
).pipe(Command.withDescription("Lists the published versions of definitions."))

const id = Args.text({ name: "definition" }).pipe(Args.withDescription("the id of the definition"))

const version = Args.optional(
  Args.text({ name: "version" }).pipe(Args.withDescription("which version, by default the highest"))
)

const show = Command.make("show", { ...common, id, version }, (options) =>
  withStore(options, "read", ({ encoded, store }) =>
    Effect.gen(function* () {
      const version = yield* Effect.transposeMapOption(options.version, (text) =>
        whole("the version", text, 0, Number.MAX_SAFE_INTEGER)
      )
      const found = yield* store.loadDefinition(options.id, Option.getOrUndefined(version))
      if (Option.isNone(found)) {
        const known = yield* publishedAll(encoded)
        const versions = known.filter(({ definitionId }) => definitionId === options.id).map(({ version }) => version)
        if (versions.length > 0) {
          return yield* missing(
            `there is no such version of ${JSON.stringify(options.id)}: there are ${versions.join(", ")}`
          )
        }
        const ids = known.map(({ definitionId }) => definitionId)
        return yield* missing(`no definition ${JSON.stringify(options.id)} was published${didYouMean(options.id, ids)}`)
      }
      const { definitionId, digest, publishedAt, source, version: shown } = found.value
      yield* table.printOne(options.json, found.value, [
        { name: "definition", value: definitionId, color: "bold" },
        { name: "version", value: String(shown) },
        { name: "published", value: format.time(publishedAt) },
        { name: "digest", value: digest },
        { name: "source", value: source }
      ])
    })
  )
).pipe(Command.withDescription("Shows a published version of a definition, with its source."))

const module_ = Args.text({ name: "module" }).pipe(
  Args.withDescription("a module that exports the definitions, as Node.js can import it")
)

/** The definitions that a module exports. */
const exported = (path: string) =>
  Effect.gen(function* () {
    const file = resolve(path)
    if (!existsSync(file)) return yield* missing(`there is no file ${JSON.stringify(path)}`)
    const loaded: unknown = yield* Effect.tryPromise({
      try: (): Promise<unknown> => import(pathToFileURL(file).href),
      catch: (cause) => missing(`the module ${path} cannot be loaded: ${describe(cause)}`)
    })
    const exports = Predicate.isRecord(loaded) ? Object.values(loaded) : []
    const found = Array.from(new Set(exports.filter(Definition.isDefinition)))
    if (found.length > 0) return found
    return yield* missing(`the module ${path} exports no definition, as Definition.make gives it`)
  })

const problemColumns: ReadonlyArray<table.Column<Definition.CheckProblem>> = [
  { name: "execution", show: ({ executionId }) => executionId },
  { name: "definition", show: ({ definition }) => definition },
  { name: "version", show: ({ definitionVersion }) => format.text(definitionVersion?.toString() ?? null) },
  { name: "subject", show: ({ subject }) => subject },
  { name: "at", show: ({ path }) => path },
  { name: "problem", show: ({ problem }) => problem, color: () => "red" }
]

/** Definitions as messages name them. */
const namesOf = (definitions: ReadonlyArray<Pick<Definition.Any, "name" | "version">>): string =>
  definitions.map(({ name, version }) => `${name} (version ${version})`).join(", ")

const checkOptions = { ...common, module: module_, "without-dead-letters": flag("without-dead-letters") }

const check = Command.make("check", checkOptions, (options) =>
  Effect.flatMap(exported(options.module), (definitions) =>
    withStore(options, "read", ({ name, store }) =>
      Effect.gen(function* () {
        let problems = 0
        yield* Definition.check(definitions, { deadLetters: !options["without-dead-letters"] }).pipe(
          Stream.runForEachChunk((chunk) => {
            const header = problems === 0
            problems += chunk.length
            return chunk.length === 0
              ? Effect.void
              : table.print(options.json, problemColumns, Array.from(chunk), header)
          }),
          Effect.provideService(ExecutionStore, store)
        )
        const checked = namesOf(definitions)
        if (problems === 0) return yield* note(`${checked} can take what is in ${name}`)
        return yield* unsound(`${checked} cannot take what is in ${name}: ${format.many(problems, "problem")}`)
      })
    )
  )
).pipe(Command.withDescription("Names what of the store the definitions of a module could not take."))

/** Says how many executions were migrated, or would be, and what stood in the way of others. */
const printMigrated = (json: boolean, said: string, found: Definition.MigratedAll) =>
  Effect.gen(function* () {
    const { migrated, problems } = found
    if (json) yield* Effect.flatMap(toText(found), (text) => Effect.flatMap(Screen, (screen) => screen.out(text)))
    else if (problems.length > 0) yield* table.print(json, problemColumns, problems)
    const counted = `${said} ${format.many(migrated, "execution")}`
    return problems.length === 0 ? counted : `${counted}, ${format.many(problems.length, "problem")}`
  })

const migrate = Command.make(
  "migrate",
  { ...common, module: module_, "dry-run": flag("dry-run"), yes: flag("yes") },
  (options) =>
    Effect.flatMap(exported(options.module), (definitions) =>
      withStore(options, options["dry-run"] ? "read" : "write", ({ store }) =>
        Effect.gen(function* () {
          const screen = yield* Screen
          const { json } = options
          const run = (dryRun: boolean) =>
            Effect.provideService(Definition.migrateAll(definitions, { dryRun }), ExecutionStore, store)
          const before = yield* run(true)
          if (options["dry-run"] || before.migrated === 0) {
            const said = yield* printMigrated(json, "migrate would change", before)
            if (before.problems.length === 0) return yield* note(said)
            return yield* options["dry-run"] ? unsound(said) : refused(said)
          }
          const question = `migrate ${format.many(before.migrated, "execution")} to ${namesOf(definitions)}?`
          if (!options.yes && !(yield* screen.confirm(question))) return yield* refused("nothing was changed")
          const done = yield* run(false)
          const said = yield* printMigrated(json, "migrate:", done)
          return done.problems.length === 0 ? yield* note(said) : yield* refused(said)
        })
      )
    )
).pipe(Command.withDescription("Writes all executions that have not ended in the version of a module's definitions."))

/** What there is to store of a definition. */
type Described = Omit<Published, "publishedAt">

const describedColumns: ReadonlyArray<table.Column<Described>> = [
  { name: "definition", show: ({ definitionId }) => definitionId },
  { name: "version", show: ({ version }) => String(version) },
  { name: "digest", show: ({ digest }) => digest }
]

/** What of a module is not published yet. What is says so, and that it stays as it is. */
const unpublished = (store: ExecutionStore, definitions: ReadonlyArray<Definition.Any>) =>
  Effect.gen(function* () {
    const found = new Map<Described, Definition.Any>()
    for (const definition of definitions) {
      const { definitionId, digest, version } = yield* Definition.describe(definition)
      const stored = yield* store.loadDefinition(definitionId, version)
      if (Option.isNone(stored)) found.set({ definitionId, version, digest }, definition)
      else if (stored.value.digest === digest) yield* note(`${namesOf([definition])} is published already`)
      else
        yield* note(
          `${namesOf([definition])} was published as something else, which stays: only another version is published anew`
        )
    }
    return found
  })

const publishOne = (
  store: ExecutionStore,
  definition: Definition.Any | undefined
): Effect.Effect<bulk.Outcome, StoreError> =>
  definition === undefined
    ? Effect.succeed({ _tag: "Unchanged" })
    : Effect.map(
        Effect.provideService(Definition.publish(definition), ExecutionStore, store),
        ({ definitionId, digest, publishedAt, version }) => ({
          _tag: "Changed",
          value: { definitionId, version, digest, publishedAt },
          shown: namesOf([definition])
        })
      )

const publish = Command.make(
  "publish",
  { ...common, module: module_, "dry-run": flag("dry-run"), yes: flag("yes") },
  (options) =>
    Effect.flatMap(exported(options.module), (definitions) =>
      withStore(options, options["dry-run"] ? "read" : "write", ({ store }) =>
        Effect.gen(function* () {
          const found = yield* unpublished(store, definitions)
          yield* bulk.run(
            {
              verb: "publish",
              noun: "definition",
              question: found.size === 1 ? undefined : `publish ${format.many(found.size, "definition")}?`,
              targets: Array.from(found.keys()),
              columns: describedColumns,
              apply: (target) => publishOne(store, found.get(target))
            },
            options
          )
        })
      )
    )
).pipe(Command.withDescription("Stores what the definitions of a module are, for whoever has no code of them."))

export const definition = Command.make("definition").pipe(
  Command.withDescription("The definitions: what is published of them in the store, and those of a module."),
  Command.withSubcommands([list, show, check, migrate, publish])
)
