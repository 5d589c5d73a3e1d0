import type { DeadLetterFilter, ExecutionFilter, ExecutionStore } from "../../ExecutionStore.js"
import * as batchVariant from "../util/batchVariant.js"
import {
  anything,
  callable,
  flag,
  list,
  number,
  object,
  oneOf,
  onlyOf,
  optional,
  plain,
  taking,
  takingEach,
  text
} from "./shape.js"

const anObject = object()
const options = optional(anObject)
const event = anObject
const emit = object({ event })
const execution = object({ version: number })
const failure = object({ error: text })
const anyWork = object({ _tag: oneOf("Outbox", "Spawn", "Timer", "Activity") })
const page = optional(object({ except: optional(list()), after: options }))
const numberedPage = optional(object({ except: optional(list()), executions: optional(flag) }))

const executionParts = { status: optional(list(text)), rootsOnly: optional(flag), attributes: options }
const deadLetterParts = { reason: optional(list()) }

const filter = optional(object(executionParts))

/** To which executions a command is applied. */
export const selectedExecutions = onlyOf<ExecutionFilter>({
  ...executionParts,
  definitionId: anything,
  definitionVersion: anything,
  idPrefix: anything,
  parentId: anything
})

/** To which dead letters a command is applied. */
export const selectedDeadLetters = onlyOf<DeadLetterFilter>({
  ...deadLetterParts,
  kind: anything,
  executionId: anything,
  executionIdPrefix: anything,
  definitionId: anything,
  diedBefore: anything
})

/** Which piece of work a commit ends. */
export const ack = optional(object({ _tag: oneOf("Outbox", "Spawn", "Timer") }))
export const reservedIds = optional(oneOf("refuse", "accept"))

/** What is written beside an execution. */
export const commit = optional(
  object({
    emits: optional(list(emit)),
    timers: optional(list(object({ _tag: oneOf("Schedule", "Cancel") }))),
    spawns: optional(list(anObject)),
    activities: optional(list(object({ _tag: oneOf("Run", "Cancel") }))),
    attributes: options,
    ack,
    trace: options
  })
)

/** The options of sending. */
export const sending = optional(object({ reservedIds }))

type Activities = ExecutionStore["activities"]
type DeadLetters = ExecutionStore["deadLetters"]

const activities = (of: Activities): Activities => ({
  ...of,
  list: taking("listActivities", [["query", options]], of.list),
  claim: taking("claimActivities", [["claim", object({ rate: options })]], of.claim),
  complete: taking("endActivity", [["run", anObject], plain, ["event", anObject]], of.complete),
  fail: taking(
    "failActivity",
    [
      ["run", anObject],
      ["failure", failure]
    ],
    of.fail
  ),
  release: taking(
    "releaseActivity",
    [["run", anObject], plain, ["options", optional(object({ whileHalted: optional(flag) }))]],
    of.release
  ),
  drop: taking("dropActivity", [["run", anObject]], of.drop),
  cancel: taking("endActivity", [plain, plain, ["event", callable]], of.cancel)
})

const told = optional(object({ emit: optional(emit), notice: optional(emit) }))

const deadLetters = (of: DeadLetters): DeadLetters => ({
  ...of,
  recordFailure: taking("recordFailure", [["failure", object({ work: anyWork, error: text })]], of.recordFailure),
  bury: taking(
    "bury",
    [
      ["work", anyWork],
      ["why", failure],
      ["options", told]
    ],
    of.bury
  ),
  list: taking("listDeadLetters", [["query", optional(object(deadLetterParts))]], of.list)
})

const renewal = object({
  claim: optional(list()),
  release: optional(list(anObject)),
  evict: optional(list(anObject))
})

/** What is asked for by people. */
const inspections = (of: ExecutionStore): Pick<ExecutionStore, "unserved" | "verify" | "workOf"> => ({
  unserved: taking("unserved", [["served", object({ definitions: list(), activities: list() })]], of.unserved),
  verify: taking("verify", [["query", options]], of.verify),
  workOf: taking("workOf", [plain, ["query", options]], of.workOf)
})

/** What goes through the hands of workers; the variants for several stay those of the ones for one. */
const handsOfWorkers = (
  of: ExecutionStore
): Pick<ExecutionStore, "commit" | "commitEach" | "loadForEvents" | "pendingOutbox" | "listen" | "timers"> => {
  const commitOne = taking(
    "commit",
    [
      ["execution", execution],
      ["commit", commit]
    ],
    of.commit
  )
  const commits = takingEach("commit", "commits", object({ execution, commit, fence: options }), of.commitEach)
  const isArmed = taking("isArmed", [["timer", anObject]], of.timers.isArmed)
  const loads = takingEach("loadForEvent", "queries", object({ timer: options }), of.loadForEvents)
  const pendingOutbox = taking("pendingOutbox", [["query", numberedPage]], of.pendingOutbox)
  const listen: ExecutionStore["listen"] = (listener, options) => of.listen(listener, options)
  return {
    commit: commitOne,
    commitEach: batchVariant.of(commits, commitOne),
    loadForEvents: batchVariant.of(loads, of.load, of.loadForEvent, isArmed),
    pendingOutbox,
    listen: batchVariant.of(listen, pendingOutbox),
    timers: { ...of.timers, isArmed }
  }
}

/** A store whose operations refuse what has another shape than they take, as code without types may give it. */
export const make = (of: ExecutionStore): ExecutionStore => ({
  ...of,
  ...handsOfWorkers(of),
  ...inspections(of),
  save: taking("commit", [["execution", execution]], of.save),
  listExecutions: taking("listExecutions", [["query", filter]], of.listExecutions),
  countExecutions: taking("countExecutions", [["filter", filter]], of.countExecutions),
  enqueue: taking(
    "enqueue",
    [
      ["emits", list(emit)],
      ["options", sending]
    ],
    of.enqueue
  ),
  pendingSpawns: taking("pendingSpawns", [["query", numberedPage]], of.pendingSpawns),
  dueTimers: taking("dueTimers", [plain, ["query", page]], of.dueTimers),
  deleteTimer: taking("deleteTimer", [["timer", anObject]], of.deleteTimer),
  appendTrace: taking("appendTrace", [plain, ["step", anObject]], of.appendTrace),
  publishDefinition: taking("publishDefinition", [["definition", anObject]], of.publishDefinition),
  activities: activities(of.activities),
  attributes: {
    ...of.attributes,
    set: taking("setAttributes", [plain, plain, ["attributes", anObject]], of.attributes.set)
  },
  deadLetters: deadLetters(of.deadLetters),
  ledger: { ...of.ledger, prune: taking("pruneProcessed", [plain, ["query", options]], of.ledger.prune) },
  leases: { ...of.leases, renew: taking("renewLeases", [["renewal", renewal]], of.leases.renew) }
})
