import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { Client, Instance, InstancePage, InstanceQuery, SendOptions, Spec, StartedMany } from "../../Definition.js"
import {
  AlreadyExists,
  ExecutionCancelled,
  ExecutionFailed,
  ExecutionMissing,
  InvalidInput,
  OtherDefinition,
  type StoredInvalid
} from "../../DefinitionError.js"
import * as Event from "../../Event.js"
import * as Execution from "../../Execution.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import * as Ids from "../../Ids.js"
import type { StoreError } from "../../StoreError.js"
import { toFiniteDuration } from "../options/fields.js"
import type { Problem } from "../processor/parseProblem.js"
import { awaitEnd } from "./awaitEnd.js"
import { type Contract, initialContext } from "./contract.js"
import * as instance from "./instance.js"

/** How many executions of `startMany` are on their way at once: so many can share a transaction. */
const startedAtOnce = 512

const refuse =
  ({ name }: Contract, executionId: string, operation: InvalidInput["operation"], subject: string) =>
  (problem: Problem): InvalidInput =>
    new InvalidInput({ definition: name, executionId, operation, subject, ...problem })

const created = (contract: Contract, id: string, input: unknown): Either.Either<Execution.Execution, InvalidInput> =>
  Either.mapBoth(initialContext(contract, input), {
    onLeft: refuse(contract, id, "start", "input"),
    onRight: (context) =>
      Execution.make({ id, definitionId: contract.name, definitionVersion: contract.version, context })
  })

const store = (
  execution: Execution.Execution
): Effect.Effect<Execution.Execution, AlreadyExists | StoreError, ExecutionStore> =>
  Effect.flatMap(ExecutionStore, (store) =>
    store.commit(execution, { emits: [{ targetId: execution.id, event: Event.start(execution.id) }] })
  ).pipe(
    Effect.map((committed) => committed.execution),
    Effect.catchTag("StoreConflict", () => new AlreadyExists({ executionId: execution.id }))
  )

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
      const outcomes = yield* Effect.forEach(
        made,
        (execution) =>
          store(execution).pipe(
            Effect.as(true),
            Effect.catchTag("AlreadyExists", () => Effect.succeed(false))
          ),
        { concurrency: startedAtOnce }
      )
      const ids = (started: boolean) => made.filter((_, i) => outcomes[i] === started).map(({ id }) => id)
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

const list =
  (contract: Contract) =>
  (query: InstanceQuery = {}): Effect.Effect<InstancePage<Spec>, StoreError, ExecutionStore> =>
    Effect.gen(function* () {
      const store = yield* ExecutionStore
      const page = yield* store.listExecutions({ ...query, definitionId: contract.name })
      const corrupt = [...page.corrupt]
      const items: Array<Instance<Spec>> = []
      const invalid: Array<StoredInvalid> = []
      const loaded = yield* Effect.forEach(page.items, ({ id }) => Effect.either(store.load(id)), { concurrency: 64 })
      for (const execution of loaded) {
        if (Either.isLeft(execution)) {
          if (execution.left._tag !== "StoreCorrupt") return yield* execution.left
          corrupt.push(execution.left)
        } else if (Option.isSome(execution.right)) {
          const decoded = instance.decode(contract, execution.right.value)
          if (Either.isRight(decoded)) items.push(decoded.right)
          else invalid.push(decoded.left)
        }
      }
      return { items, invalid, corrupt, nextCursor: page.nextCursor }
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

/** The client of a definition. */
export const make = (contract: Contract): Client<Spec> => {
  const decode = (execution: Execution.Execution) => instance.decode(contract, execution)
  const wait = awaitResult(contract)
  const startOne = start(contract)

  return {
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
    await: wait,
    run: (id, input) =>
      startOne(id, input).pipe(
        Effect.catchTag("AlreadyExists", () => Effect.void),
        Effect.zipRight(wait(id))
      )
  }
}
