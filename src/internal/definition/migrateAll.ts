import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { originOfCommand, traceStep } from "../../Commit.js"
import type { CheckProblem, MigratedAll, MigrateOptions } from "../../Definition.js"
import type { Attributes, Execution } from "../../Execution.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { StoreConflict, StoreError } from "../../StoreError.js"
import { writtenStored } from "./attributes.js"
import { byName, corrupt, type Deployed, pages, takes } from "./check.js"
import { misread } from "./checkWork.js"
import type { Contract } from "./contract.js"
import * as migrations from "./migrations.js"

const command = "migrate"

/** What became of an execution: whether it was written, and what is wrong with it. */
interface Outcome {
  readonly migrated: boolean
  readonly problems: ReadonlyArray<CheckProblem>
}

const nothing: Outcome = { migrated: false, problems: [] }

/** An execution as it is to be written, and what it is found by. */
interface Migrated {
  readonly execution: Execution
  readonly attributes: Attributes | undefined
}

/** An execution in the version that would run it, where that is not its own; or why it cannot be that. */
const migrated = (
  deployed: Deployed,
  before: Execution
): Option.Option<Either.Either<Migrated, Outcome["problems"]>> => {
  const contract = takes(deployed, before)
  if (contract === undefined || contract.version === before.definitionVersion) return Option.none()
  const unfit = misread(contract, before).filter(({ subject }) => subject !== "result" && subject !== "error")
  if (unfit.length > 0) {
    const { definitionVersion, id: executionId } = before
    const problems = unfit.map((found) => ({ definition: deployed.name, executionId, definitionVersion, ...found }))
    return Option.some(Either.left(problems))
  }
  return Option.some(
    Either.mapLeft(
      Either.gen(function* () {
        const execution = yield* migrations.migrate(contract, before)
        return { execution, attributes: yield* writtenStored(contract, execution.context) }
      }),
      () => []
    )
  )
}

const write = (
  deployed: Deployed,
  id: string,
  dryRun: boolean
): Effect.Effect<Outcome, StoreConflict | StoreError, ExecutionStore> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const before = yield* store.load(id)
    if (Option.isNone(before)) return nothing
    const made = migrated(deployed, before.value)
    if (Option.isNone(made)) return nothing
    if (Either.isLeft(made.value)) return { migrated: false, problems: made.value.left }
    if (dryRun) return { migrated: true, problems: [] }
    const { attributes, execution: after } = made.value.right
    const trace = traceStep({
      eventKind: "Control",
      eventData: { command, from_version: before.value.definitionVersion, to_version: after.definitionVersion },
      fromPath: before.value.activePath,
      toPath: after.activePath,
      contextOut: after.context,
      timestamp: (yield* Clock.currentTimeMillis) / 1000
    })
    const { definitionVersion } = before.value
    return yield* store.commit(after, { trace, origin: originOfCommand(before.value, command), attributes }).pipe(
      Effect.as<Outcome>({ migrated: true, problems: [] }),
      Effect.catchTag("StoreRejected", (error) => {
        // Such as a context that has become too large. The others are migrated all the same.
        if (error.reason !== "invalid-input" && error.reason !== "too-large") return error
        const { detail: problem, path = "" } = error
        const found = { definition: deployed.name, executionId: id, definitionVersion, subject: "context" }
        return Effect.succeed<Outcome>({ migrated: false, problems: [{ ...found, path, problem }] })
      })
    )
  })

const conflictRetry = Schedule.exponential("5 millis").pipe(Schedule.jittered, Schedule.intersect(Schedule.recurs(9)))

/** Migrates an execution. One to which other commits come first each time is left to these: they migrate it. */
const one = (deployed: Deployed, id: string, dryRun: boolean): Effect.Effect<Outcome, StoreError, ExecutionStore> =>
  write(deployed, id, dryRun).pipe(
    Effect.retry({ schedule: conflictRetry, while: (error) => error._tag === "StoreConflict" }),
    Effect.catchTags({
      StoreConflict: () => Effect.succeed(nothing),
      StoreCorrupt: (row) => Effect.succeed({ migrated: false, problems: [corrupt(deployed.name)(row)] })
    })
  )

/** How many executions are on their way at once: so many can share a transaction. */
const together = 64

/** Writes each execution that has not ended in the version that would run it, or finds out how many there are. */
export const migrateAll = (
  contracts: Iterable<Contract>,
  { dryRun = false }: MigrateOptions = {}
): Effect.Effect<MigratedAll, StoreError, ExecutionStore> =>
  Effect.gen(function* () {
    const problems: Array<CheckProblem> = []
    let migrated = 0
    const page = (deployed: Deployed, ids: ReadonlyArray<string>) =>
      Effect.map(
        Effect.forEach(ids, (id) => one(deployed, id, dryRun), { concurrency: together }),
        (outcomes) => {
          for (const outcome of outcomes) {
            if (outcome.migrated) migrated++
            problems.push(...outcome.problems)
          }
        }
      )
    for (const deployed of byName(contracts)) {
      yield* Stream.runForEach(pages(deployed.name, {}), (found) => {
        problems.push(...found.corrupt.map(corrupt(deployed.name)))
        return page(
          deployed,
          found.items.map(({ id }) => id)
        )
      })
    }
    return { migrated, problems }
  })
