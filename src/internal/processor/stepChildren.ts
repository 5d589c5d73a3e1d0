import * as Option from "effect/Option"
import type { SpawnEntry } from "../../Commit.js"
import * as Event from "../../Event.js"
import { type ChildState, type Execution, isFinished } from "../../Execution.js"
import type { JsonObject } from "../../Json.js"
import type { Builder, Child, Children, NewChild } from "../../Step.js"
import { event as eventCodec } from "../codec/event.js"
import * as reader from "../codec/reader.js"
import * as eventIds from "../util/eventIds.js"
import { change, withoutReserved } from "./step.js"

/** The key under which the format's spawns name the definition that a child follows. */
export const definitionKey = "__invoke_fqn__"

/** The key beside it for the version of that definition, where it is not 1. */
export const definitionVersionKey = "__definition_version__"

/** The key under which a parent is told why a child was never created. */
const rejectedKey = "__rejected__"

/** The outcome of a child that was never created. */
const rejectedOutcome = "rejected"

/** What tells a parent that its child was not created, because its id is taken. The id is of this spawn: it says the same however often it is made. */
export const rejection = ({ childId, parentId, seq }: SpawnEntry) => ({
  targetId: parentId,
  event: Event.make({
    id: eventIds.derived("finished", childId, "spawn", seq),
    kind: Event.WellKnownKind.Finished,
    data: { child_id: childId, outcome: rejectedOutcome, [rejectedKey]: "id-taken" }
  })
})

/** Whether a child was never created. */
export const isRejected = ({ outcome, result }: Pick<ChildState, "outcome" | "result">): boolean =>
  outcome === rejectedOutcome && own(result, rejectedKey) !== undefined

/**
 * Whether a stored execution is the child that a spawn, which is still pending, asks for. Another program makes a child first and removes the
 * spawn behind it. One of the same parent that still lives tells it of its end; one that has ended did so, unless it had before the parent
 * spawned this one.
 */
export const isOf = (stored: Execution, spawn: SpawnEntry, parent: Option.Option<Execution>): boolean => {
  if (stored.parentId !== spawn.parentId) return false
  if (!isFinished(stored) || Option.isNone(parent)) return true
  const { children, updatedAt } = parent.value
  return own(children, spawn.childId)?.finished !== false || (stored.createdAt ?? 0) >= (updatedAt ?? 0)
}

/** Ids and keys are anything, also what objects inherit. */
const own = <A>(record: { readonly [key: string]: A }, key: string): A | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined

/** What the context of a spawn says of the definition that the child follows. */
const follows = (definition: string, version = 1): JsonObject => ({
  [definitionKey]: definition,
  ...(version === 1 ? undefined : { [definitionVersionKey]: version })
})

/** The definition that the context of a spawn names, its version, and the child's own context. */
export const named = (
  spawn: SpawnEntry
): Pick<Execution, "definitionId" | "definitionVersion" | "context"> | undefined => {
  const { [definitionKey]: definitionId, ...rest } = spawn.context
  if (typeof definitionId !== "string") return undefined
  const { [definitionVersionKey]: version, ...context } = rest
  return typeof version === "number"
    ? { definitionId, definitionVersion: version, context }
    : { definitionId, definitionVersion: 1, context: rest }
}

export const spawn = <Context>(self: Builder<Context>, key: string, child: NewChild = {}): Builder<Context> => {
  const { children, id, invokeSeq } = self.execution
  const { context = {}, definition } = child
  const seq = own(invokeSeq, key) ?? 0
  const childId = child.id ?? `${id}:${key}:${seq}`
  if (Object.hasOwn(children, childId)) return self
  const rootPath = child.rootPath ?? (definition === undefined ? key : "")
  const state: ChildState = {
    rootPath,
    finished: false,
    outcome: null,
    result: {},
    submachine: definition !== undefined,
    key,
    extra: {}
  }
  return change(
    self,
    {
      children: { ...children, [childId]: state },
      ...(child.id === undefined ? { invokeSeq: { ...invokeSeq, [key]: seq + 1 } } : undefined)
    },
    {
      spawns: [
        ...(self.commit.spawns ?? []),
        {
          childId,
          rootPath,
          context: definition === undefined ? context : { ...context, ...follows(definition, child.definitionVersion) }
        }
      ]
    }
  )
}

/** The events that a child held back and hands to its parent; none where they are not events. */
const handed = (u: unknown): ReadonlyArray<Event.Event> | undefined => {
  try {
    return reader.array(eventCodec.decode)(u, "")
  } catch (error) {
    if (error instanceof reader.Invalid) return undefined
    throw error
  }
}

export const join = <Context>(self: Builder<Context>): Builder<Context> => {
  const { event, execution } = self
  if (event.kind !== Event.WellKnownKind.Finished) return self
  const { child_id: childId, outcome, __deferred__: raw } = event.data
  const held = raw === undefined ? [] : handed(raw)
  const joined = held === undefined ? self : change(self, { deferred: [...execution.deferred, ...held] })
  const state = typeof childId === "string" ? own(execution.children, childId) : undefined
  if (typeof childId !== "string" || state === undefined) return joined
  const finished: ChildState = {
    ...state,
    finished: true,
    outcome: typeof outcome === "string" ? outcome : null,
    // what is not understood is kept rather than lost
    result: { ...withoutReserved(event.data), ...(held === undefined ? { __deferred__: raw } : undefined) }
  }
  return change(joined, { children: { ...execution.children, [childId]: finished } })
}

const isAt = (key: string, at: string | undefined): boolean =>
  at === undefined || key === at || key.startsWith(`${at}.`) || key.startsWith(`${at}:`)

export const children = ({ execution }: Children, at?: string): ReadonlyArray<Child> =>
  Object.entries(execution.children)
    .filter(([, { key }]) => isAt(key, at))
    .map(([id, state]) => ({ id, ...state }))

export const isJoined = (self: Children, at?: string): boolean => children(self, at).every(({ finished }) => finished)

export const forgetChildren = <Context>(self: Builder<Context>, at?: string): Builder<Context> =>
  change(self, {
    children: Object.fromEntries(
      Object.entries(self.execution.children).filter(([, { finished, key }]) => !finished || !isAt(key, at))
    )
  })
