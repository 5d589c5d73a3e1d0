import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import type { Commit, Committed } from "../../../Commit.js"
import type { Encoded } from "../../../EncodedStore.js"
import type { Execution } from "../../../Execution.js"
import { type ExecutionStore, make as makeStore } from "../../../ExecutionStore.js"
import { prefix as recurring } from "../../../internal/cron/contract.js"
import * as batchVariant from "../../../internal/util/batchVariant.js"
import * as fences from "../../../internal/util/fence.js"
import type { FencingToken, Pool } from "../../../Lease.js"
import type { StoreConflict, StoreError } from "../../../StoreError.js"
import * as claims from "./claims.js"
import type { Outcome } from "./plan.js"
import type { Life } from "./processLife.js"
import type { World } from "./world.js"

/** An event whose sender was told that it is stored. */
export interface Sent {
  readonly targetId: string
  readonly eventId: string
  /** Its number in the outbox, where its target was there before it. */
  readonly seq: number | undefined
}

interface Acknowledged {
  readonly version: number
  readonly by: string
  readonly processed: string | undefined
  readonly seq: number | undefined
}

/** The commits of an execution that were acknowledged. */
interface Commits {
  highest: number
  readonly byVersion: Map<number, Acknowledged>
  /** At which version each event was consumed. */
  readonly versions: Map<string, number>
}

/** In which an execution may be removed. */
const removable: ReadonlyArray<string> = ["DONE", "CANCELLED", "FAILED"]

/** What processes were told by the database, and what contradicts it. */
export class Journal {
  readonly problems: Array<string> = []
  readonly sent: Array<Sent> = []
  readonly spawned: Array<{ readonly parentId: string; readonly childId: string }> = []
  /** The commits that were acknowledged, of each execution. */
  readonly commits = new Map<string, Commits>()
  /** The numbers of the events that were given up: each is a dead letter, or was about to be one. */
  readonly buried = new Set<number>()
  /** The executions whose removal was asked for: what is known of them may be gone, and another may have their id. */
  readonly purges = new Set<string>()
  /** The events that somebody has given up for good. */
  readonly discarded = new Set<string>()
  /** Those who run activities. */
  readonly signs: claims.Signs = new Map()
  /** What operators have removed. */
  private readonly byHand: Array<string> = []
  private readonly store: ExecutionStore
  private readonly asked = new Set<string>()
  private readonly delayed = new Map<string, number>()
  private readonly holders = new Map<string, { readonly holder: string; readonly fence: number }>()

  constructor(
    readonly world: World,
    readonly truth: Encoded,
    /** For how many seconds retention keeps what has ended. */
    private readonly keeps?: number | undefined
  ) {
    this.store = makeStore(truth)
  }

  problem(text: string): void {
    this.problems.push(text)
    this.world.note(`PROBLEM: ${text}`)
  }

  /** The ids of the executions that are known of, in the order in which they were. */
  get executions(): ReadonlyArray<string> {
    return Array.from(this.commits.keys())
  }

  /** The highest version of an execution that anybody was told of. */
  version(id: string): number {
    return this.commits.get(id)?.highest ?? 0
  }

