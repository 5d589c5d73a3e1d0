/**
 * Whatever is given to an operation in place of what it takes, as code without types may: it is taken, or refused by a typed error that says which part is
 * wrong, and nothing is written.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Commit from "holdfast/Commit"
import * as Control from "holdfast/Control"
import * as Definition from "holdfast/Definition"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import type { StoreRejected } from "holdfast/StoreError"
import { longer, share } from "../support/extent.js"

type Arguments = ReadonlyArray<unknown>

const event = Event.make({ id: "given", kind: "k", data: { a: [1] } })
const emit: Commit.Emit = { targetId: "other", event, dueAt: 5 }
const timer = { executionId: "other", path: "p", fireAt: 1 }
const run = { seq: 987_654, claim: "c" }
const seq = { _tag: "Outbox", seq: 987_654 }

const commit: Commit.Commit = {
  emits: [emit],
  timers: [Commit.scheduleTimer("p", 1), Commit.cancelTimer("q")],
  spawns: [{ childId: "child", rootPath: "r", context: { a: [1] } }],
  activities: [
    Commit.runActivity({ key: "k", name: "n", payload: { a: 1 }, limitKey: "l" }),
    Commit.cancelActivity("m")
  ],
  attributes: { a: "b" },
  processed: "seen",
  ack: { _tag: "Timer", ...timer },
  trace: Commit.traceStep({ eventKind: "k", timestamp: 1, fromPath: "a", actions: ["b"] })
}

const execution = Execution.make({
  id: "other",
  definitionId: "d",
  context: { a: 1 },
  history: { a: "b" },
  deferred: [event],
  children: {
    child: { rootPath: "r", finished: false, outcome: null, result: {}, submachine: false, key: "k", extra: {} }
  },
  invokeSeq: { a: 1 }
})

const bare = Execution.make({ id: "other", definitionId: "d" })

/** Every operation and what it is given, all of it right. What is given stands for nothing that is stored. */
const operations: { readonly [path: string]: Arguments } = {
  load: ["other"],
  loadForEvent: ["other", "e"],
  loadForEvents: [[{ id: "other", eventId: "e", timer: { path: "p", fireAt: 1 } }]],
  commit: [execution, commit],
  commitEach: [
    [{ execution: bare, commit: { emits: [emit] }, fence: { pool: "p", name: "n", holder: "h", fence: 1 } }]
  ],
  save: [bare],
  isProcessed: ["other", "e"],
  listExecutions: [
    {
      definitionId: "d",
      definitionVersion: 1,
      status: ["RUNNING"],
      rootsOnly: true,
      parentId: "x",
      idPrefix: "x",
      attributes: { a: 1 },
      limit: 1
    }
  ],
  countExecutions: [{ definitionId: "d", status: ["RUNNING"], attributes: { a: 1 } }],
  enqueue: [[emit], { reservedIds: "accept" }],
  pendingOutbox: [{ after: 0, limit: 1, except: ["d"], executions: true }],
  ackOutbox: [987_654],
  pendingSpawns: [{ after: 0, limit: 1, except: ["d"] }],
  ackSpawn: [987_654],
  dueTimers: [1, { after: timer, limit: 1, except: ["d"] }],
  deleteTimer: [timer],
  unserved: [{ definitions: ["d"], activities: ["a"] }],
  workOf: ["other", { limit: 1 }],
  verify: [{ limit: 1 }],
  appendTrace: ["other", commit.trace],
  readTrace: ["other"],
  purge: ["other", 1],
  idsWithPrefix: ["other"],
  publishDefinition: [{ definitionId: "d", version: 1, digest: "x", source: "{}", publishedAt: 1 }],
  loadDefinition: ["d", 1],
  "delayed.release": [1, 1],
  "spawns.isParent": ["other"],
  "spawns.isPending": ["other"],
  "spawns.drop": ["other"],
  "timers.isArmed": [timer],
  "attributes.of": ["other"],
  "attributes.set": ["other", 1, { a: "b" }],
  "deadLetters.recordFailure": [{ work: seq, attempts: 1, error: "e", retryAt: 1 }],
  "deadLetters.bury": [seq, { reason: "attempts", attempts: 1, error: "e" }, { emit, notice: emit }],
  "deadLetters.list": [{ kind: "Timer", reason: ["attempts"], executionId: "other", diedBefore: 1, limit: 1 }],
  "deadLetters.redrive": [987_654],
  "deadLetters.discard": [987_654],
  "activities.list": [{ after: 0, limit: 1 }],
  "activities.of": ["other"],
  "activities.waiting": ["o"],
  "activities.claim": [{ name: "n", owner: "o", limit: 1, concurrency: 1, rate: { limit: 1, window: 1 }, after: "a" }],
  "activities.complete": [run, "other", event],
  "activities.fail": [run, { attempts: 1, error: "e", retryAt: 1 }],
  "activities.release": [run, 1, { whileHalted: true }],
  "activities.drop": [run],
  "activities.releaseAll": ["o"],
  "activities.owned": ["o"],
  "activities.cancel": ["other", "k", () => event],
  "ledger.prune": [1, { after: 0, limit: 1 }],
  "leases.load": ["p"],
  "leases.renew": [
    {
      pool: "p",
      holder: "h",
      ttl: 1,
      evict: [{ holder: "x", beat: "b" }],
      release: [{ name: "n", fence: 1 }],
      claim: ["c"]
    }
  ],
  "leases.leave": ["p", "h"]
}

