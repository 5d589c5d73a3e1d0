import * as Array from "effect/Array"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { ActivityEntry, SpawnEntry } from "../../Commit.js"
import type { CheckOptions, CheckProblem } from "../../Definition.js"
import * as Event from "../../Event.js"
import * as Execution from "../../Execution.js"
import { ExecutionStore, type PendingWork } from "../../ExecutionStore.js"
import * as Step from "../../Step.js"
import type { StoreCorrupt, StoreError } from "../../StoreError.js"
import type { Problem } from "../processor/parseProblem.js"
import { forVersion } from "../processor/registry.js"
import { named } from "../processor/stepChildren.js"
import { makeAt } from "../processor/step.js"
import * as attributes from "./attributes.js"
import type { Contract } from "./contract.js"
import { arrive, endedChild } from "./incoming.js"
import * as instance from "./instance.js"
import * as migrations from "./migrations.js"

/** What is wrong, and with what. */
interface Found extends Problem {
  readonly subject: string
}

const quoted = (text: string): string => JSON.stringify(text)

/** The versions of a definition that are deployed together. */
export interface Deployed {
  readonly name: string
  readonly contracts: ReadonlyArray<Contract>
}

export const byName = (contracts: Iterable<Contract>): ReadonlyArray<Deployed> =>
  Object.entries(Array.groupBy(contracts, ({ name }) => name)).map(([name, contracts]) => ({ name, contracts }))

/** Which of the versions would run an execution. */
export const takes = ({ contracts }: Deployed, { definitionVersion }: Execution.Execution): Contract | undefined =>
  forVersion(
    contracts.map((contract) => ({ version: contract.version, from: contract.oldest, contract })),
    definitionVersion
  )?.contract

/** The execution as its step would begin with it; as it is stored, where it does not come so far. */
const begun = (contract: Contract, execution: Execution.Execution): Execution.Execution =>
  Either.getOrElse(migrations.migrate(contract, execution), () => execution)

/** What of the context, and of an end, does not decode, and what attribute cannot be made of it. */
export const misread = (contract: Contract, execution: Execution.Execution): ReadonlyArray<Found> =>
  Either.match(instance.decode(contract, execution), {
    onLeft: ({ part, path, problem }): ReadonlyArray<Found> => [{ subject: part, path, problem }],
    onRight: ({ context }) =>
      Either.match(attributes.of(contract, context), {
        onLeft: ({ path, problem, subject }): ReadonlyArray<Found> => [{ subject, path, problem }],
        onRight: () => []
      })
  })

const unnamed = ({ name, version }: Contract, subject: string, becomes: string): Found => ({
  subject,
  path: "",
  problem: `definition ${quoted(name)} does not name it in version ${version}: ${becomes}`
})

/** What of the events that are on their way does not arrive. */
const undelivered = (
  contract: Contract,
  execution: Execution.Execution,
  { delayed, events, timers }: PendingWork
): ReadonlyArray<Found> => {
  const incoming = [
    ...events.map(({ event }) => event),
    ...delayed.map(({ event }) => event),
    ...timers.map(({ executionId, fireAt, path }) => Event.timeout(executionId, path, fireAt))
  ]
  return incoming.flatMap((event) =>
    // Whether there is a handler for notices only an implementation says.
    Either.match(arrive(contract, makeAt({ ...execution, context: undefined }, event, 0), true), {
      onLeft: ({ path, problem, subject }): ReadonlyArray<Found> => [{ subject, path, problem }],
      onRight: () => []
    })
  )
}

/** Which activities that have not ended are none of the definition, or were asked for something else. */
const unknownActivities = (
  contract: Contract,
  activities: ReadonlyArray<Pick<ActivityEntry, "name" | "payload">>
): ReadonlyArray<Found> =>
  activities.flatMap(({ name, payload }): ReadonlyArray<Found> => {
    const activity = Array.fromIterable(contract.activities.values()).find((activity) => activity.name === name)
    if (activity === undefined) {
      if (contract.onUnknownEvent === "ignore") return []
      return [unnamed(contract, `activity ${quoted(name)}`, "its outcome would be a dead letter")]
    }
    return Either.match(activity.payload.decode(payload), {
      onLeft: (problem): ReadonlyArray<Found> => [{ subject: `payload of activity ${quoted(name)}`, ...problem }],
      onRight: () => []
    })
  })

/** Which children are none of the definition, or have ended with something else. */
const unknownChildren = (contract: Contract, execution: Execution.Execution): ReadonlyArray<Found> => {
  const step = makeAt({ ...execution, context: undefined }, Event.make({ id: "check", kind: "Check" }), 0)
  const children = Step.children(step)
  const waitedFor = new Set(children.flatMap(({ finished, key }) => (finished ? [] : [key])))
  return [
    ...Array.fromIterable(waitedFor)
      .filter((key) => !contract.children.has(key))
      .map((key) => unnamed(contract, `children ${quoted(key)}`, "no handler would hear of their end")),
    ...children.flatMap((state): ReadonlyArray<Found> => {
      const child = contract.children.get(state.key)
      if (child === undefined || !state.finished || !waitedFor.has(state.key)) return []
      return Either.match(endedChild(child, step, state), {
        onLeft: ({ path, problem, subject }) => [{ subject, path, problem }],
        onRight: () => []
      })
    })
  ]
}

