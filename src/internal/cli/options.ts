import * as Options from "@effect/cli/Options"
import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import { type Attributes, Status } from "../../Execution.js"
import type { ListQuery } from "../../ExecutionStore.js"
import * as written from "../options/attributeFilter.js"
import { isPrefix, prefixForm } from "../options/store.js"
import { type CliError, type Failure, usage } from "./failure.js"
import { type Access, defaultPrefix, type OpenRows, type OpenStore, open, openRows } from "./openStore.js"
import { forms, parse, type StoreName } from "./storeName.js"
import { didYouMean, nearest } from "./suggestion.js"

/** The options that are given or not, by name. */
const flags = {
  all: "print all, however many there are",
  "allow-changes": "let whoever comes from elsewhere change things too",
  create: "make the database where there is none",
  "dry-run": "say what would be changed, and change nothing",
  due: "only those whose time has come",
  failed: "failed executions too",
  json: "print JSON, one value a line: stdout then has data alone",
  once: "show it once, and end",
  "read-only": "let nobody change anything",
  replace: "remove all rows that are in the store first",
  roots: "only executions without a parent",
  "without-dead-letters": "pass over the dead letters",
  "with-children": "cancel the children too, rather than terminate them",
  yes: "do not ask"
}

/** The options that take a value, by name. */
const values = {
  at: "the state in which it goes on, by default the one in which it failed",
  cursor: "where the page begins: what the page before ended with",
  data: "the event's data, as a JSON object",
  definition: "only executions of this definition",
  "definition-version": "only those of this version of --definition",
  delay: "after which time it is due, as in '10 minutes'",
  "event-id": "the event's id, by which it is consumed once; by default a new one",
  execution: "only those of this execution",
  "execution-prefix": "only those of executions whose ids begin so",
  finished: "remove trees that finished so long ago, as in '30 days'",
  host: "the address to listen at, by default 127.0.0.1, which this machine alone reaches",
  interval: "how often it is shown anew, as in '2 seconds'",
  kind: "only those of this kind: outbox, spawn, timer or activity",
  limit: "how many at most, 1 to 1000",
  "older-than": "only those given up so long ago, as in '7 days'",
  parent: "only the children of this execution",
  port: "the port to listen at, by default 4600; 0 for one that is free",
  prefix: "what the names of the tables begin with; by default HOLDFAST_PREFIX, or harel_, or nothing on rqlite",
  processed: "forget consumed events that are so old, as in '7 days'",
  reason: "why, which is kept in the trace",
  where:
    "only those with this attribute, as name=value; may be given more than once, the first being that which the fewest have",
  status: `only those in this status; may be given more than once: ${Status.literals.join(", ")}`,
  store: `the store: ${forms}; by default HOLDFAST_STORE`
}

/** The words that an option takes, where these are few: shells offer them. */
export const choices: ReadonlyMap<string, ReadonlyArray<string>> = new Map<string, ReadonlyArray<string>>([
  ["kind", ["outbox", "spawn", "timer", "activity"]],
  ["status", Status.literals]
])

/** What @effect/cli brings along. */
const builtIn = { flags: ["help", "version", "wizard"], values: ["completions", "log-level"] }

export const flagNames: ReadonlyArray<string> = [...Object.keys(flags), ...builtIn.flags]
/** The options that may be given more than once. @effect/cli passes over those that are empty: each would select more than was meant. */
export const repeatedNames: ReadonlyArray<string> = ["status", "where"]

export const valueNames: ReadonlyArray<string> = [...Object.keys(values), ...builtIn.values]

export const flag = (name: keyof typeof flags): Options.Options<boolean> =>
  Options.withDescription(Options.boolean(name), flags[name])

export const value = (
  name: keyof typeof values,
  description: string = values[name]
): Options.Options<Option.Option<string>> =>
  Options.text(name).pipe(Options.withPseudoName(name), Options.withDescription(description), Options.optional)

/** What every command takes. */
export const common = { store: value("store"), prefix: value("prefix"), json: flag("json") }

export interface Common {
  readonly store: Option.Option<string>
  readonly prefix: Option.Option<string>
}

/** What an option says, or else a variable. */
export const orVariable = (given: Option.Option<string>, name: string): Effect.Effect<Option.Option<string>> =>
  Option.isSome(given) ? Effect.succeed(given) : Effect.option(Config.string(name))

/** The store that the options or the environment name, where they name one. */
const nameOf = (options: Common): Effect.Effect<Option.Option<StoreName>, CliError> =>
  Effect.flatMap(orVariable(options.store, "HOLDFAST_STORE"), (text) =>
    Effect.transposeMapOption(text, (text) => Effect.mapError(parse(text), (problem) => usage(`--store: ${problem}`)))
  )

const givenPrefix = (options: Common): Effect.Effect<Option.Option<string>, CliError> =>
  Effect.filterOrFail(
    orVariable(options.prefix, "HOLDFAST_PREFIX"),
    Option.match({ onNone: () => true, onSome: isPrefix }),
    (given) => usage(`--prefix ${JSON.stringify(Option.getOrElse(given, () => ""))}: expected ${prefixForm}`)
  )

