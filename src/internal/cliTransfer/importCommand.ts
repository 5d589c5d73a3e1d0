import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import type { Rows } from "../../EncodedStore.js"
import type { Imported } from "../../Transfer.js"
import type { ImportRefused } from "../../TransferError.js"
import { failed, refused, unsound } from "../cli/failure.js"
import * as format from "../cli/format.js"
import type { OpenStore } from "../cli/openStore.js"
import { common, flag, withStore } from "../cli/options.js"
import { note, progress, Screen } from "../cli/screen.js"
import * as table from "../cli/table.js"
import { described } from "../sqlTransfer/rows.js"
import { check } from "../transfer/check.js"
import { run } from "../transfer/importText.js"
import * as input from "./input.js"

const pageSize = 1000

const file = Args.optional(Args.text({ name: "file" })).pipe(
  Args.withDescription("the file with the export; stdin where it is not given, or -")
)

const given = { replace: flag("replace"), create: flag("create"), "dry-run": flag("dry-run"), yes: flag("yes") }

const said: { readonly [outcome in Imported["outcome"]]: (name: string) => string } = {
  imported: (name) => `imported into ${name}, and compared with the export`,
  resumed: (name) => `imported into ${name}, where an import had begun before, and compared with the export`,
  "there-already": (name) => `this export was imported into ${name} before: nothing was done`
}

/** Prints what an import came to, or what an export holds. */
const print = (json: boolean, found: Pick<Imported, "rows" | "tables" | "sha256"> & Partial<Imported>) =>
  table.printOne(json, found, [
    ...Object.entries(found.tables)
      .filter(([, rows]) => rows > 0)
      .map(([name, rows]) => ({ name, value: format.many(rows, "row") })),
    { name: "total", value: format.many(found.rows, "row"), color: "bold" as const }
  ])

const refusals: { readonly [reason in ImportRefused["reason"]]: (name: string) => string } = {
  "not-empty": (name) =>
    `${name} has rows already, which are not those of this export: name an empty store, or give --replace`,
  "other-import": (name) =>
    `an import of another export into ${name} was begun and has not ended: go on with that one, or give --replace`,
  "under-way": (name) =>
    `another import into ${name} went on meanwhile, and this one has stopped: let that one end, or import again with --replace`
}

/** What keeps a store from being imported into, in the words of the command. */
const explained = (name: string) => ({
  ImportRefused: ({ reason }: Pick<ImportRefused, "reason">) => refused(refusals[reason](name)),
  ImportDiffers: ({
    expected,
    found,
    table
  }: { readonly [key in "expected" | "found"]: number } & { readonly table: string }) =>
    unsound(
      `${table} of ${name} has ${format.many(found, "row")} that are not the ${expected} of the export: stop what writes to it, and import again with --replace`
    )
})

const rowsOf = ({ encoded, name }: OpenStore): Effect.Effect<Rows, ReturnType<typeof failed>> =>
  encoded.rows === undefined ? failed(`${name} has no rows that could be imported`) : Effect.succeed(encoded.rows)

const importInto = (
  opened: OpenStore,
  { again, text }: input.Input,
  options: { readonly json: boolean; readonly replace: boolean; readonly yes: boolean }
) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const rows = yield* rowsOf(opened)
    const { name } = opened
    const { replace } = options
    const replaces = replace && !(yield* rows.isEmpty)
    if (
      replaces &&
      !options.yes &&
      !(yield* screen.confirm(`remove all rows of ${name}, for good, and import others?`))
    ) {
      return yield* refused("nothing was removed, and nothing imported")
    }
    // What is there is not removed for a file that turns out to be no whole export.
    if (replaces && again !== undefined) yield* check(again, rows)
    const onProgress = (count: number) => screen.progress(`${format.many(count, "row")} imported`)
    const imported = yield* Effect.catchTags(run(rows, text, { pageSize, replace, onProgress }), explained(name))
    yield* print(options.json, imported)
    yield* screen.note(said[imported.outcome](name))
  })

export const importCommand = Command.make("import", { ...common, ...given, file }, (options) =>
  Effect.gen(function* () {
    const read = yield* input.of(options.file)
    if (options["dry-run"]) {
      yield* progress("reading the export")
      yield* print(options.json, yield* check(read.text, described))
      return yield* note("the export is whole; nothing was imported")
    }
    yield* withStore(options, options.create ? "create" : "migrate", (opened) => importInto(opened, read, options))
  })
).pipe(Command.withDescription("Puts the rows of an export into an empty store, and compares them with it."))
