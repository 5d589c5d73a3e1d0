import * as Array from "effect/Array"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { CheckOptions, CheckProblem } from "../../Definition.js"
import * as Event from "../../Event.js"
import type * as Execution from "../../Execution.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import * as Step from "../../Step.js"
import type { StoreCorrupt, StoreError } from "../../StoreError.js"
import { forVersion } from "../processor/registry.js"
import { makeAt } from "../processor/step.js"
import * as checkWork from "./checkWork.js"
import { type Found, misread, quoted, unnamed } from "./checkWork.js"
import type { Contract } from "./contract.js"
import { endedChild } from "./incoming.js"
import * as migrations from "./migrations.js"

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

/** Which children are none of the definition, or have ended with something else. */
const unknownChildren = ({ contract, execution }: checkWork.Taken): ReadonlyArray<Found> => {
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

const fine: checkWork.Checked = { found: [], rest: Stream.empty }

/** All that is wrong with one execution. */
const problemsOf = (
  deployed: Deployed,
  execution: Execution.Execution,
  { deadLetters = true }: CheckOptions
): Effect.Effect<checkWork.Checked, StoreError, ExecutionStore> =>
  Effect.gen(function* () {
    const contract = takes(deployed, execution)
    if (contract === undefined) {
      const versions = deployed.contracts.map(({ version }) => version).join(", ")
      const problem = `it is of version ${execution.definitionVersion}, and nothing leads from there to ${versions}: its work would wait`
      return { ...fine, found: [{ subject: "version", path: "", problem }] }
    }
    const taken = { contract, execution: begun(contract, execution) }
    const ended = execution.status === "DONE" || execution.status === "CANCELLED"
    const work = ended ? fine : yield* checkWork.check(taken, deadLetters)
    return { ...work, found: [...misread(contract, execution), ...unknownChildren(taken), ...work.found] }
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

type Problems = Stream.Stream<CheckProblem, StoreError, ExecutionStore>

/** Looks at an execution, of whose work all but the first page is read when it is asked for. */
const checkOne = (
  deployed: Deployed,
  id: string,
  options: CheckOptions
): Effect.Effect<Problems, StoreError, ExecutionStore> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const loaded = yield* store.load(id)
    // Purged meanwhile.
    if (Option.isNone(loaded)) return Stream.empty
    const { definitionVersion } = loaded.value
    const { found, rest } = yield* problemsOf(deployed, loaded.value, options)
    return Stream.map(Stream.concat(Stream.fromIterable(found), rest), ({ path, problem, subject }) => ({
      definition: deployed.name,
      executionId: id,
      definitionVersion,
      subject,
      path,
      problem
    }))
  }).pipe(Effect.catchTag("StoreCorrupt", (row) => Effect.succeed(Stream.make(corrupt(deployed.name)(row)))))

const checkDeployed = (deployed: Deployed, options: CheckOptions): Problems =>
  Stream.flatMap(pages(deployed.name, options), (page) =>
    Stream.fromIterable(page.items).pipe(
      Stream.mapEffect(({ id }) => checkOne(deployed, id, options), { concurrency: together }),
      Stream.flatten(),
      (problems) => Stream.concat(Stream.fromIterable(page.corrupt.map(corrupt(deployed.name))), problems)
    )
  )

/** What of all that is stored the definitions could not take. */
export const check = (
  contracts: Iterable<Contract>,
  options: CheckOptions = {}
): Stream.Stream<CheckProblem, StoreError, ExecutionStore> =>
  Stream.flatMap(Stream.fromIterable(byName(contracts)), (deployed) => checkDeployed(deployed, options))