  committed(life: Life, commit: Commit, { execution: { id, status, version } }: Committed): void {
    life.wrote()
    const again = this.purges.has(id)
    // Another execution with the id of one that was removed, whose first commit may not have been acknowledged.
    const known = again && version <= this.version(id) ? undefined : this.commits.get(id)
    const ofExecution = known ?? { highest: 0, byVersion: new Map(), versions: new Map() }
    this.commits.set(id, ofExecution)
    const before = ofExecution.byVersion.get(version)
    const by = life.name
    if (before !== undefined && !again) {
      this.problem(`two commits of ${id} were acknowledged as its version ${version}: to ${before.by} and to ${by}`)
    }
    const { processed } = commit
    const other = processed === undefined ? undefined : ofExecution.versions.get(processed)
    if (other !== undefined && !again)
      this.problem(`${id} consumed ${processed} twice: as its version ${other} and as its version ${version}`)
    const seq = commit.ack?._tag === "Outbox" ? commit.ack.seq : undefined
    ofExecution.byVersion.set(version, { version, by, processed, seq })
    ofExecution.highest = Math.max(ofExecution.highest, version)
    if (processed !== undefined) ofExecution.versions.set(processed, version)
    this.world.note(
      `${by} has committed ${id} v${version} ${status}${processed === undefined ? "" : ` at ${processed}`}`
    )
    if (processed !== undefined) this.due(id, processed)
    for (const { dueAt, event, targetId } of commit.emits ?? []) {
      if (targetId === null) continue
      this.sent.push({ targetId, eventId: event.id, seq: undefined })
      if (typeof dueAt === "number") this.delayed.set(`${targetId} ${event.id}`, dueAt)
    }
    for (const { childId } of commit.spawns ?? []) this.spawned.push({ parentId: id, childId })
  }

  /** A delayed event must not take effect before any clock has shown its time. */
  private due(id: string, eventId: string): void {
    const dueAt = this.delayed.get(`${id} ${eventId}`)
    const early = dueAt === undefined ? 0 : dueAt - this.world.latest / 1_000
    if (early > 0) this.problem(`${eventId} took effect in ${id} ${early.toFixed(3)} s before it was due`)
  }

  /** Takes note of the times that timers are asked for. */
  asks(id: string, commit: Commit): void {
    for (const op of commit.timers ?? []) if (op._tag === "Schedule") this.asked.add(`${id} ${op.path} ${op.fireAt}`)
  }

  /** A timer must not take effect before its time by the clock of the process that it fires in. */
  fires(life: Life, commit: Commit): void {
    const { ack } = commit
    if (ack?._tag !== "Timer") return
    const { executionId, fireAt, path } = ack
    if (!this.asked.has(`${executionId} ${path} ${fireAt}`)) {
      this.problem(`timer ${path} of ${executionId} fired for ${fireAt}, a time that nobody has asked for`)
    }
    const early = fireAt - life.latest / 1_000
    if (early > 0) this.problem(`timer ${path} of ${executionId} fired ${early.toFixed(3)} s early in ${life.name}`)
  }

  /** An operator removes an execution, and all below it. */
  removes(id: string): void {
    this.byHand.push(id)
  }

  /** Only what has come to its end is removed, and recurring work, which has none; by retention only what has ended long enough ago. */
  purge(life: Life, id: string, expected: number): void {
    const found = Effect.runSyncExit(this.truth.load(id))
    const isThis = Exit.isSuccess(found) && Option.exists(found.value, ({ version }) => version === expected)
    const execution = isThis ? this.executionOf(id) : undefined
    if (execution !== undefined && !id.startsWith(recurring)) this.mayRemove(life, execution)
    this.purges.add(id)
  }

  private mayRemove(life: Life, { finishedAt, id, parentId, status }: Execution): void {
    const removed = `${id} was removed by ${life.name}`
    if (!removable.includes(status)) this.problem(`${removed} while it was ${status}`)
    const parent = parentId === null ? undefined : this.executionOf(parentId)
    if (parent !== undefined && !removable.includes(parent.status))
      this.problem(`${removed} while its parent was ${parent.status}`)
    const { keeps } = this
    const isByHand = this.byHand.some((root) => id === root || id.startsWith(`${root}:`))
    if (keeps === undefined || finishedAt === null || parentId !== null || isByHand) return
    const early = finishedAt + keeps - life.latest / 1_000
    if (early > 0) this.problem(`${removed} ${early.toFixed(3)} s before retention may`)
  }

