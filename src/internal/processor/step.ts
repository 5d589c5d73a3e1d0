import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Pipeable from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import * as Commit from "../../Commit.js"
import * as Event from "../../Event.js"
import type { Attributes, WithContext } from "../../Execution.js"
import type { JsonObject } from "../../Json.js"
import type { Builder, Ending, NewEvent, Step, To, Trace, Writes } from "../../Step.js"
import * as Time from "../../Time.js"
import { event as eventCodec } from "../codec/event.js"
import { toFiniteDuration } from "../options/fields.js"
import { describe } from "../util/errorText.js"
import * as eventIds from "../util/eventIds.js"
import type { Problem } from "./parseProblem.js"

export const TypeId: unique symbol = Symbol.for("holdfast/Step")

class StepBuilder<out Context> extends Pipeable.Class() implements Builder<Context> {
  readonly [TypeId]: typeof TypeId = TypeId
  constructor(
    readonly execution: WithContext<Context>,
    readonly event: Event.Event,
    readonly now: number,
    readonly commit: Writes,
    /** What of the step does not encode, the first of it: the functions on steps have no other way to say so. */
    readonly invalid?: Invalid
  ) {
    super()
  }
  get context(): Context {
    return this.execution.context
  }
}

/** What of a step does not encode, and where in it. */
export interface Invalid extends Problem {
  readonly subject: string
}

export const invalidOf = (step: Step<unknown>): Invalid | undefined =>
  step instanceof StepBuilder ? step.invalid : undefined

/** The same builder, marked as one that cannot be committed. */
export const invalidate = <Context>(self: Builder<Context>, invalid: Invalid): Builder<Context> =>
  new StepBuilder(self.execution, self.event, self.now, self.commit, invalidOf(self) ?? invalid)

export const isBuilder = (u: unknown): u is Builder<unknown> => Predicate.hasProperty(u, TypeId)

export const makeAt = <Context>(
  execution: WithContext<Context>,
  event: Event.Event,
  now: Time.Input
): Builder<Context> => new StepBuilder(execution, event, Time.toSeconds(now), {})

export const make = <Context>(execution: WithContext<Context>, event: Event.Event): Effect.Effect<Builder<Context>> =>
  Effect.map(Clock.currentTimeMillis, (millis) => makeAt(execution, event, millis / 1000))

/** The same builder, with changes to the execution and more to write. */
export const change = <Context>(
  self: Builder<Context>,
  execution: { readonly [K in keyof WithContext<Context>]?: WithContext<Context>[K] },
  commit?: Writes
): Builder<Context> =>
  new StepBuilder(
    { ...self.execution, ...execution },
    self.event,
    self.now,
    { ...self.commit, ...commit },
    invalidOf(self)
  )

/** The last active child of each composite state on the way from the root to a path, where the path lies below the root. */
export const historyTo = (rootPath: string, path: string): { readonly [composite: string]: string } => {
  const below = rootPath === "" ? path : path.startsWith(`${rootPath}.`) ? path.slice(rootPath.length + 1) : ""
  const entries: Array<readonly [string, string]> = []
  let composite = rootPath
  for (const name of below === "" ? [] : below.split(".")) {
    const child = composite === "" ? name : `${composite}.${name}`
    entries.push([composite, child])
    composite = child
  }
  return Object.fromEntries(entries)
}

export const advance = <Context>(self: Builder<Context>, to: string | To<Context>): Builder<Context> => {
  const { execution } = self
  const { context = execution.context, path, status } = typeof to === "string" ? { path: to } : to
  return change(self, {
    context,
    status: status ?? (execution.status === "PENDING" ? "RUNNING" : execution.status),
    ...(path === undefined
      ? undefined
      : { activePath: path, history: { ...execution.history, ...historyTo(execution.rootPath, path) } })
  })
}

export const updateContext = <Context>(self: Builder<Context>, f: (context: Context) => Context): Builder<Context> =>
  change(self, { context: f(self.execution.context) })

/**
 * The id of the next event that the step emits, made of the execution, its time of creation, and its version. A step that runs again from
 * the same version makes the same ids. One that runs from another version may decide otherwise, and makes others.
 */
const nextId = ({ commit, execution, now }: Builder<unknown>): string =>
  eventIds.derived("emit", execution.id, execution.createdAt ?? now, execution.version, commit.emits?.length ?? 0)

const emitted = <Context>(
  self: Builder<Context>,
  targetId: string | null,
  event: NewEvent,
  due?: { readonly dueAt: number }
): Builder<Context> =>
  change(
    self,
    {},
    {
      emits: [
        ...(self.commit.emits ?? []),
        { targetId, event: Event.make({ ...event, id: event.id ?? nextId(self) }), ...due }
      ]
    }
  )

export const emit = <Context>(self: Builder<Context>, targetId: string | null, event: NewEvent): Builder<Context> =>
  emitted(self, targetId, event)

/** The time so long after the step began, or the builder marked, and a time that no store takes: a copy of the step has lost its mark. */
const after = <Context>(
  self: Builder<Context>,
  subject: string,
  delay: Duration.DurationInput
): { readonly step: Builder<Context>; readonly time: number } =>
  Option.match(toFiniteDuration(delay), {
    onNone: () => ({
      step: invalidate(self, { subject, path: "", problem: "expected a finite duration" }),
      time: Number.NaN
    }),
    onSome: (duration) => ({ step: self, time: self.now + Duration.toSeconds(duration) })
  })

