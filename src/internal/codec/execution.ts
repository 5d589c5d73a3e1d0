import type { ChildState, Execution, ExecutionSummary } from "../../Execution.js"
import type { JsonObject } from "../../Json.js"
import { event } from "./event.js"
import * as reader from "./reader.js"
import { at, mostLevels } from "./stringify.js"
import * as writer from "./writer.js"

export const statuses = ["PENDING", "RUNNING", "DONE", "CANCELLED", "SUSPENDED", "CANCELLING", "FAILED"] as const

/** The key under which each commit attempt leaves its token in the row; it is no part of the model. */
export const tokenKey = "commit_token"

/**
 * The key of what an execution ended with. The format has none for it, and its other readers pass over keys that they do not know; the
 * name says whose it is, in case that the format gets one of its own.
 */
export const resultKey = "holdfast_result"

/**
 * The key under which the counters of spawn sites hold the version of the definition, where that is not 1. The other readers of the format
 * keep each counter when they write a row, and erase keys of the row that they do not know; and no site can have this name.
 */
export const definitionVersionKey = "@definition_version"

const { boolean, finite, integer, object, optional, orNull, required, string } = reader

const status = reader.literal(...statuses)

const childKeys = new Set(["root_path", "finished", "outcome", "result", "submachine", "key"])

const child: reader.Codec<ChildState> = {
  decode: (u, path) => {
    const row = object(u, path)
    return {
      rootPath: required(row, path, "root_path", string),
      finished: optional(row, path, "finished", boolean, false),
      outcome: orNull(row, path, "outcome", string),
      result: optional(row, path, "result", object, {}),
      submachine: optional(row, path, "submachine", boolean, false),
      key: optional(row, path, "key", string, ""),
      extra: reader.rest(row, childKeys)
    }
  },
  encode: (child, path) => ({
    root_path: writer.required(child.rootPath, path, "root_path", string),
    finished: writer.optional(child.finished, path, "finished", boolean),
    outcome: writer.orNull(child.outcome, path, "outcome", string),
    result: writer.optional(child.result, path, "result", object),
    submachine: writer.optional(child.submachine, path, "submachine", boolean),
    key: writer.optional(child.key, path, "key", string),
    ...reader.extra(child.extra, childKeys, path)
  })
}

const keys = new Set([
  "id",
  "definition_id",
  "definition_fqn",
  "root_path",
  "status",
  "outcome",
  "error",
  "active_path",
  "history",
  "context",
  "processed_events",
  "version",
  "priority",
  "parent_id",
  "child_id",
  "deferred",
  "children",
  "invoke_seq",
  "created_at",
  "updated_at",
  "finished_at",
  "expires_at",
  resultKey,
  tokenKey
])

const version: reader.Reader<number> = (u, path) => {
  const n = integer(u, path)
  if (n < 0) throw new reader.Invalid(path, `expected a version of 0 or more, found ${n}`)
  return n
}

const priority: reader.Reader<number> = (u, path) => {
  const n = integer(u, path)
  if (n < 0 || n > 4) throw new reader.Invalid(path, `expected a priority of 0 to 4, found ${n}`)
  return n
}

const definitionVersion: reader.Reader<number> = (u, path) => {
  const n = integer(u, path)
  if (n < 1) throw new reader.Invalid(path, `expected the version of a definition, 1 or more, found ${n}`)
  return n
}

/** The counters of spawn sites, and the version of the definition among them. */
const readCounters = (stored: Execution["invokeSeq"], path: string) => {
  if (!Object.hasOwn(stored, definitionVersionKey)) return { invokeSeq: stored, definitionVersion: 1 }
  const { [definitionVersionKey]: version, ...invokeSeq } = stored
  return { invokeSeq, definitionVersion: definitionVersion(version, at(path, definitionVersionKey)) }
}

const writeCounters = (
  { definitionVersion: version = 1, invokeSeq }: Execution,
  path: string
): Execution["invokeSeq"] => {
  const checked = writer.optional(invokeSeq, path, "invoke_seq", counters)
  if (checked !== undefined && Object.hasOwn(checked, definitionVersionKey)) {
    throw new reader.Invalid(at(reader.member(path, "invoke_seq"), definitionVersionKey), "is no name of a spawn site")
  }
  definitionVersion(version, reader.member(path, "definition_version"))
  return version === 1 ? checked : { ...checked, [definitionVersionKey]: version }
}

const anything: reader.Reader<unknown> = (u) => u

const strings = reader.record(string)
const integers = reader.record(integer)
const childStates = reader.record(child.decode)
const events = reader.array(event.decode)
const history = writer.members(string)
const counters = writer.members(integer)

