/**
 * Random values of the models, for property tests. Whatever they give can be stored, and comes back equal.
 *
 * @since 0.1.0
 */
import * as FastCheck from "effect/FastCheck"
import type { ActivityOp, Commit, Emit, Spawn, TimerOp, TraceStep } from "../Commit.js"
import { cancelActivity, cancelTimer, runActivity, scheduleTimer } from "../Commit.js"
import { type Burial, type Failure, Reason } from "../DeadLetter.js"
import type { Event } from "../Event.js"
import type { Attributes, ChildState, Execution } from "../Execution.js"
import { statuses } from "../internal/codec/execution.js"
import type { JsonObject } from "../Json.js"
import { awkwardTexts } from "./internal/samples.js"

// fast-check's own unit for it makes a table of all of them first, which takes a second.
const codePoint = FastCheck.integer({ min: 0, max: 0x10ffff - 0x800 }).map((n) =>
  String.fromCodePoint(n < 0xd800 ? n : n + 0x800)
)

/**
 * Any well-formed text, with samples that databases and their clients are known to get wrong.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const text: FastCheck.Arbitrary<string> = FastCheck.oneof(
  FastCheck.string({ maxLength: 12 }),
  FastCheck.string({ unit: codePoint, maxLength: 8 }),
  FastCheck.constantFrom(...awkwardTexts)
)

/**
 * A text that may be an id.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const id: FastCheck.Arbitrary<string> = text.filter((text) => text !== "")

const big = FastCheck.oneof(
  FastCheck.bigInt({ min: 2n ** 53n, max: 2n ** 64n }),
  FastCheck.bigInt({ min: 2n ** 53n, max: 10n ** 30n })
)

const finite = FastCheck.double({ noNaN: true, noDefaultInfinity: true })

/**
 * A number as a store gives it back: any finite double, or a `bigint` of 2^53 or more in magnitude.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const number: FastCheck.Arbitrary<number | bigint> = FastCheck.oneof(
  FastCheck.integer(),
  FastCheck.maxSafeInteger(),
  finite,
  // integers that are doubles, which no integer of the same value may stand for
  FastCheck.double({ min: 2 ** 52, max: 1e22, noNaN: true }).map(Math.round),
  FastCheck.double({ min: -1e22, max: -(2 ** 52), noNaN: true }).map(Math.round),
  FastCheck.oneof(
    big,
    big.map((n) => -n)
  )
)

const { json } = FastCheck.letrec<{ json: unknown; leaf: unknown; list: unknown; record: JsonObject }>((tie) => ({
  json: FastCheck.oneof({ maxDepth: 2 }, tie("leaf"), tie("list"), tie("record")),
  leaf: FastCheck.oneof(FastCheck.constant(null), FastCheck.boolean(), number, text),
  list: FastCheck.array(tie("json"), { maxLength: 3 }),
  record: FastCheck.dictionary(text, tie("json"), { maxKeys: 3, noNullPrototype: true })
}))

/**
 * Free JSON data.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const jsonObject: FastCheck.Arbitrary<JsonObject> = FastCheck.dictionary(text, json, {
  maxKeys: 4,
  noNullPrototype: true
})

/**
 * Keys that no model has, with free data.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const extra: FastCheck.Arbitrary<JsonObject> = FastCheck.oneof(
  { weight: 4, arbitrary: FastCheck.constant({}) },
  {
    weight: 1,
    arbitrary: FastCheck.dictionary(
      text.map((text) => `x-${text}`),
      json,
      { maxKeys: 2, noNullPrototype: true }
    )
  }
)

const whole = FastCheck.integer({ min: 0, max: 2 ** 31 })

/**
 * Seconds since the epoch, with a fraction.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const seconds: FastCheck.Arbitrary<number> = FastCheck.double({ min: 0, max: 2 ** 40, noNaN: true }).map(
  (seconds) => seconds + 0
)

/**
 * A time that a timer may be armed for: any double that is 0, or 2^-10 to 2^53 in magnitude.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const fireAt: FastCheck.Arbitrary<number> = FastCheck.oneof(
  FastCheck.double({ min: 2 ** -10, max: 2 ** 53, noNaN: true }),
  FastCheck.double({ min: 1.7e9, max: 1.8e9, noNaN: true }),
  FastCheck.double({ min: -(2 ** 53), max: -(2 ** -10), noNaN: true }),
  FastCheck.constantFrom(0, 1, 2 ** -10, 2 ** 53)
)

/**
 * A list of times for timers.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const fireAts: FastCheck.Arbitrary<ReadonlyArray<number>> = FastCheck.array(fireAt, {
  minLength: 4,
  maxLength: 12
})

const time = FastCheck.option(
  FastCheck.constantFrom("2026-09-21T10:00:00.123456Z", "2026-09-21T10:00:00Z", "2026-09-21T10:00:00")
)

/**
 * An event, with all its keys.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const event: FastCheck.Arbitrary<Event> = FastCheck.record({
  id,
  kind: text,
  createdTime: time,
  receivedTime: time,
  data: jsonObject,
  extra
})

/**
 * An emit without a delay, with a target or without.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const emit: FastCheck.Arbitrary<Emit> = FastCheck.record({ targetId: FastCheck.option(id), event })

/**
 * An emit with `dueAt`.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const delayedEmit: FastCheck.Arbitrary<Emit> = FastCheck.record({
  targetId: FastCheck.option(id),
  event,
  dueAt: fireAt
})

/**
 * A child to create.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const spawn: FastCheck.Arbitrary<Spawn> = FastCheck.record({ childId: id, rootPath: text, context: jsonObject })

/**
 * A timer operation at one of these paths, by default at any.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const timerOp = (path: FastCheck.Arbitrary<string> = text): FastCheck.Arbitrary<TimerOp> =>
  FastCheck.oneof(
    FastCheck.tuple(path, fireAt).map(([path, fireAt]) => scheduleTimer(path, fireAt)),
    path.map(cancelTimer)
  )

/**
 * An operation on an activity: asking for it, or taking it back.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const activityOp = (
  key: FastCheck.Arbitrary<string> = id,
  name: FastCheck.Arbitrary<string> = id
): FastCheck.Arbitrary<ActivityOp> =>
  FastCheck.oneof(
    { weight: 3, arbitrary: FastCheck.record({ key, name, payload: jsonObject, limitKey: text }).map(runActivity) },
    { weight: 1, arbitrary: key.map(cancelActivity) }
  )

/**
 * A trace step, with `assigned` or without.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const traceStep: FastCheck.Arbitrary<TraceStep> = FastCheck.tuple(
  FastCheck.record({
    eventKind: text,
    eventData: jsonObject,
    fromPath: FastCheck.option(text),
    toPath: FastCheck.option(text),
    actions: FastCheck.array(text, { maxLength: 3 }),
    contextOut: jsonObject,
    timestamp: seconds,
    extra
  }),
  FastCheck.oneof(FastCheck.constant({}), FastCheck.record({ assigned: jsonObject }))
).map(([step, assigned]) => ({ ...step, ...assigned }))

/**
 * What a parent knows of a child.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const childState: FastCheck.Arbitrary<ChildState> = FastCheck.record({
  rootPath: text,
  finished: FastCheck.boolean(),
  outcome: FastCheck.option(text),
  result: jsonObject,
  submachine: FastCheck.boolean(),
  key: text,
  extra
})

const record = <A>(value: FastCheck.Arbitrary<A>): FastCheck.Arbitrary<{ readonly [key: string]: A }> =>
  FastCheck.dictionary(text, value, { maxKeys: 3, noNullPrototype: true })

/**
 * An execution in any state, at any version.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const execution: FastCheck.Arbitrary<Execution> = FastCheck.record({
  id,
  definitionId: id,
  definitionVersion: FastCheck.oneof(FastCheck.constant(1), FastCheck.integer({ min: 1, max: 2 ** 31 })),
  definitionFqn: FastCheck.option(text),
  rootPath: text,
  status: FastCheck.constantFrom(...statuses),
  outcome: FastCheck.option(text),
  result: FastCheck.option(FastCheck.oneof(jsonObject, text, FastCheck.array(whole, { maxLength: 3 }))),
  error: FastCheck.option(text),
  activePath: FastCheck.option(text),
  history: record(text),
  context: jsonObject,
  processedEvents: whole,
  version: whole,
  priority: FastCheck.integer({ min: 0, max: 4 }),
  parentId: FastCheck.option(id),
  childId: FastCheck.option(id),
  deferred: FastCheck.array(event, { maxLength: 2 }),
  children: record(childState),
  invokeSeq: record(whole),
  createdAt: FastCheck.option(seconds),
  updatedAt: FastCheck.option(seconds),
  finishedAt: FastCheck.option(seconds),
  expiresAt: FastCheck.option(seconds),
  extra
})

/**
 * The record of a failure, without its work and time.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const failure: FastCheck.Arbitrary<Omit<Failure, "work" | "failedAt">> = FastCheck.record({
  attempts: FastCheck.integer({ min: 0, max: 5 }),
  error: text,
  retryAt: seconds
})

/**
 * The reason for which work is given up.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const burial: FastCheck.Arbitrary<Burial> = FastCheck.record({
  reason: FastCheck.constantFrom(...Reason.literals),
  attempts: FastCheck.integer({ min: 0, max: 5 }),
  error: text
})

/**
 * Attributes of few names and values, so that executions have them in common.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const attributes: FastCheck.Arbitrary<Attributes> = FastCheck.dictionary(
  FastCheck.constantFrom("customer", "number", "\u00e9t\u00e9"),
  FastCheck.oneof(FastCheck.constantFrom("", "1", "c-1", 1, 2.5, true, false), text, seconds),
  { noNullPrototype: true }
)

/**
 * What a commit writes beside its execution, without `ack`.
 *
 * @since 0.1.0
 * @category arbitraries
 */
export const commit: FastCheck.Arbitrary<Commit> = FastCheck.record(
  {
    emits: FastCheck.array(emit, { maxLength: 3 }),
    processed: id,
    timers: FastCheck.array(timerOp(), { maxLength: 3 }),
    spawns: FastCheck.array(spawn, { maxLength: 2 }),
    activities: FastCheck.array(activityOp(), { maxLength: 3 }),
    attributes,
    trace: traceStep
  },
  { requiredKeys: [] }
)