/** What of the children that are still to be created does not decode by their definition. */
const unborn = (contract: Contract, spawns: ReadonlyArray<SpawnEntry>): ReadonlyArray<Found> =>
  spawns.flatMap((spawn): ReadonlyArray<Found> => {
    const made = named(spawn)
    const child = Array.fromIterable(contract.children.values()).find(({ name }) => name === made?.definitionId)
    if (made === undefined || child === undefined) return []
    return misread(child, Execution.make({ id: spawn.childId, ...made })).map(({ path, problem }) => ({
      subject: `context of child ${quoted(spawn.childId)}`,
      path,
      problem
    }))
  })

const noWork: PendingWork = { events: [], delayed: [], timers: [], spawns: [], failures: [], corrupt: [] }

/** The most work of one kind that is looked at for an execution. */
const mostWork = 1000

/** All that is wrong with one execution. */
const problemsOf = (
  deployed: Deployed,
  execution: Execution.Execution
): Effect.Effect<ReadonlyArray<Found>, StoreError, ExecutionStore> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const contract = takes(deployed, execution)
    if (contract === undefined) {
      const versions = deployed.contracts.map(({ version }) => version).join(", ")
      const problem = `it is of version ${execution.definitionVersion}, and nothing leads from there to ${versions}: its work would wait`
      return [{ subject: "version", path: "", problem }]
    }
    const ended = execution.status === "DONE" || execution.status === "CANCELLED"
    const work = ended ? noWork : yield* store.workOf(execution.id, mostWork)
    const activities = ended ? [] : yield* store.activities.of(execution.id)
    const began = begun(contract, execution)
    return [
      ...misread(contract, execution),
      ...undelivered(contract, began, work),
      ...unknownActivities(contract, activities),
      ...unknownChildren(contract, began),
      ...unborn(contract, work.spawns),
      ...work.corrupt.map(({ key, problem, table }) => ({ subject: `row ${key} of ${table}`, path: "", problem }))
    ]
  })

/** How many executions are looked at together. */
const together = 32

export const corrupt =
  (definition: string) =>
  ({ key, problem }: StoreCorrupt): CheckProblem => ({
    definition,
    executionId: key,
    definitionVersion: null,
    subject: "row",
    path: "",
    problem
  })

const checkOne = (
  deployed: Deployed,
  id: string
): Effect.Effect<ReadonlyArray<CheckProblem>, StoreError, ExecutionStore> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const loaded = yield* store.load(id)
    // Purged meanwhile.
    if (Option.isNone(loaded)) return []
    const { definitionVersion } = loaded.value
    const found = yield* problemsOf(deployed, loaded.value)
    return found.map(({ path, problem, subject }) => ({
      definition: deployed.name,
      executionId: id,
      definitionVersion,
      subject,
      path,
      problem
    }))
  }).pipe(Effect.catchTag("StoreCorrupt", (row) => Effect.succeed([corrupt(deployed.name)(row)])))

/** A failed one may be redriven. */
const goingOn: ReadonlyArray<Execution.Status> = ["PENDING", "RUNNING", "SUSPENDED", "CANCELLING", "FAILED"]

/** The pages of the executions of a definition that have not ended, or of all. */
export const pages = (name: string, { ended = false }: CheckOptions) =>
  Stream.paginateEffect(undefined, (cursor: string | undefined) =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const status = ended ? undefined : goingOn
      const page = yield* store.listExecutions({ definitionId: name, status, cursor })
      return [page, Option.map(page.nextCursor, (cursor): string | undefined => cursor)]
    })
  )

const checkDeployed = (
  deployed: Deployed,
  options: CheckOptions
): Stream.Stream<CheckProblem, StoreError, ExecutionStore> =>
  pages(deployed.name, options).pipe(
    Stream.mapEffect((page) =>
      Effect.map(
        Effect.forEach(page.items, ({ id }) => checkOne(deployed, id), { concurrency: together }),
        (found) => [...page.corrupt.map(corrupt(deployed.name)), ...found.flat()]
      )
    ),
    Stream.flattenIterables
  )

/** What of all that is stored the definitions could not take. */
export const check = (
  contracts: Iterable<Contract>,
  options: CheckOptions = {}
): Stream.Stream<CheckProblem, StoreError, ExecutionStore> =>
  Stream.flatMap(Stream.fromIterable(byName(contracts)), (deployed) => checkDeployed(deployed, options))