/** What gives no effect that could fail. */
const withoutFailure = ["recall", "listen", "listenToOthers"]

const wrongs: ReadonlyArray<readonly [name: string, value: unknown]> = [
  ["undefined", undefined],
  ["null", null],
  ["a string", "wrong"],
  ["a number", 7.5],
  ["NaN", Number.NaN],
  ["a bigint", 7n],
  ["a boolean", true],
  ["a symbol", Symbol("wrong")],
  ["a function", () => "wrong"],
  ["an array", [1, null]],
  ["an empty object", {}],
  ["an object without a prototype", Object.create(null)],
  ["a date that is none", new Date(Number.NaN)],
  ["a map", new Map([["a", 1]])]
]

const isRecord = (u: unknown): u is { readonly [key: string]: unknown } => Predicate.isReadonlyRecord(u)

/** A value with each of its parts in turn put to another one, and which part that is. */
const changed = (
  value: unknown,
  wrong: unknown,
  path: string
): ReadonlyArray<readonly [path: string, changed: unknown]> => {
  const inner = Array.isArray(value)
    ? value.flatMap((item: unknown, i) =>
        changed(item, wrong, `${path}[${i}]`).map(([at, other]) => [at, value.with(i, other)] as const)
      )
    : isRecord(value)
      ? Object.entries(value).flatMap(([key, member]) =>
          changed(member, wrong, `${path}.${key}`).map(([at, other]) => [at, { ...value, [key]: other }] as const)
        )
      : []
  return [[path, wrong], ...inner]
}

/** Parts that must be there, and which of the wrong values could be none of them. */
const isNeeded = (at: string, wrong: unknown): boolean =>
  at.endsWith("_tag") ||
  (/\.(event|id|path|fireAt|rootPath|key)$/.test(at) && !["string", "number", "undefined"].includes(typeof wrong))

const functionAt = (subject: unknown, path: string): unknown =>
  path.split(".").reduce<unknown>((at, key) => (Predicate.isObject(at) ? Reflect.get(at, key) : undefined), subject)

const isEffect = (u: unknown): u is Effect.Effect<unknown, unknown> => Effect.isEffect(u)

const isStream = (u: unknown): u is Stream.Stream<unknown, unknown> => Predicate.hasProperty(u, Stream.StreamTypeId)

const call = (subject: unknown, path: string, given: Arguments): Effect.Effect<unknown, unknown> =>
  Effect.suspend(() => {
    const operation = functionAt(subject, path)
    const made: unknown = Predicate.isFunction(operation) ? Reflect.apply(operation, undefined, given) : undefined
    if (isStream(made)) return Stream.runDrain(made)
    return isEffect(made) ? made : Effect.dieMessage(`${path} gave no effect`)
  })

const errorsOf = (exit: Exit.Exit<unknown, unknown>): ReadonlyArray<unknown> => {
  if (Exit.isFailure(exit)) {
    return [Option.getOrElse(Cause.failureOption(exit.cause), () => `a defect: ${Cause.pretty(exit.cause)}`)]
  }
  return Array.isArray(exit.value)
    ? exit.value.flatMap((one: unknown) => (Exit.isExit(one) && Exit.isFailure(one) ? errorsOf(one) : []))
    : []
}

const typedErrors = [
  ...["StoreRejected", "StoreConflict", "StoreCorrupt", "InvalidInput", "AlreadyExists", "ExecutionMissing"],
  ...["NoSuchExecution", "NoProcessor", "ExecutionNotFound"]
]

const isTyped = (error: unknown): error is Error =>
  Predicate.hasProperty(error, "_tag") && typedErrors.includes(String(error._tag)) && error instanceof Error

/** All that a store has. */
const stateOf = (store: ExecutionStore.ExecutionStore) =>
  Effect.all([store.stats, store.listExecutions(), store.workOf("other"), store.readTrace("other"), store.leases.pools])

const functionsOf = (store: ExecutionStore.ExecutionStore): ReadonlyArray<string> =>
  Object.entries(store).flatMap(([key, value]) => {
    if (typeof value === "function") return [key]
    if (!isRecord(value) || Effect.isEffect(value) || Option.isOption(value)) return []
    return Object.entries(value).flatMap(([name, inner]) => (typeof inner === "function" ? [`${key}.${name}`] : []))
  })

