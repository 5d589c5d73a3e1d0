import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { Encoded } from "../../../EncodedStore.js"
import type { StoreError } from "../../../StoreError.js"
import { type Send, sendEffect } from "./network.js"

/** How an operation is sent: reads and writes differ in what can go wrong with them. */
const senders = (send: Send) => {
  const sent = sendEffect(send)
  const sender =
    (write: boolean) =>
    <Args extends ReadonlyArray<unknown>, A>(
      operation: string,
      run: (...args: Args) => Effect.Effect<A, StoreError>,
      executionId: (...args: Args) => string | undefined = () => undefined
    ) =>
    (...args: Args): Effect.Effect<A, StoreError> =>
      Effect.suspend(() => sent({ operation, executionId: executionId(...args), write }, run(...args)))
  return { read: sender(false), write: sender(true) }
}

const first = (id: string): string => id

/** A backend that is reached over a network. What it is on does each operation at once. */
export const make = (encoded: Encoded, send: Send): Encoded => {
  const { read } = senders(send)
  return {
    exclusive: encoded.exclusive,
    remembers: encoded.remembers,
    ...executions(encoded, send),
    ...work(encoded, send),
    ...activities(encoded, send),
    ...upkeep(encoded, send),
    load: read("load", encoded.load, first),
    loadForEvent: read("loadForEvent", encoded.loadForEvent, first),
    isProcessed: read("isProcessed", encoded.isProcessed, first)
  }
}

const executions = (encoded: Encoded, send: Send) => {
  const { read, write } = senders(send)
  const { commitEach, loadForEvents } = encoded
  return {
    ...(loadForEvents === undefined ? {} : { loadForEvents: read("loadForEvents", loadForEvents) }),
    commit: write("commit", encoded.commit, ({ executionId }) => executionId),
    ...(commitEach === undefined
      ? {}
      : {
          commitEach: (commits: Parameters<typeof commitEach>[0]) =>
            Effect.catchAll(write("commitEach", commitEach, ([one]) => one?.executionId)(commits), (error) =>
              Effect.succeed(commits.map(() => Exit.fail(error)))
            )
        }),
    list: read("list", encoded.list),
    count: read("count", encoded.count),
    attributesOf: read("attributesOf", encoded.attributesOf),
    setAttributes: write("setAttributes", encoded.setAttributes),
    unserved: read("unserved", encoded.unserved),
    counts: read("counts", () => encoded.counts)(),
    stats: read("stats", encoded.stats),
    workOf: read("workOf", encoded.workOf),
    verify: read("verify", encoded.verify),
    idsWithPrefix: read("idsWithPrefix", encoded.idsWithPrefix),
    purge: write("purge", encoded.purge, first),
    appendTrace: write("appendTrace", encoded.appendTrace, first),
    readTrace: read("readTrace", encoded.readTrace, first)
  }
}

/** A page of the outbox with the executions that it is about, as a server gives them: most of them are at another version when they are used. */
const withExecutions =
  (encoded: Encoded): NonNullable<Encoded["pendingOutboxWithExecutions"]> =>
  (after, limit, except, { known }) =>
    Effect.flatMap(encoded.pendingOutbox(after, limit, except), (page) => {
      const targets = new Set(page.rows.flatMap(({ targetId }) => (typeof targetId === "string" ? [targetId] : [])))
      for (const id of known) targets.delete(id)
      const executions = Effect.forEach(targets, (id) =>
        Effect.map(encoded.load(id), Option.match({ onNone: () => [], onSome: (row) => [{ ...row, id }] }))
      )
      return Effect.map(executions, (executions) => ({ ...page, executions: executions.flat() }))
    })

const work = (encoded: Encoded, send: Send) => {
  const { read, write } = senders(send)
  return {
    enqueue: write("enqueue", encoded.enqueue),
    releaseDelayed: write("releaseDelayed", encoded.releaseDelayed),
    nextDelayed: read("nextDelayed", () => encoded.nextDelayed)(),
    pendingOutbox: read("pendingOutbox", encoded.pendingOutbox),
    pendingOutboxWithExecutions: read("pendingOutbox", withExecutions(encoded)),
    ackOutbox: write("ackOutbox", encoded.ackOutbox),
    pendingSpawns: read("pendingSpawns", encoded.pendingSpawns),
    ackSpawn: write("ackSpawn", encoded.ackSpawn),
    isSpawning: read("isSpawning", encoded.isSpawning),
    isSpawnParent: read("isSpawnParent", encoded.isSpawnParent),
    dropSpawns: write("dropSpawns", encoded.dropSpawns),
    dueTimers: read("dueTimers", encoded.dueTimers),
    nextTimer: read("nextTimer", () => encoded.nextTimer)(),
    isArmed: read("isArmed", encoded.isArmed, ({ executionId }) => executionId),
    deleteTimer: write("deleteTimer", encoded.deleteTimer, ({ executionId }) => executionId),
    recordFailure: write("recordFailure", encoded.recordFailure),
    bury: write("bury", encoded.bury),
    listDeadLetters: read("listDeadLetters", encoded.listDeadLetters),
    redrive: write("redrive", encoded.redrive),
    discard: write("discard", encoded.discard)
  }
}

const activities = (encoded: Encoded, send: Send) => {
  const { read, write } = senders(send)
  return {
    listActivities: read("listActivities", encoded.listActivities),
    activitiesOf: read("activitiesOf", encoded.activitiesOf, first),
    findActivity: read("findActivity", encoded.findActivity, first),
    waitingActivities: read("waitingActivities", encoded.waitingActivities),
    claimActivities: write("claimActivities", encoded.claimActivities),
    endActivity: write("endActivity", encoded.endActivity),
    failActivity: write("failActivity", encoded.failActivity),
    releaseActivity: write("releaseActivity", encoded.releaseActivity),
    dropActivity: write("dropActivity", encoded.dropActivity),
    releaseActivities: write("releaseActivities", encoded.releaseActivities),
    releaseOrphans: write("releaseOrphans", () => encoded.releaseOrphans)(),
    ownedActivities: read("ownedActivities", encoded.ownedActivities),
    activityOwners: read("activityOwners", encoded.activityOwners)
  }
}

const upkeep = (encoded: Encoded, send: Send) => {
  const { read, write } = senders(send)
  return {
    markProcessed: write("markProcessed", encoded.markProcessed),
    pruneProcessed: write("pruneProcessed", encoded.pruneProcessed),
    leases: read("leases", encoded.leases),
    leasePools: read("leasePools", () => encoded.leasePools)(),
    renewLeases: write("renewLeases", encoded.renewLeases),
    leaveLeases: write("leaveLeases", encoded.leaveLeases),
    publishDefinition: write("publishDefinition", encoded.publishDefinition),
    loadDefinition: read("loadDefinition", encoded.loadDefinition)
  }
}
