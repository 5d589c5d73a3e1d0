import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Commit, Emit, Work } from "../../Commit.js"
import type { Burial } from "../../DeadLetter.js"
import * as Event from "../../Event.js"
import type { Execution } from "../../Execution.js"
import type { ExecutionStore } from "../../ExecutionStore.js"
import type * as GivenUp from "../../GivenUp.js"
import * as Ids from "../../Ids.js"
import type { StoreConflict, StoreError } from "../../StoreError.js"
import { wellFormed } from "../codec/validate.js"
import * as log from "../telemetry/log.js"
import * as batchVariant from "../util/batchVariant.js"
import { describe } from "../util/errorText.js"
import * as eventIds from "../util/eventIds.js"
import { fencedBy } from "../util/fence.js"
import { exceeds } from "../util/limits.js"

// The length that an id may have by default. A store may take less, and then the work counts for more than its notice.
const longest = 1024

const isTarget = (target: string | null): boolean =>
  target === null || (target !== "" && wellFormed(target) === undefined && !exceeds(target, longest))

/** Whom a notice is for. A function that throws, or gives what is no id, keeps nobody's work from being given up. */
const resolve = (target: GivenUp.Target, notice: GivenUp.GivenUp): Effect.Effect<string | null | undefined> =>
  Effect.suspend(() => {
    const found = typeof target === "function" ? target(notice) : target
    if (found === undefined || isTarget(found)) return Effect.succeed(found)
    return Effect.as(log.warning("onGivenUp gave what is no id of an execution: nobody is told"), undefined)
  }).pipe(
    Effect.catchAllDefect((defect) =>
      Effect.as(log.warning(`onGivenUp died, and nobody is told: ${describe(defect)}`), undefined)
    )
  )

/** The event for whoever is to be told, or nothing. What has failed takes no events. */
const emitOf = (
  target: GivenUp.Target,
  notice: GivenUp.GivenUp,
  id: string
): Effect.Effect<Pick<Emit, "targetId" | "event"> | undefined> =>
  Effect.map(resolve(target, notice), (targetId) => {
    if (targetId === undefined || (notice.what === "Execution" && targetId === notice.executionId)) return undefined
    const { definition, definitionVersion, executionId, parentId, ...rest } = notice
    const owner = { definition_id: definition, definition_version: definitionVersion, parent_id: parentId }
    const data = { ...rest, execution_id: executionId, ...owner }
    return { targetId, event: Event.make({ id, kind: Event.WellKnownKind.GivenUp, data }) }
  })

type About = Pick<GivenUp.GivenUp, "executionId" | "subject" | "name">

/** What a row of work is about; nothing where it is a notice, which causes no other. */
const aboutWork = (store: ExecutionStore, work: Work): Effect.Effect<About | undefined, StoreError> => {
  switch (work._tag) {
    case "Timer":
      return Effect.succeed({ executionId: work.executionId, subject: work.path, name: null })
    case "Outbox":
      return Effect.map(store.pendingOutbox({ after: work.seq - 1, limit: 1 }), ({ entries: [entry] }) => {
        if (entry?.seq !== work.seq) return unknown
        const { event, targetId } = entry
        return event.kind === Event.WellKnownKind.GivenUp
          ? undefined
          : { executionId: targetId, subject: event.id, name: event.kind }
      })
    case "Spawn":
      return Effect.map(store.pendingSpawns({ after: work.seq - 1, limit: 1 }), ({ entries: [entry] }) =>
        entry?.seq === work.seq ? { executionId: entry.parentId, subject: entry.childId, name: null } : unknown
      )
    case "Activity":
      return Effect.map(store.activities.list({ after: work.seq - 1, limit: 1 }), ({ entries: [entry] }) =>
        entry?.seq === work.seq ? { executionId: entry.executionId, subject: entry.key, name: entry.name } : unknown
      )
  }
}

/** A row that does not decode. */
const unknown: About = { executionId: null, subject: null, name: null }

const load = (store: ExecutionStore, id: string | null): Effect.Effect<Option.Option<Execution>> =>
  id === null ? Effect.succeedNone : Effect.orElseSucceed(store.load(id), () => Option.none())

