import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import type { MigratedState, Migration, StoredState } from "../../Definition.js"
import type { Execution } from "../../Execution.js"
import { stringify } from "../codec/stringify.js"
import type { Problem } from "../processor/parseProblem.js"
import { isObject, objectCodec } from "../processor/schemaCodec.js"
import { historyTo } from "../processor/step.js"
import { describe } from "../util/errorText.js"

/** The version of a definition, and what takes a context on from each version before it. */
export interface Versions {
  readonly version: number
  /** The lowest version from which migrations lead here. */
  readonly oldest: number
  readonly migrations: ReadonlyMap<number, Migration>
}

/**
 * Why an execution is none of a version of a definition: it is of a version from which nothing leads here, or a migration failed.
 */
export type Unfit =
  | { readonly _tag: "OtherVersion" }
  | ({ readonly _tag: "Failed"; readonly from: number; readonly to: number; readonly cause?: unknown } & Problem)

/** What a migration throws where a context does not decode or encode by the schema that it was given. */
class Mismatch extends Error {
  constructor(
    readonly path: string,
    readonly problem: string
  ) {
    super(problem)
  }
}

const orThrow = <A>(either: Either.Either<A, Problem>, what: string): A =>
  Either.getOrThrowWith(either, ({ path, problem }) => new Mismatch(path, `${what}: ${problem}`))

export interface MigrationOptions {
  readonly from?: Schema.Schema.AnyNoContext | undefined
  readonly to?: Schema.Schema.AnyNoContext | undefined
  readonly migrate: (old: never) => MigratedState<unknown>
}

/** A migration on decoded contexts, as one on stored ones. */
export const onDecoded = ({ from, migrate, to }: MigrationOptions): Migration<unknown> => {
  const old = from && objectCodec(from, "preserve")
  const next = to && objectCodec(to, "preserve")
  return (stored) => {
    const context: unknown = old ? orThrow(old.decode(stored.context), "it is none of the old version") : stored.context
    const migrated: MigratedState<unknown> = Reflect.apply(migrate, undefined, [{ ...stored, context }])
    return next && isState(migrated)
      ? { ...migrated, context: orThrow(next.encode(migrated.context), "the migration made none of the new version") }
      : migrated
  }
}

const isState = (u: unknown): u is MigratedState<unknown> => Predicate.isRecord(u) && "context" in u

const isPath = (u: unknown): u is string | null | undefined => u === undefined || u === null || typeof u === "string"

/** One migration: what it makes of what is stored, or what is wrong. */
const run = (
  migration: Migration,
  stored: StoredState
): Either.Either<StoredState, Problem & { readonly cause?: unknown }> => {
  try {
    const made: unknown = migration(stored)
    if (!isState(made) || !isObject(made.context)) {
      return Either.left({ path: "", problem: "the migration must return an object with a JSON object as `context`" })
    }
    if (!isPath(made.path)) return Either.left({ path: "", problem: "the migration returned no text as `path`" })
    return Either.right({ context: made.context, path: made.path === undefined ? stored.path : made.path })
  } catch (cause) {
    return Either.left(
      cause instanceof Mismatch
        ? { path: cause.path, problem: cause.problem }
        : { path: "", problem: describe(cause), cause }
    )
  }
}

/** The execution at another path, as if it had been taken there. */
const movedTo = (execution: Execution, path: string | null): Partial<Execution> =>
  path === execution.activePath
    ? {}
    : { activePath: path, history: path === null ? {} : historyTo(execution.rootPath, path) }

/** The execution in the version of a definition: as it is, or what the migrations make of it. */
export const migrate = (
  { migrations, oldest, version }: Versions,
  execution: Execution
): Either.Either<Execution, Unfit> => {
  if (execution.definitionVersion === version) return Either.right(execution)
  let stored: StoredState = { context: execution.context, path: execution.activePath }
  if (execution.definitionVersion > version || execution.definitionVersion < oldest) {
    return Either.left({ _tag: "OtherVersion" })
  }
  for (let from = execution.definitionVersion; from < version; from++) {
    const migration = migrations.get(from)
    if (migration === undefined) return Either.left({ _tag: "OtherVersion" })
    const made = run(migration, stored)
    if (Either.isLeft(made)) return Either.left({ _tag: "Failed", from, to: from + 1, ...made.left })
    stored = made.right
  }
  // What the store would refuse does not migrate, whatever the schema says to it.
  const written = stringify(stored.context)
  if (Either.isLeft(written)) {
    const { path, problem } = written.left
    return Either.left({ _tag: "Failed", from: version - 1, to: version, path, problem })
  }
  return Either.right({
    ...execution,
    ...movedTo(execution, stored.path),
    context: stored.context,
    definitionVersion: version
  })
}

/** What is unfit, as the problem of its context. */
export const problemOf = ({ version }: Versions, execution: Execution, unfit: Unfit): Problem => {
  if (unfit._tag === "Failed") {
    return {
      path: unfit.path,
      problem: `the migration from version ${unfit.from} to ${unfit.to} failed: ${unfit.problem}`
    }
  }
  const is = `it is of version ${execution.definitionVersion} of the definition, and this is version ${version}`
  return {
    path: "",
    problem: execution.definitionVersion > version ? is : `${is}, to which no migration leads from there`
  }
}

const isVersion = (u: unknown): u is number => Number.isSafeInteger(u) && Number(u) >= 1

const isMigration = (u: unknown): u is Migration => typeof u === "function"

/** The versions that the options of a definition say; throws where they do not go together. */
export const make = (
  name: string,
  version: unknown = 1,
  given: { readonly [version: number]: unknown } = {}
): Versions => {
  const refuse = (problem: string): Error => new Error(`definition ${name}: ${problem}`)
  if (!isVersion(version)) throw refuse(`its version must be a whole number from 1 on, and is ${String(version)}`)
  const migrations = new Map<number, Migration>()
  for (const [key, migration] of Object.entries(given)) {
    if (migration === undefined) continue
    const from = Number(key)
    if (!isVersion(from) || from >= version) {
      throw refuse(`there is a migration from version ${key}, which is none before version ${version}`)
    }
    if (!isMigration(migration)) throw refuse(`the migration from version ${key} is no function`)
    migrations.set(from, migration)
  }
  const oldest = Math.min(version, ...migrations.keys())
  for (let from = oldest; from < version; from++) {
    if (!migrations.has(from))
      throw refuse(`there is no migration from version ${from}, and one from version ${oldest}`)
  }
  return { version, oldest, migrations }
}
