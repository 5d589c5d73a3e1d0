import * as Effect from "effect/Effect"
import { type Failure, refused, usage } from "../cli/failure.js"
import * as format from "../cli/format.js"
import { toText } from "../cli/json.js"
import { flag } from "../cli/options.js"
import { Screen } from "../cli/screen.js"
import * as table from "../cli/table.js"
import { printable } from "../util/printable.js"

/** What every command takes that can change many. */
export const bulkOptions = { all: flag("all"), "dry-run": flag("dry-run"), yes: flag("yes") }

export interface BulkOptions {
  readonly all: boolean
  readonly "dry-run": boolean
  readonly yes: boolean
  readonly json: boolean
}

/** What became of one: it was changed, or there was nothing to change, or it could not be. */
export type Outcome =
  | { readonly _tag: "Changed"; readonly value: unknown; readonly shown: string }
  | { readonly _tag: "Unchanged" }
  | { readonly _tag: "Failed"; readonly message: string }

/**
 * A command on many.
 *
 * - `question`: what is asked before anything is changed; none where one was named and nothing is to be asked.
 * - `columns`: how those selected are shown where nothing is to be changed.
 */
export interface Bulk<A, E> {
  readonly verb: string
  readonly noun: string
  readonly question: string | undefined
  readonly targets: ReadonlyArray<A>
  readonly columns: ReadonlyArray<table.Column<A>>
  readonly apply: (target: A) => Effect.Effect<Outcome, E>
}

/** How many are changed side by side: a store that shares transactions serves them together. */
const together = 8

interface Counts {
  changed: number
  unchanged: number
  failed: number
}

export const summary = (noun: string, verb: string, { changed, failed, unchanged }: Counts): string => {
  const parts = [`${verb}: ${format.many(changed, noun)}`]
  if (unchanged > 0) parts.push(`${unchanged} needed no change`)
  if (failed > 0) parts.push(`${failed} could not be changed`)
  return parts.join(", ")
}

const applyAll = <A, E>(bulk: Bulk<A, E>, json: boolean) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const counts: Counts = { changed: 0, unchanged: 0, failed: 0 }
    for (let i = 0; i < bulk.targets.length; i += together) {
      const outcomes = yield* Effect.forEach(bulk.targets.slice(i, i + together), bulk.apply, { concurrency: together })
      for (const outcome of outcomes) {
        switch (outcome._tag) {
          case "Changed":
            counts.changed++
            yield* screen.out(json ? yield* toText(outcome.value) : printable(outcome.shown))
            break
          case "Unchanged":
            counts.unchanged++
            break
          case "Failed":
            counts.failed++
            yield* screen.note(printable(outcome.message))
        }
      }
      yield* screen.progress(`${bulk.verb}: ${i + outcomes.length} of ${bulk.targets.length}`)
    }
    return counts
  })

/** Changes all that are selected: shows them and stops, or asks first, where that is to be. */
export const run = <A, E>(bulk: Bulk<A, E>, options: Omit<BulkOptions, "all">) =>
  Effect.gen(function* () {
    const screen = yield* Screen
    const { noun, question, targets, verb } = bulk
    if (options["dry-run"]) {
      yield* table.print(options.json, bulk.columns, targets)
      return yield* screen.note(`${verb} would change ${format.many(targets.length, noun)}`)
    }
    if (targets.length === 0) return yield* screen.note(`${verb}: there is nothing to change`)
    if (question !== undefined && !options.yes && !(yield* screen.confirm(question))) {
      return yield* refused("nothing was changed")
    }
    const counts = yield* applyAll(bulk, options.json)
    const said = summary(noun, verb, counts)
    if (counts.failed > 0) return yield* refused(said)
    if (targets.length > 1 || counts.unchanged > 0) yield* screen.note(said)
  })

/** What many are selected by: their ids, or filters, or all of them. */
export type Selection = { readonly _tag: "Named"; readonly ids: ReadonlyArray<string> } | { readonly _tag: "Filtered" }

/** Nobody should change all by forgetting to say which. */
export const selectionOf = (
  verb: string,
  ids: ReadonlyArray<string>,
  filtered: boolean,
  all: boolean
): Effect.Effect<Selection, Failure> => {
  if (ids.length > 0) {
    return filtered || all
      ? Effect.fail(usage(`${verb} takes ids or filters, and not both`))
      : Effect.succeed({ _tag: "Named", ids: Array.from(new Set(ids)) })
  }
  return filtered || all
    ? Effect.succeed({ _tag: "Filtered" })
    : Effect.fail(usage(`${verb} needs to be told which: give ids, filters as those of list, or --all`))
}
