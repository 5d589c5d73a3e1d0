import * as Array_ from "effect/Array"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { Commit } from "../../Commit.js"
import type {
  Client,
  InstanceFilter,
  InstancePage,
  InstanceQuery,
  Reindexed,
  ReindexOptions,
  SendOptions,
  Spec,
  StartedMany
} from "../../Definition.js"
import {
  AlreadyExists,
  ExecutionCancelled,
  ExecutionFailed,
  ExecutionMissing,
  InvalidInput,
  OtherDefinition,
  StoredInvalid
} from "../../DefinitionError.js"
import * as Event from "../../Event.js"
import * as Execution from "../../Execution.js"
import { type ExecutionFilter, ExecutionStore, type ListQuery } from "../../ExecutionStore.js"
import * as Ids from "../../Ids.js"
import type { StoreError, StoreRejected } from "../../StoreError.js"
import { rejected } from "../codec/validate.js"
import { toFiniteDuration } from "../options/fields.js"
import type { Problem } from "../processor/parseProblem.js"
import { flag, iterable, list as listOf, object, optional, plain, problemOf, taking, text } from "../shapes/shape.js"
import * as batchVariant from "../util/batchVariant.js"
import * as attributes from "./attributes.js"
import { awaitEnd } from "./awaitEnd.js"
import { type Contract, initialContext } from "./contract.js"
import * as instance from "./instance.js"

/** How many executions of `startMany` are on their way at once: so many can share a transaction. */
const startedAtOnce = 512

const refuse =
  ({ name }: Contract, executionId: string, operation: InvalidInput["operation"], subject: string) =>
  (problem: Problem): InvalidInput =>
    new InvalidInput({ definition: name, executionId, operation, subject, ...problem })

/** An execution that is to be stored, and what it is found by. */
interface Created {
  readonly execution: Execution.Execution
  readonly attributes: Execution.Attributes | undefined
}

const created = (contract: Contract, id: string, input: unknown): Either.Either<Created, InvalidInput> =>
  Either.gen(function* () {
    const refused = (subject: string) => refuse(contract, id, "start", subject)
    const context = yield* Either.mapLeft(initialContext(contract, input), refused("input"))
    return {
      execution: Execution.make({ id, definitionId: contract.name, definitionVersion: contract.version, context }),
      attributes: yield* Either.mapLeft(attributes.writtenStored(contract, context), (wrong) =>
        refused(wrong.subject)(wrong)
      )
    }
  })

/** The commit that stores an execution and starts it. */
const starting = ({ attributes, execution }: Created): Commit => ({
  emits: [{ targetId: execution.id, event: Event.start(execution.id) }],
  attributes
})

const store = (made: Created): Effect.Effect<Execution.Execution, AlreadyExists | StoreError, ExecutionStore> => {
  const { execution } = made
  return Effect.flatMap(ExecutionStore, (store) => store.commit(execution, starting(made))).pipe(
    Effect.map((committed) => committed.execution),
    Effect.catchTag("StoreConflict", () => new AlreadyExists({ executionId: execution.id }))
  )
}

/** Stores executions together, and tells of each whether it was there already: so many share their transactions. */
const storeEach = (made: ReadonlyArray<Created>): Effect.Effect<ReadonlyArray<boolean>, StoreError, ExecutionStore> =>
  Effect.flatMap(ExecutionStore, ({ commit, commitEach }) => {
    const exits = batchVariant.isOf(commitEach, commit)
      ? commitEach(made.map((one) => ({ execution: one.execution, commit: starting(one) })))
      : Effect.forEach(made, (one) => Effect.exit(commit(one.execution, starting(one))), { concurrency: "unbounded" })
    return Effect.flatMap(exits, (exits) =>
      Effect.forEach(
        exits,
        (exit): Effect.Effect<boolean, StoreError> =>
          Effect.catchAll(Effect.as(exit, true), (error) =>
            error._tag === "StoreConflict" ? Effect.succeed(false) : Effect.fail(error)
          )
      )
    )
  })

const start =
  (contract: Contract) =>
  (
    id: string,
    input: unknown
  ): Effect.Effect<Execution.Execution, AlreadyExists | InvalidInput | StoreError, ExecutionStore> =>
    Effect.flatMap(created(contract, id, input), store)

const load = (
  { name }: Contract,
  id: string
): Effect.Effect<Execution.Execution, ExecutionMissing | OtherDefinition | StoreError, ExecutionStore> =>
  Effect.gen(function* () {
    const found = yield* Effect.flatMap(ExecutionStore, (store) => store.load(id))
    if (Option.isNone(found)) return yield* new ExecutionMissing({ executionId: id })
    return yield* ofDefinition(name, found.value)
  })

const ofDefinition = (
  expected: string,
  execution: Execution.Execution
): Either.Either<Execution.Execution, OtherDefinition> =>
  execution.definitionId === expected
    ? Either.right(execution)
    : Either.left(new OtherDefinition({ executionId: execution.id, expected, found: execution.definitionId }))