/** Whether an error is one for people, which names an argument that is wrong as a whole. */
const isSaid = (error: unknown, part: string): boolean => {
  if (!isTyped(error) || /Cannot|is not (a function|iterable)|reading '/.test(error.message)) return false
  const names = error.name === "StoreRejected" || error.name === "InvalidInput"
  return !names || part.length > 1 || (Predicate.hasProperty(error, "path") && error.path !== undefined)
}

/**
 * Gives an operation each wrong value in each place. What is refused is so by a typed error, which names a whole argument that is wrong and has no text of a
 * machine, and writes nothing.
 */
const refusesAll = (
  path: string,
  given: Arguments,
  subjectOf: (store: ExecutionStore.ExecutionStore) => Effect.Effect<unknown, StoreRejected, Scope.Scope>
) =>
  Effect.gen(function* () {
    const found: Array<string> = []
    const make = Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const scope = yield* Scope.make()
      return { store, scope, subject: yield* Scope.extend(subjectOf(store), scope) }
    })
    const untouched = yield* Effect.flatMap(make, ({ store }) => stateOf(store))
    for (const [name, wrong] of share(wrongs, path.length, 3)) {
      let at = yield* make
      for (const [i, right] of given.entries()) {
        for (const [part, value] of changed(right, wrong, `${i}`)) {
          const exit = yield* call(at.subject, path, given.with(i, value)).pipe(
            Effect.provideService(ExecutionStore.ExecutionStore, at.store),
            Effect.exit
          )
          const errors = errorsOf(exit)
          if (errors.length === 0) {
            if (isNeeded(part, wrong)) found.push(`${part} as ${name} is taken`)
            yield* Scope.close(at.scope, Exit.void)
            at = yield* make
          }
          found.push(...errors.flatMap((error) => (isSaid(error, part) ? [] : [`${part} as ${name}: ${error}`])))
        }
      }
      assert.deepStrictEqual(yield* stateOf(at.store), untouched, `${name}: something was written`)
      yield* Scope.close(at.scope, Exit.void)
    }
    assert.deepStrictEqual(found, [])
  })

describe("What an operation of a store does not take", () => {
  for (const [path, given] of Object.entries(operations)) {
    it.scoped(longer(`${path} refuses, and says what of it`), () =>
      refusesAll(path, given, (store) => Effect.succeed(store))
    )
  }

  it.effect("is tried with each operation that there is", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.make()
      const tried = [...Object.keys(operations), ...withoutFailure]
      assert.deepStrictEqual(functionsOf(store).toSorted(), tried.toSorted())
    })
  )
})

const Counter = Definition.make("counter", {
  context: Schema.Struct({ n: Schema.Number }),
  events: { Add: Schema.Struct({ by: Schema.Number }) },
  attributes: { n: ({ n }) => n }
})

const input = { n: 1 }
const filter = { where: { n: 1 }, status: ["RUNNING"] }

/** What a client is given. */
const ofClient: { readonly [path: string]: Arguments } = {
  start: ["other", input],
  startOrGet: ["other", input],
  startMany: [[{ id: "other", input }]],
  send: ["other", "Add", { by: 1 }, { id: "e", after: "1 second" }],
  get: ["other"],
  list: [{ ...filter, limit: 1 }],
  filter: [filter],
  count: [filter],
  reindex: [{ dryRun: true, limit: 1 }]
}

describe("What a client does not take", () => {
  for (const [path, given] of Object.entries(ofClient)) {
    it.scoped(longer(`${path} refuses, and says what of it`), () =>
      refusesAll(path, given, () => Effect.succeed(Counter))
    )
  }
})

/** What a runtime is given: the parts of it go on to the store. */
const ofRuntime: { readonly [path: string]: Arguments } = {
  create: [bare, { emits: [] }],
  start: [bare, {}],
  send: ["other", event, { reservedIds: "accept" }],
  process: ["other", event, { reservedIds: "accept", ack: seq }]
}

describe("What a runtime does not take", () => {
  for (const [path, given] of Object.entries(ofRuntime)) {
    it.scoped(longer(`${path} refuses, and says what of it`), () =>
      refusesAll(path, given, (store) =>
        Effect.provideService(
          ExecutionRuntime.make({ definitions: { d: (execution) => Effect.succeed({ execution }) } }),
          ExecutionStore.ExecutionStore,
          store
        )
      )
    )
  }
})

/** What an operator gives. */
const ofControl: { readonly [path: string]: Arguments } = {
  "many.terminate": [
    { status: ["RUNNING"], idPrefix: "x", attributes: { a: 1 } },
    { limit: 1, dryRun: true }
  ],
  "many.deadLetters.discard": [{ kind: "Timer", reason: ["attempts"], diedBefore: 1 }, { limit: 1 }]
}

describe("What an operator cannot give", () => {
  for (const [path, given] of Object.entries(ofControl)) {
    it.scoped(longer(`${path} refuses, and says what of it`), () =>
      refusesAll(path, given, (store) => Effect.provideService(Control.make(), ExecutionStore.ExecutionStore, store))
    )
  }
})