/** The prefix of the store that the options name, or of most stores where they name none. */
export const prefixOf = (options: Common): Effect.Effect<string, CliError> =>
  Effect.zipWith(nameOf(options), givenPrefix(options), (name, given) =>
    Option.getOrElse(given, () => defaultPrefix(name))
  )

/** The store that options must name, and the prefix of its tables. */
export const named = (options: Common) =>
  Effect.gen(function* () {
    const name = yield* nameOf(options)
    if (Option.isNone(name)) return yield* usage(`no store is named: give --store, or set HOLDFAST_STORE, to ${forms}`)
    return { name: name.value, prefix: yield* givenPrefix(options) }
  })

/** Runs a command on the store that its options name. */
export const withStore = <A, E, R>(
  options: Common,
  access: Access,
  use: (opened: OpenStore) => Effect.Effect<A, E, R>
) =>
  Effect.scoped(Effect.flatMap(named(options), ({ name, prefix }) => Effect.flatMap(open(name, prefix, access), use)))

/** Runs a command on the rows of the store that its options name, also where it is of an earlier version, or harel's alone. */
export const withRows = <A, E, R>(options: Common, use: (opened: OpenRows) => Effect.Effect<A, E, R>) =>
  Effect.scoped(Effect.flatMap(named(options), ({ name, prefix }) => Effect.flatMap(openRows(name, prefix), use)))

/** A whole number within bounds. */
export const whole = (name: string, text: string, least: number, most: number): Effect.Effect<number, CliError> =>
  /^\d{1,15}$/.test(text) && Number(text) >= least && Number(text) <= most
    ? Effect.succeed(Number(text))
    : Effect.fail(usage(`${name} ${JSON.stringify(text)}: expected a whole number of ${least} to ${most}`))

const defaultLimit = 100

export const limitOf = (limit: Option.Option<string>): Effect.Effect<number, CliError> =>
  Option.match(limit, { onNone: () => Effect.succeed(defaultLimit), onSome: (text) => whole("--limit", text, 1, 1000) })

export const durationOf = (name: string, text: string): Effect.Effect<Duration.Duration, CliError> =>
  Option.match(Option.filter(Duration.decodeUnknown(text), Duration.isFinite), {
    onNone: () => Effect.fail(usage(`${name} ${JSON.stringify(text)}: expected a time as in "10 minutes"`)),
    onSome: Effect.succeed
  })

/** A word of a few, in upper case or lower. */
export const wordOf = <A extends string>(
  name: string,
  text: string,
  words: ReadonlyArray<A>
): Effect.Effect<A, CliError> => {
  const found = words.find((word) => word.toLowerCase() === text.toLowerCase())
  if (found !== undefined) return Effect.succeed(found)
  const near = nearest(text, words) === undefined ? `: expected ${words.join(", ")}` : didYouMean(text, words)
  return Effect.fail(usage(`${name} knows no ${JSON.stringify(text)}${near}`))
}

/** The filters of a listing. */
export const filters = {
  definition: value("definition"),
  "definition-version": value("definition-version"),
  status: Options.text("status").pipe(
    Options.withPseudoName("status"),
    Options.withDescription(values.status),
    Options.repeated
  ),
  where: Options.text("where").pipe(
    Options.withPseudoName("where"),
    Options.withDescription(values.where),
    Options.repeated
  ),
  roots: flag("roots"),
  parent: value("parent")
}

export interface Filters {
  readonly definition: Option.Option<string>
  readonly "definition-version": Option.Option<string>
  readonly status: ReadonlyArray<string>
  readonly where: ReadonlyArray<string>
  readonly roots: boolean
  readonly parent: Option.Option<string>
}

export const hasFilters = ({ definition, parent, roots, status, where, ...rest }: Filters): boolean =>
  Option.isSome(definition) ||
  Option.isSome(rest["definition-version"]) ||
  Option.isSome(parent) ||
  roots ||
  status.length > 0 ||
  where.length > 0

/** The version of the definition that is named. */
const versionOf = (options: Filters): Effect.Effect<number | undefined, CliError> =>
  Effect.gen(function* () {
    const given = options["definition-version"]
    if (Option.isNone(given)) return undefined
    if (Option.isNone(options.definition)) return yield* usage("--definition-version needs --definition")
    return yield* whole("--definition-version", given.value, 1, Number.MAX_SAFE_INTEGER)
  })

/** The attributes that are given. */
const attributesOf = (where: ReadonlyArray<string>): Effect.Effect<Attributes, CliError> =>
  Either.mapLeft(written.attributesOf(where), (problem) => usage(`--where ${problem}`))

/** The query that filters make. */
export const queryOf = (options: Filters): Effect.Effect<ListQuery, Failure> =>
  Effect.gen(function* () {
    const { definition, parent, roots, status, where } = options
    const statuses = yield* Effect.forEach(
      status.flatMap((text) => text.split(",")),
      (text) => wordOf("--status", text.trim(), Status.literals)
    )
    return {
      definitionId: Option.getOrUndefined(definition),
      definitionVersion: yield* versionOf(options),
      parentId: Option.getOrUndefined(parent),
      rootsOnly: roots,
      status: statuses.length === 0 ? undefined : statuses,
      attributes: yield* attributesOf(where)
    }
  })
