import * as Command from "@effect/cli/Command"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Status } from "../../Execution.js"
import { ExecutionStore, streamExecutions } from "../../ExecutionStore.js"
import * as Retention from "../../Retention.js"
import { refused, usage } from "../cli/failure.js"
import * as format from "../cli/format.js"
import { common, durationOf, flag, prefixOf, value, withStore } from "../cli/options.js"
import { note, out, Screen } from "../cli/screen.js"
import * as table from "../cli/table.js"
import { schemaVersion, texts } from "../schema/schema.js"
import { columns } from "./executions.js"

const age = (name: string, text: Option.Option<string>) =>
  Effect.map(
    Effect.transposeMapOption(text, (text) => durationOf(name, text)),
    Option.getOrUndefined
  )

interface Query {
  readonly finished: Duration.Duration | undefined
  readonly failed: boolean
  readonly definitionId: string | undefined
}

/** Prints the roots that finished long enough ago. Their trees stay where something below them is younger or not finished. */
const printFinished = (json: boolean, { definitionId, failed, finished }: Query) =>
  Effect.gen(function* () {
    if (finished === undefined) return
    const before = (yield* Clock.currentTimeMillis) / 1000 - Duration.toSeconds(finished)
    const status: ReadonlyArray<Status> = failed ? ["DONE", "CANCELLED", "FAILED"] : ["DONE", "CANCELLED"]
    let count = 0
    yield* streamExecutions({ definitionId, status, rootsOnly: true, limit: 1000 }).pipe(
      Stream.filter(({ finishedAt }) => finishedAt !== null && finishedAt <= before),
      Stream.rechunk(100),
      Stream.runForEachChunk((chunk) => {
        const header = count === 0
        count += chunk.length
        return table.print(json, columns, Array.from(chunk), header)
      })
    )
    yield* note(`prune would remove up to ${format.many(count, "tree")}`)
  })

const pruneOptions = {
  processed: value("processed"),
  finished: value("finished"),
  failed: flag("failed"),
  definition: value("definition"),
  "dry-run": flag("dry-run"),
  yes: flag("yes")
}

export const prune = Command.make("prune", { ...common, ...pruneOptions }, (options) =>
  withStore(options, options["dry-run"] ? "read" : "write", ({ name, store }) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      const processed = yield* age("--processed", options.processed)
      const finished = yield* age("--finished", options.finished)
      if (processed === undefined && finished === undefined) {
        return yield* usage("prune needs to be told what: give --processed or --finished, or both, with an age")
      }
      const query = { finished, failed: options.failed, definitionId: Option.getOrUndefined(options.definition) }
      if (options["dry-run"]) {
        return yield* Effect.provideService(printFinished(options.json, query), ExecutionStore, store)
      }
      if (!options.yes && !(yield* screen.confirm(`remove what is old from ${name}, for good?`))) {
        return yield* refused("nothing was removed")
      }
      const removed = yield* Effect.provideService(Retention.run({ ...query, processed }), ExecutionStore, store)
      yield* table.printOne(options.json, removed, [
        { name: "processed", value: format.many(removed.processed, "consumed event") },
        { name: "executions", value: format.many(removed.executions, "execution") }
      ])
    })
  )
).pipe(Command.withDescription("Removes finished executions and consumed events that are old."))

const migrateOptions = { create: flag("create"), "dry-run": flag("dry-run") }

export const migrate = Command.make("migrate", { ...common, ...migrateOptions }, (options) => {
  if (options["dry-run"]) {
    return Effect.flatMap(Effect.flatMap(prefixOf(options), texts), (statements) =>
      options.json
        ? table.printOne(true, { schemaVersion, statements }, [])
        : out(statements.map((statement) => `${statement};`).join("\n"))
    )
  }
  return withStore(options, options.create ? "create" : "migrate", ({ name, prefix }) =>
    table.printOne(options.json, { store: name, prefix, schemaVersion }, [
      { name: "store", value: name },
      { name: "prefix", value: prefix },
      { name: "schema", value: `version ${schemaVersion}` }
    ])
  )
}).pipe(Command.withDescription("Makes the schema of a store, or what is missing of it."))