const startMany =
  (contract: Contract) =>
  (
    executions: Iterable<{ readonly id: string; readonly input: unknown }>
  ): Effect.Effect<StartedMany, InvalidInput | StoreError, ExecutionStore> =>
    Effect.gen(function* () {
      const made = yield* Either.all(Array.from(executions, ({ id, input }) => created(contract, id, input)))
      const outcomes: Array<boolean> = []
      for (const some of Array_.chunksOf(made, startedAtOnce)) outcomes.push(...(yield* storeEach(some)))
      const ids = (started: boolean) =>
        made.filter((_, i) => outcomes[i] === started).map(({ execution }) => execution.id)
      return { started: ids(true), existing: ids(false) }
    })

const send =
  (contract: Contract) =>
  (
    id: string,
    kind: string,
    payload: unknown,
    options: SendOptions = {}
  ): Effect.Effect<string, InvalidInput | StoreError, ExecutionStore> =>
    Effect.gen(function* () {
      const refused = refuse(contract, id, "send", `payload of event ${kind}`)
      const codec = contract.events.get(kind)
      if (codec === undefined) {
        const known = Array.from(contract.events.keys()).join(", ")
        return yield* refused({ path: "", problem: `there is no such event, only ${known || "none"}` })
      }
      const data = yield* Either.mapLeft(codec.encode(payload), refused)
      const event = Event.make({ id: options.id ?? (yield* Ids.next), kind, data })
      const delayed = refuse(contract, id, "send", "delay")
      const dueAt = options.at ?? (options.after === undefined ? undefined : yield* later(delayed, options.after))
      yield* Effect.flatMap(ExecutionStore, (store) => store.enqueue([{ targetId: id, event, dueAt }]))
      return event.id
    })

const later = (
  refused: (problem: Problem) => InvalidInput,
  delay: Duration.DurationInput
): Effect.Effect<number, InvalidInput> =>
  Effect.gen(function* () {
    const after = toFiniteDuration(delay)
    if (Option.isNone(after)) return yield* refused({ path: "after", problem: "expected a finite duration" })
    return (yield* Clock.currentTimeMillis) / 1000 + Duration.toSeconds(after.value)
  })

/** The filter of the store, of one in the terms of the definition. The compiler finds first what the definition does not name. */
const filterOf = (
  contract: Contract,
  operation: string,
  { where = {}, ...filter }: InstanceFilter<Spec>
): Effect.Effect<ExecutionFilter, StoreRejected> => {
  const entries: Array<readonly [string, Execution.AttributeValue]> = []
  for (const [name, value] of Object.entries(where)) {
    const refused = (problem: string) => rejected({ operation }, `where.${name}`, problem)
    if (!contract.attributes.has(name)) {
      const known = Array.from(contract.attributes.keys()).join(", ")
      return refused(`definition ${contract.name} has no such attribute, only ${known || "none"}`)
    }
    if (value === undefined) return refused("is undefined, which would select all: leave it out")
    entries.push([name, value])
  }
  return Effect.succeed({ ...filter, definitionId: contract.name, attributes: Object.fromEntries(entries) })
}

/** A page of executions as they are stored, and what of it is none. */
const loadPage = (query: ListQuery) =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const page = yield* store.listExecutions(query)
    const corrupt = [...page.corrupt]
    const executions: Array<Execution.Execution> = []
    const loaded = yield* Effect.forEach(page.items, ({ id }) => Effect.either(store.load(id)), { concurrency: 64 })
    for (const execution of loaded) {
      if (Either.isRight(execution)) executions.push(...Option.toArray(execution.right))
      else if (execution.left._tag === "StoreCorrupt") corrupt.push(execution.left)
      else return yield* execution.left
    }
    return { store, executions, corrupt, nextCursor: page.nextCursor }
  })

const list =
  (contract: Contract) =>
  ({
    cursor,
    limit,
    ...filter
  }: InstanceQuery<Spec> = {}): Effect.Effect<InstancePage<Spec>, StoreError, ExecutionStore> =>
    Effect.gen(function* () {
      const selected = yield* filterOf(contract, "listExecutions", filter)
      const { corrupt, executions, nextCursor } = yield* loadPage({ ...selected, cursor, limit })
      const [invalid, items] = Array_.partitionMap(executions, (execution) => instance.decode(contract, execution))
      return { items, invalid, corrupt, nextCursor }
    })

const count =
  (contract: Contract) =>
  (filter: InstanceFilter<Spec> = {}): Effect.Effect<number, StoreError, ExecutionStore> =>
    Effect.flatMap(filterOf(contract, "countExecutions", filter), (selected) =>
      Effect.flatMap(ExecutionStore, (store) => store.countExecutions(selected))
    )

const isSame = (one: Execution.Attributes, other: Execution.Attributes): boolean => {
  const names = Object.keys(one)
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name])
}