  /** Whoever discards a dead letter wants it not to happen. */
  discards(id: number): void {
    const found = Effect.runSyncExit(this.store.deadLetters.list({ limit: 1000 }))
    const dead = Exit.isSuccess(found) ? found.value.entries.find((entry) => entry.id === id) : undefined
    if (dead?._tag !== "Outbox" || Option.isNone(dead.row)) return
    const { event, targetId } = dead.row.value
    if (targetId !== null) this.discarded.add(`${targetId} ${event.id}`)
  }

  private executionOf(id: string): Execution | undefined {
    const found = Effect.runSyncExit(this.store.load(id))
    return Exit.isSuccess(found) ? Option.getOrUndefined(found.value) : undefined
  }

  /** What was read must be what was acknowledged before the reading began, or later. */
  read(id: string, least: number, execution: Option.Option<Execution>): void {
    const version = Option.match(execution, { onNone: () => 0, onSome: ({ version }) => version })
    if (version < least && !this.purges.has(id))
      this.problem(`${id} was read at version ${version} after its version ${least} was acknowledged`)
  }

  /** Whether a lease is held by another by now. */
  isLost(token: FencingToken | undefined): boolean {
    if (token === undefined) return false
    const pool = Effect.runSyncExit(this.truth.leases(token.pool))
    if (Exit.isFailure(pool)) return false
    const lease = pool.value.leases.find(({ name }) => name === token.name)
    return lease === undefined || lease.holder !== token.holder || lease.fence !== token.fence
  }

  /** A lease that changes hands must get a greater number. */
  leases(pool: string, { leases }: Pool): void {
    for (const { fence, holder, name } of leases) {
      if (holder === null) continue
      const key = `${pool} ${name}`
      const before = this.holders.get(key)
      if (before !== undefined && before.holder !== holder && before.fence === fence) {
        this.problem(`lease ${name} of ${pool} went from ${before.holder} to ${holder} with the same fence ${fence}`)
      }
      if (before === undefined || fence >= before.fence) this.holders.set(key, { holder, fence })
    }
  }
}

const tokenNow: Effect.Effect<FencingToken | undefined> = Effect.map(FiberRef.get(fences.current), (fence) =>
  fence?._tag === "Lease" ? fence.token : undefined
)

/** What a process writes, and what comes before the outcome of what it did: see `Network.holdUp`. */
export interface Writing {
  readonly journal: Journal
  readonly life: Life
  readonly holdUp: (what: Outcome, isLost: () => boolean) => Effect.Effect<void>
}

/** Watches one commit: what it is asked for, and what it is told. */
const watch = ({ journal, life }: Writing, id: string, commit: Commit, token: FencingToken | undefined) => {
  journal.asks(id, commit)
  const lost = commit.ack !== undefined && journal.isLost(token)
  return (exit: Exit.Exit<Committed, StoreConflict | StoreError>): void => {
    if (Exit.isFailure(exit)) return
    journal.fires(life, commit)
    if (lost)
      journal.problem(`${exit.value.execution.id} was written by ${life.name} after it had lost ${token?.name ?? ""}`)
    journal.committed(life, commit, exit.value)
  }
}

const commits = (writing: Writing, store: ExecutionStore): Pick<ExecutionStore, "commit" | "commitEach" | "save"> => {
  const { holdUp, journal } = writing
  const commit: ExecutionStore["commit"] = (execution, asked = {}) =>
    Effect.flatMap(tokenNow, (token) => {
      const committed = Effect.suspend(() => {
        const told = watch(writing, execution.id, asked, token)
        return Effect.onExit(store.commit(execution, asked), (exit) => Effect.sync(() => told(exit)))
      })
      return asked.ack === undefined
        ? committed
        : Effect.zipRight(
            holdUp("outcome of an event", () => journal.isLost(token)),
            committed
          )
    })
  const commitEach: ExecutionStore["commitEach"] = (asked) =>
    Effect.flatMap(tokenNow, (token) => {
      const committed = Effect.suspend(() => {
        const told = asked.map(({ commit = {}, execution, fence }) =>
          watch(writing, execution.id, commit, fence ?? token)
        )
        return Effect.tap(store.commitEach(asked), (exits) =>
          Effect.sync(() => {
            for (const [place, exit] of exits.entries()) told[place]?.(exit)
          })
        )
      })
      return asked.every(({ commit }) => commit?.ack === undefined)
        ? committed
        : Effect.zipRight(
            holdUp("outcome of an event", () => asked.some(({ fence }) => journal.isLost(fence ?? token))),
            committed
          )
    })
  return {
    commit,
    commitEach: batchVariant.isOf(store.commitEach, store.commit) ? batchVariant.of(commitEach, commit) : commitEach,
    save: (execution) => Effect.map(commit(execution), (committed) => committed.execution)
  }
}