export const execution: reader.Codec<Execution> = {
  decode: (u, path) => {
    const row = object(u, path)
    const { definitionVersion, invokeSeq } = readCounters(
      optional(row, path, "invoke_seq", integers, {}),
      reader.member(path, "invoke_seq")
    )
    return {
      id: required(row, path, "id", string),
      definitionId: required(row, path, "definition_id", string),
      definitionVersion,
      definitionFqn: orNull(row, path, "definition_fqn", string),
      rootPath: optional(row, path, "root_path", string, ""),
      status: optional(row, path, "status", status, "PENDING"),
      outcome: orNull(row, path, "outcome", string),
      result: orNull(row, path, resultKey, anything),
      error: orNull(row, path, "error", string),
      activePath: orNull(row, path, "active_path", string),
      history: optional(row, path, "history", strings, {}),
      context: optional(row, path, "context", object, {}),
      processedEvents: optional(row, path, "processed_events", integer, 0),
      version: optional(row, path, "version", version, 0),
      priority: optional(row, path, "priority", priority, 0),
      parentId: orNull(row, path, "parent_id", string),
      childId: orNull(row, path, "child_id", string),
      deferred: optional(row, path, "deferred", events, []),
      children: optional(row, path, "children", childStates, {}),
      invokeSeq,
      createdAt: orNull(row, path, "created_at", finite),
      updatedAt: orNull(row, path, "updated_at", finite),
      finishedAt: orNull(row, path, "finished_at", finite),
      expiresAt: orNull(row, path, "expires_at", finite),
      extra: reader.rest(row, keys)
    }
  },
  encode: (execution, path) => toRow(execution, path),
  levels: mostLevels
}

/**
 * The row of an execution, with the token of the commit that writes it: made in one piece, since a copy would take longer than all the
 * rest.
 */
const toRow = (execution: Execution, path: string, token?: string): JsonObject => ({
  id: writer.required(execution.id, path, "id", string),
  definition_id: writer.required(execution.definitionId, path, "definition_id", string),
  definition_fqn: writer.orNull(execution.definitionFqn, path, "definition_fqn", string),
  root_path: writer.optional(execution.rootPath, path, "root_path", string),
  status: writer.optional(execution.status, path, "status", status),
  outcome: writer.orNull(execution.outcome, path, "outcome", string),
  error: writer.orNull(execution.error, path, "error", string),
  active_path: writer.orNull(execution.activePath, path, "active_path", string),
  history: writer.optional(execution.history, path, "history", history),
  context: writer.optional(execution.context, path, "context", object),
  processed_events: writer.optional(execution.processedEvents, path, "processed_events", integer),
  version: writer.optional(execution.version, path, "version", version),
  priority: writer.optional(execution.priority, path, "priority", priority),
  parent_id: writer.orNull(execution.parentId, path, "parent_id", string),
  child_id: writer.orNull(execution.childId, path, "child_id", string),
  deferred: writer.list(execution.deferred, "deferred", event.encode),
  children: writer.record(execution.children, "children", child.encode),
  invoke_seq: writeCounters(execution, path),
  created_at: writer.orNull(execution.createdAt, path, "created_at", finite),
  updated_at: writer.orNull(execution.updatedAt, path, "updated_at", finite),
  finished_at: writer.orNull(execution.finishedAt, path, "finished_at", finite),
  expires_at: writer.orNull(execution.expiresAt, path, "expires_at", finite),
  ...reader.extra(execution.extra, keys, path),
  ...(execution.result === null || execution.result === undefined ? undefined : { [resultKey]: execution.result }),
  ...(token === undefined ? undefined : { [tokenKey]: token })
})

/** What a row ends with that the commit of this token wrote: nothing of the store comes behind it. */
export const endOf = (token: string): string => `${JSON.stringify(tokenKey)}:${JSON.stringify(token)}}`

const beforeToken = `${JSON.stringify(tokenKey)}:"`

/** The token that a row {@link endOf ends with}; none where it was written by another program. */
export const tokenAtEnd = (text: string): string | undefined => {
  const at = text.lastIndexOf(beforeToken)
  const token = text.slice(at + beforeToken.length, -2)
  return at >= 0 && text.endsWith(endOf(token)) ? token : undefined
}

/** {@link execution} with the token of the commit that writes it. */
export const executionWithToken = (token: string): reader.Codec<Execution> => ({
  decode: execution.decode,
  encode: (execution, path) => toRow(execution, path, token),
  levels: mostLevels
})

/** The parts of a row that a listing shows, in the order in which the listing's SQL takes them from `data`. */
export const summaryPaths = [
  ["status"],
  ["outcome"],
  ["active_path"],
  ["parent_id"],
  ["finished_at"],
  ["invoke_seq", definitionVersionKey]
] as const

/** A line of a listing from its three columns and the parts of `data`. */
export const summary = (
  id: unknown,
  definitionId: unknown,
  storedVersion: unknown,
  parts: ReadonlyArray<unknown>
): ExecutionSummary => ({
  id: string(id, "id"),
  definitionId: string(definitionId, "definition_id"),
  definitionVersion: definitionVersion(parts[5] ?? 1, at("invoke_seq", definitionVersionKey)),
  status: status(parts[0] ?? "PENDING", "status"),
  outcome: reader.nullable(string)(parts[1] ?? null, "outcome"),
  activePath: reader.nullable(string)(parts[2] ?? null, "active_path"),
  version: reader.integerColumn(storedVersion, "version"),
  parentId: reader.nullable(string)(parts[3] ?? null, "parent_id"),
  finishedAt: reader.nullable(finite)(parts[4] ?? null, "finished_at")
})