export const emitAfter = <Context>(
  self: Builder<Context>,
  targetId: string | null,
  delay: Duration.DurationInput,
  event: NewEvent
): Builder<Context> => {
  const { step, time } = after(self, `delay of event ${event.kind}`, delay)
  return emitted(step, targetId, event, { dueAt: time })
}

export const emitAt = <Context>(
  self: Builder<Context>,
  targetId: string | null,
  at: Time.Input,
  event: NewEvent
): Builder<Context> => emitted(self, targetId, event, { dueAt: Time.toSeconds(at) })

const timer = <Context>(self: Builder<Context>, op: Commit.TimerOp): Builder<Context> =>
  change(self, {}, { timers: [...(self.commit.timers ?? []), op] })

export const armTimer = <Context>(
  self: Builder<Context>,
  path: string,
  delay: Duration.DurationInput
): Builder<Context> => {
  const { step, time } = after(self, `delay of timer ${path}`, delay)
  return timer(step, Commit.scheduleTimer(path, time))
}

export const armTimerAt = <Context>(self: Builder<Context>, path: string, at: Time.Input): Builder<Context> =>
  timer(self, Commit.scheduleTimer(path, at))

export const cancelTimer = <Context>(self: Builder<Context>, path: string): Builder<Context> =>
  timer(self, Commit.cancelTimer(path))

/** What a child's `Finished` says beside its result. */
export const reserved: ReadonlySet<string> = new Set(["child_id", "outcome", "__deferred__"])

export const withoutReserved = (data: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(data).filter(([key]) => !reserved.has(key)))

/** Tells the parent, where there is one, that the execution has ended. */
const tell = <Context>(self: Builder<Context>, outcome: string | null, result: JsonObject): Builder<Context> => {
  const { childId, deferred, id, parentId } = self.execution
  if (parentId === null) return self
  const data = {
    child_id: childId ?? id,
    outcome,
    ...withoutReserved(result),
    ...(deferred.length === 0 ? undefined : { __deferred__: deferred.map((held) => eventCodec.encode(held, "")) })
  }
  return emit(change(self, { deferred: [] }), parentId, { kind: Event.WellKnownKind.Finished, data })
}

/** How an execution ends, and what of its result a parent is told. */
export interface End {
  readonly status: "DONE" | "CANCELLED"
  readonly outcome: string | null
  readonly result: unknown
  readonly carried: JsonObject
}

export const end = <Context>(self: Builder<Context>, { carried, outcome, result, status }: End): Builder<Context> =>
  tell(change(self, { status, outcome, result }), outcome ?? (status === "CANCELLED" ? "cancelled" : null), carried)

const endAs = <Context>(
  self: Builder<Context>,
  status: End["status"],
  ending: string | Ending = {}
): Builder<Context> => {
  const { outcome = null, result } = typeof ending === "string" ? { outcome: ending } : ending
  return end(self, { status, outcome, result: result ?? null, carried: result ?? {} })
}

export const finish = <Context>(self: Builder<Context>, ending?: string | Ending): Builder<Context> =>
  endAs(self, "DONE", ending)

export const cancel = <Context>(self: Builder<Context>, ending?: string | Ending): Builder<Context> =>
  endAs(self, "CANCELLED", ending)

/**
 * Cancels an execution that the step at its `Cancel` event leaves `CANCELLING`: it has nothing to clean up. A definition that does not
 * handle `Cancel` is cancelled in this way.
 */
export const settleCancel = (step: Step, event: Event.Event, now: number): Step => {
  const { commit = {}, execution } = step
  if (event.kind !== Event.WellKnownKind.Cancel || execution.status !== "CANCELLING") return step
  const { outcome, result } = execution
  return end(new StepBuilder(execution, event, now, commit), { status: "CANCELLED", outcome, result, carried: {} })
}

/**
 * A result as a parent gets it in the data of `Finished`, whose keys the format carries. A result that is no object goes under the key
 * `result`. So does an object that could be mistaken for that, or that has keys with a meaning of their own there.
 */
export const carriedResult = (result: unknown): JsonObject => {
  if (result === null || result === undefined) return {}
  if (!isObject(result)) return { result }
  const keys = Object.keys(result)
  const clear = keys.length > 0 && !(keys.length === 1 && keys[0] === "result")
  return clear && !keys.some((key) => reserved.has(key)) ? result : { result }
}

/** The result that {@link carriedResult} put into the data; null where there is none. */
export const resultOfCarried = (carried: JsonObject): unknown => {
  const keys = Object.keys(carried)
  if (keys.length === 0) return null
  return keys.length === 1 && keys[0] === "result" ? carried["result"] : carried
}

const isObject = (u: unknown): u is JsonObject => Predicate.isRecord(u) && !Array.isArray(u)

export const fail = <Context>(self: Builder<Context>, error: unknown): Builder<Context> =>
  change(self, { status: "FAILED", error: describe(error) })

export const setAttributes = <Context>(self: Builder<Context>, attributes: Attributes): Builder<Context> =>
  change(self, {}, { attributes })

export const trace = <Context>(self: Builder<Context>, step: Trace = {}): Builder<Context> =>
  change(self, {}, { trace: { ...self.commit.trace, ...step } })