const noticeOfWork = (store: ExecutionStore, work: Work, { attempts, error, reason }: Burial) =>
  Effect.gen(function* () {
    // Whatever cannot be read here must not keep the work from being given up.
    const about = yield* Effect.orElseSucceed(aboutWork(store, work), () => unknown)
    if (about === undefined) return Option.none<GivenUp.GivenUp>()
    const found = Option.getOrUndefined(yield* load(store, about.executionId))
    const owner = {
      definition: found?.definitionId ?? null,
      definitionVersion: found?.definitionVersion ?? null,
      parentId: found?.parentId ?? null
    }
    return Option.some<GivenUp.GivenUp>({ what: work._tag, ...about, ...owner, reason, attempts, error })
  })

const isRefused = (error: StoreConflict | StoreError): boolean =>
  error._tag === "StoreRejected" && error.reason === "invalid-input"

/** Runs a write with a notice; where that is refused, it may be the notice's fault, and the write is more than its notice. */
const orWithout = <A, E extends StoreConflict | StoreError>(told: Effect.Effect<A, E>, plain: Effect.Effect<A, E>) =>
  Effect.catchIf(told, isRefused, (error) =>
    Effect.zipLeft(plain, log.warning(`nobody could be told of what was given up: ${error.message}`))
  )

const bury =
  (store: ExecutionStore, target: GivenUp.Target): ExecutionStore["deadLetters"]["bury"] =>
  (work, why, options) =>
    Effect.gen(function* () {
      const plain = store.deadLetters.bury(work, why, options)
      const notice = yield* noticeOfWork(store, work, why)
      if (Option.isNone(notice)) return yield* plain
      // Work that is redriven may be given up again, which is another notice.
      const told = yield* emitOf(target, notice.value, eventIds.derived("given-up", yield* Ids.next))
      if (told === undefined) return yield* plain
      return yield* orWithout(store.deadLetters.bury(work, why, { ...options, notice: told }), plain)
    })

/** Whether a commit is that by which an execution fails. */
const fails = ({ status }: Execution, commit: Commit | undefined): boolean =>
  status === "FAILED" && commit?.origin !== undefined && commit.origin.status !== "FAILED"

/** The commit by which an execution fails, with its notice. */
const toldCommit = (target: GivenUp.Target, execution: Execution, commit: Commit): Effect.Effect<Commit> => {
  const { createdAt, definitionId, definitionVersion, error, id, parentId, version } = execution
  const notice: GivenUp.GivenUp = {
    what: "Execution",
    executionId: id,
    definition: definitionId,
    definitionVersion,
    parentId,
    subject: null,
    name: null,
    reason: "failed",
    attempts: 0,
    error: error ?? ""
  }
  return Effect.map(emitOf(target, notice, eventIds.derived("given-up", id, createdAt ?? 0, version)), (told) =>
    told === undefined ? commit : { ...commit, emits: [...(commit.emits ?? []), told] }
  )
}

const commitWith =
  (store: ExecutionStore, target: GivenUp.Target): ExecutionStore["commit"] =>
  (execution, commit) =>
    commit === undefined || !fails(execution, commit)
      ? store.commit(execution, commit)
      : Effect.flatMap(toldCommit(target, execution, commit), (told) =>
          told === commit
            ? store.commit(execution, commit)
            : orWithout(store.commit(execution, told), store.commit(execution, commit))
        )

const commitEachWith =
  (store: ExecutionStore, single: ExecutionStore["commit"]): ExecutionStore["commitEach"] =>
  (commits) =>
    commits.some(({ commit, execution }) => fails(execution, commit))
      ? Effect.forEach(
          commits,
          ({ commit, execution, fence }) => Effect.exit(fencedBy(fence)(single(execution, commit))),
          { concurrency: "unbounded" }
        )
      : store.commitEach(commits)

/** @internal */
export const telling = (store: ExecutionStore, target: GivenUp.Target): ExecutionStore => {
  const commit = commitWith(store, target)
  const commitEach = commitEachWith(store, commit)
  return {
    ...store,
    commit,
    commitEach: batchVariant.isOf(store.commitEach, store.commit)
      ? batchVariant.of(commitEach, commit)
      : store.commitEach,
    save: (execution) => Effect.map(commit(execution), (committed) => committed.execution),
    deadLetters: { ...store.deadLetters, bury: bury(store, target) }
  }
}
