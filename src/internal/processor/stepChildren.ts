import * as Event from "../../Event.js"
import type { ChildState } from "../../Execution.js"
import type { Builder, Child, Children, NewChild } from "../../Step.js"
import { event as eventCodec } from "../codec/event.js"
import * as reader from "../codec/reader.js"
import { change, withoutReserved } from "./step.js"

/** The key under which the format's spawns name the definition that a child follows. */
export const definitionKey = "__invoke_fqn__"

/** Ids and keys are anything, also what objects inherit. */
const own = <A>(record: { readonly [key: string]: A }, key: string): A | undefined =>
  Object.hasOwn(record, key) ? record[key] : undefined

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
          context: definition === undefined ? context : { ...context, [definitionKey]: definition }
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