/** What an execution is found by in the version of the definition, as which it is read. */
const attributesOf = (
  contract: Contract,
  execution: Execution.Execution
): Either.Either<Execution.Attributes, StoredInvalid> =>
  Either.flatMap(instance.contextOf(contract, execution), (context) =>
    Either.mapLeft(
      attributes.of(contract, context),
      ({ path, problem, subject }) =>
        new StoredInvalid({ executionId: execution.id, definition: contract.name, part: subject, path, problem })
    )
  )

const reindex =
  (contract: Contract) =>
  ({ cursor, dryRun = false, limit }: ReindexOptions = {}): Effect.Effect<Reindexed, StoreError, ExecutionStore> =>
    Effect.gen(function* () {
      const page = yield* loadPage({ definitionId: contract.name, cursor, limit })
      const { corrupt, executions, nextCursor, store } = page
      const [invalid, made] = Array_.partitionMap(executions, (execution) =>
        Either.map(attributesOf(contract, execution), (attributes) => ({ ...execution, attributes }))
      )
      const changed = yield* Effect.filter(
        made,
        ({ attributes, id }) => Effect.map(store.attributes.of(id), (stored) => !isSame(stored, attributes)),
        { concurrency: 64 }
      )
      if (!dryRun) {
        yield* Effect.forEach(changed, ({ attributes, id, version }) => store.attributes.set(id, version, attributes), {
          concurrency: 64,
          discard: true
        })
      }
      return { read: executions.length, changed: changed.map(({ id }) => id), invalid, corrupt, nextCursor }
    })

/** What an execution that has ended came to. */
const endOf = (contract: Contract, execution: Execution.Execution): Effect.Effect<unknown, unknown> => {
  const { error, id, outcome, status } = execution
  if (status === "DONE") return instance.resultOf(contract, execution)
  if (status === "CANCELLED") return new ExecutionCancelled({ executionId: id, outcome })
  return Effect.flatMap(
    instance.failureOf(contract, execution),
    Option.match({
      onNone: () => Effect.fail<unknown>(new ExecutionFailed({ executionId: id, error: error ?? "" })),
      onSome: Effect.fail
    })
  )
}

const awaitResult =
  (contract: Contract) =>
  (id: string): Effect.Effect<unknown, unknown, ExecutionStore> =>
    Effect.flatMap(ExecutionStore, (store) => awaitEnd(store, id)).pipe(
      Effect.flatMap((execution) => ofDefinition(contract.name, execution)),
      Effect.flatMap((execution) => endOf(contract, execution))
    )

const filterShape = optional(object({ where: optional(object()) }))

const idShape = ["id", text] as const

const startManyOf =
  (of: Client<Spec>["startMany"]): Client<Spec>["startMany"] =>
  (executions) =>
    Effect.suspend(() => {
      const whole = problemOf("start", [["executions", iterable]], [executions])
      if (whole !== undefined) return whole
      const given = Array.from(executions)
      return problemOf("start", [["executions", listOf(object({ id: text }))]], [given]) ?? of(given)
    })

/** A client that refuses what has another shape than it takes, as code without types may give it. */
const shaped = (of: Client<Spec>): Client<Spec> => ({
  ...of,
  start: taking("start", [idShape], of.start),
  startOrGet: taking("start", [idShape], of.startOrGet),
  run: taking("start", [idShape], of.run),
  get: taking("load", [idShape], of.get),
  await: taking("load", [idShape], of.await),
  startMany: startManyOf(of.startMany),
  send: taking(
    "send",
    [idShape, ["kind", text], plain, ["options", optional(object({ id: optional(text) }))]],
    of.send
  ),
  list: taking("listExecutions", [["query", filterShape]], of.list),
  filter: taking("filter", [["filter", filterShape]], of.filter),
  count: taking("countExecutions", [["filter", filterShape]], of.count),
  reindex: taking("reindex", [["options", optional(object({ dryRun: optional(flag) }))]], of.reindex)
})

/** The client of a definition. */
export const make = (contract: Contract): Client<Spec> => {
  const decode = (execution: Execution.Execution) => instance.decode(contract, execution)
  const wait = awaitResult(contract)
  const startOne = start(contract)

  return shaped({
    // What was just encoded by the schema decodes by it.
    start: (id, input) =>
      Effect.flatMap(startOne(id, input), (execution) =>
        Effect.mapError(decode(execution), (invalid) =>
          refuse(contract, id, "start", "input")({ path: invalid.path, problem: invalid.problem })
        )
      ),
    startOrGet: (id, input) =>
      startOne(id, input).pipe(
        Effect.catchTag("AlreadyExists", () => load(contract, id)),
        Effect.flatMap(decode)
      ),
    startMany: startMany(contract),
    send: send(contract),
    get: (id) => Effect.flatMap(load(contract, id), decode),
    list: list(contract),
    filter: (filter = {}) => filterOf(contract, "filter", filter),
    count: count(contract),
    reindex: reindex(contract),
    await: wait,
    run: (id, input) =>
      startOne(id, input).pipe(
        Effect.catchTag("AlreadyExists", () => Effect.void),
        Effect.zipRight(wait(id))
      )
  })
}