const reads = (
  journal: Journal,
  store: ExecutionStore
): Pick<ExecutionStore, "load" | "loadForEvent" | "loadForEvents"> => {
  const loadForEvent: ExecutionStore["loadForEvent"] = (id, eventId) =>
    Effect.suspend(() => {
      const least = journal.version(id)
      return Effect.tap(store.loadForEvent(id, eventId), ({ execution }) =>
        Effect.sync(() => journal.read(id, least, execution))
      )
    })
  const loadForEvents: ExecutionStore["loadForEvents"] = (queries) =>
    Effect.suspend(() => {
      const least = queries.map(({ id }) => journal.version(id))
      return Effect.tap(store.loadForEvents(queries), (exits) =>
        Effect.sync(() => {
          for (const [place, exit] of exits.entries()) {
            const id = queries[place]?.id
            if (id !== undefined && Exit.isSuccess(exit)) journal.read(id, least[place] ?? 0, exit.value.execution)
          }
        })
      )
    })
  const load: ExecutionStore["load"] = (id) =>
    Effect.suspend(() => {
      const least = journal.version(id)
      return Effect.tap(store.load(id), (execution) => Effect.sync(() => journal.read(id, least, execution)))
    })
  return {
    load,
    loadForEvent,
    loadForEvents: batchVariant.isOf(store.loadForEvents, store.loadForEvent)
      ? batchVariant.of(loadForEvents, load, loadForEvent, store.timers.isArmed)
      : loadForEvents
  }
}

/** A store as a process has it, whose answers are written down. */
export const observed = (writing: Writing, given: ExecutionStore): ExecutionStore =>
  written(writing, { ...given, ...claims.observed(writing, given) })

const written = (writing: Writing, store: ExecutionStore): ExecutionStore =>
  watched(writing, {
    ...store,
    ...commits(writing, store),
    ...reads(writing.journal, store)
  })

const watched = ({ journal, life }: Writing, store: ExecutionStore): ExecutionStore => ({
  ...store,
  enqueue: (emits, options) =>
    Effect.tap(store.enqueue(emits, options), (seqs) =>
      Effect.sync(() => {
        for (const [place, { event, targetId }] of emits.entries()) {
          if (targetId === null) continue
          const seq = journal.version(targetId) > 0 ? seqs[place] : undefined
          journal.sent.push({ targetId, eventId: event.id, seq })
          journal.world.note(`${life.name} has sent ${event.id} to ${targetId}`)
        }
      })
    ),
  purge: (id, version) =>
    Effect.suspend(() => {
      journal.purge(life, id, version)
      return store.purge(id, version)
    }),
  deadLetters: {
    ...store.deadLetters,
    discard: (id) =>
      Effect.suspend(() => {
        journal.discards(id)
        return store.deadLetters.discard(id)
      }),
    bury: (work, why, options) =>
      Effect.suspend(() => {
        if (work._tag === "Outbox") journal.buried.add(work.seq)
        return store.deadLetters.bury(work, why, options)
      })
  },
  leases: {
    ...store.leases,
    load: (pool) => Effect.tap(store.leases.load(pool), (found) => Effect.sync(() => journal.leases(pool, found)))
  }
})
