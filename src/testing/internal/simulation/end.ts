import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { DeadLetter } from "../../../DeadLetter.js"
import type { Execution } from "../../../Execution.js"
import * as ExecutionRuntime from "../../../ExecutionRuntime.js"
import * as ExecutionStore from "../../../ExecutionStore.js"
import type * as QueueWorker from "../../../QueueWorker.js"
import type { StoreError } from "../../../StoreError.js"
import { healthOf } from "./looks.js"
import type { Process } from "./processes.js"
import type { Stage } from "./run.js"

const second = 1_000_000

/** The database without faults, as a store. */
const truthOf = <R>({ backend }: Stage<R>): ExecutionStore.ExecutionStore => ExecutionStore.make(backend.truth)

/** Where a dead letter's event was to go, if it is one. */
const targetOf = (dead: DeadLetter): string | null =>
  dead._tag === "Outbox" && Option.isSome(dead.row) ? dead.row.value.targetId : null

/** The dead letters but for events to executions that were never created: nobody waits for these. */
const wanted = (store: ExecutionStore.ExecutionStore): Effect.Effect<ReadonlyArray<DeadLetter>, StoreError> =>
  Effect.gen(function* () {
    const { entries } = yield* store.deadLetters.list({ limit: 1000 })
    const targets = new Set(entries.flatMap((dead) => targetOf(dead) ?? []))
    const isThere = (id: string) => Effect.map(store.load(id), Option.isSome)
    const there = new Set(yield* Effect.filter(targets, isThere))
    return entries.filter((dead) => {
      const target = targetOf(dead)
      return target === null || there.has(target)
    })
  })

/** What an operator does once everything works again: what was suspended, has failed or was given up goes on. */
const mend = Effect.gen(function* () {
  const { control, deadLetters } = yield* ExecutionRuntime.ExecutionRuntime
  const store = yield* ExecutionStore.ExecutionStore
  const stuck = yield* store.listExecutions({ status: ["SUSPENDED", "FAILED"], limit: 1000 })
  for (const { id, status } of stuck.items) {
    yield* Effect.ignore(status === "FAILED" ? control.redrive(id) : control.resume(id))
  }
  for (const { id } of yield* wanted(store)) yield* deadLetters.redrive(id)
})

interface Left {
  readonly due: ReadonlyArray<string>
  readonly later: number
}

const count = (what: string, n: number): ReadonlyArray<string> => (n === 0 ? [] : [`${n} ${what}`])

/** What is still to be done. */
const left = (store: ExecutionStore.ExecutionStore): Effect.Effect<Left, StoreError> =>
  Effect.gen(function* () {
    const { activities, delayed, outbox, spawns, timers } = yield* store.stats
    const dead = yield* wanted(store)
    const suspended = yield* store.listExecutions({ status: ["SUSPENDED"] })
    return {
      due: [
        ...count("events", outbox.count),
        ...count("children", spawns.count),
        ...count("timers that are due", timers.due),
        ...count("activities", activities.count),
        ...count("dead letters", dead.length),
        ...count("suspended executions", suspended.items.length)
      ],
      later: timers.count + delayed.count
    }
  })

/** Ends all faults, and lets the processes work until nothing is left. */
export const settle = <R>(stage: Stage<R>, micros: number): Effect.Effect<void, StoreError> =>
  Effect.gen(function* () {
    const { journal, network, processes, workload, world } = stage
    world.note("the faults end")
    network.calm()
    let ended = workload.end === undefined
    const wrong = () => journal.problems.length > 0
    const until = world.now + micros
    let remains: Left = { due: [], later: 0 }
    while (world.now < until && !wrong()) {
      for (const process of processes) {
        process.thaw()
        process.spare()
        process.start()
        process.converge()
      }
      const up = processes.find(({ running }) => running)
      up?.run("mends", mend)
      // Once more each time, since a process that starts may begin it again.
      if (workload.end !== undefined && processes.every(({ isFinal }) => isFinal))
        up?.run("ends", workload.end, (exit) => {
          ended ||= Exit.isSuccess(exit)
        })
      yield* world.run(wrong, 2 * second)
      remains = yield* Effect.withClock(left(truthOf(stage)), world.clock)
      const isIdle = processes.every(({ running, waiting }) => running && waiting.length === 0)
      if (ended && remains.due.length + remains.later === 0 && isIdle) return
    }
    for (const { name, running } of processes) if (!running && !wrong()) journal.problem(`${name} does not start`)
    if (!ended && !wrong()) journal.problem("what is done in the end does not succeed")
    if (!wrong() && remains.due.length > 0) {
      journal.problem(`${micros / second} s after the last fault this is left: ${remains.due.join(", ")}`)
    }
  })

const atEnd = (execution: Option.Option<Execution>): boolean =>
  Option.match(execution, {
    onNone: () => true,
    onSome: ({ status }) => status === "DONE" || status === "CANCELLED" || status === "CANCELLING"
  })

/** Whether an execution that was never cancelled has consumed what came behind an event that nobody gave up. */
const wasPassed = <R>({ journal }: Stage<R>, execution: Option.Option<Execution>, seq: number | undefined): boolean => {
  if (seq === undefined || journal.buried.has(seq) || Option.isNone(execution) || execution.value.status !== "DONE")
    return false
  const commits = Array.from(journal.commits.get(execution.value.id)?.byVersion.values() ?? [])
  return commits.some((commit) => commit.seq !== undefined && commit.seq > seq)
}

/** What was acknowledged and is not there. */
const lost = <R>(stage: Stage<R>, store: ExecutionStore.ExecutionStore) =>
  Effect.gen(function* () {
    const { journal } = stage
    for (const [id, commits] of journal.commits) {
      if (journal.purges.has(id)) continue
      const execution = yield* store.load(id)
      const version = Option.match(execution, { onNone: () => 0, onSome: ({ version }) => version })
      if (version < journal.version(id)) {
        journal.problem(`${id} ends at version ${version}, but its version ${journal.version(id)} was acknowledged`)
      }
      for (const { processed, version } of commits.byVersion.values()) {
        if (processed !== undefined && !(yield* store.isProcessed(id, processed))) {
          journal.problem(`${id} consumed ${processed} as its version ${version}, and its ledger does not have it`)
        }
      }
    }
    for (const { eventId, seq, targetId } of journal.sent) {
      if (journal.purges.has(targetId) || journal.discarded.has(`${targetId} ${eventId}`)) continue
      const execution = yield* store.load(targetId)
      if ((atEnd(execution) && !wasPassed(stage, execution, seq)) || (yield* store.isProcessed(targetId, eventId)))
        continue
      journal.problem(`${eventId} was sent to ${targetId}, which never got it`)
    }
    for (const { childId, parentId } of journal.spawned) {
      if (journal.purges.has(parentId) || journal.purges.has(childId)) continue
      const parent = yield* store.load(parentId)
      const child = yield* store.load(childId)
      const goesOn = Option.exists(parent, ({ status }) => status === "DONE" || status === "RUNNING")
      if (goesOn && Option.isNone(child)) journal.problem(`child ${childId} of ${parentId} was never created`)
    }
  })

/** The events of a lane take effect in the order in which they were stored, but for what was given up while another process was at it. */
const order = <R>({ journal }: Stage<R>): void => {
  for (const [id, commits] of journal.commits) {
    let last = 0
    for (const { processed, seq, version } of Array.from(commits.byVersion.values()).sort(
      (a, b) => a.version - b.version
    )) {
      if (seq === undefined || journal.buried.has(seq)) continue
      if (seq < last)
        journal.problem(
          `${id} consumed ${processed ?? ""} (event ${seq}) as its version ${version}, after event ${last}`
        )
      last = Math.max(last, seq)
    }
  }
}

const ask = <R, A, E>(
  { world }: Stage<R>,
  process: Process<R>,
  what: string,
  effect: Effect.Effect<A, E, ExecutionRuntime.ExecutionRuntime>
): Effect.Effect<Exit.Exit<A, E> | undefined> =>
  Effect.suspend(() => {
    let exit: Exit.Exit<A, E> | undefined
    process.run(what, effect, (ended) => {
      exit = ended
    })
    return Effect.map(
      world.run(() => exit !== undefined, 30 * second),
      () => exit
    )
  })

/** What a worker says it has, where there is nothing to do any more. */
const leftOf = (name: string, { backlog, held, outage, runningSince }: QueueWorker.Health): ReadonlyArray<string> => [
  ...count(`rows in the memory of ${name}`, backlog),
  ...count(`lanes of ${name} that are held back`, held),
  ...(Option.isSome(runningSince) ? [`work of ${name} that runs`] : []),
  ...(Option.isSome(outage) ? [`an outage of ${name}: ${outage.value.message}`] : [])
]

/** What is wrong with how a process says it is, where all work is done and nothing is wrong. */
const unwell = (health: ExecutionRuntime.Health): ReadonlyArray<string> => [
  ...health.problems,
  ...(["outbox", "spawns", "timers", "activities"] as const).flatMap((name) => leftOf(name, health[name])),
  ...(Option.isNone(health.store) ? ["it knows nothing of its store"] : [])
]

/** What a process knows of the store is what is in it, where nothing changes any more. */
const differs = ({ store }: ExecutionRuntime.Health, truth: ExecutionStore.Stats): ReadonlyArray<string> =>
  Option.match(store, {
    onNone: () => [],
    onSome: (known) =>
      (["outbox", "spawns", "timers", "delayed", "activities", "deadLetters"] as const).flatMap((name) =>
        known[name].count === truth[name].count
          ? []
          : [`it knows of ${known[name].count} ${name}, and there are ${truth[name].count}`]
      )
  })

/** Each lease is held by one process, where all are well. */
const shared = <R>(stage: Stage<R>, found: ReadonlyArray<ExecutionRuntime.Health>): ReadonlyArray<string> => {
  const { leases } = stage.runtimeOptions
  if (leases === undefined) return []
  const held = found.reduce((sum, { shards }) => sum + (Option.isSome(shards) ? shards.value.owned.length : 0), 0)
  return held === leases.count ? [] : [`${held} of ${leases.count} leases are held`]
}

const look = <R>(stage: Stage<R>) =>
  Effect.gen(function* () {
    const wrong: Array<string> = []
    const found: Array<ExecutionRuntime.Health> = []
    for (const process of stage.processes) {
      const exit = yield* ask(stage, process, "is asked for its health", healthOf)
      if (exit === undefined || Exit.isFailure(exit)) {
        wrong.push(`${process.name} does not say how it is`)
        continue
      }
      found.push(exit.value)
      const truth = yield* Effect.withClock(truthOf(stage).stats, stage.world.clock)
      const problems = [...unwell(exit.value), ...differs(exit.value, truth)]
      if (problems.length > 0) wrong.push(`${process.name} is not well: ${problems.join("; ")}`)
    }
    return [...wrong, ...shared(stage, found)]
  })

/**
 * How long processes take at most to see that all is well, in seconds: after a failure a worker waits before it tries again, and what another
 * process put off by a clock that is ahead is put off for that long.
 */
const recovery = 250

const health = <R>(stage: Stage<R>) =>
  Effect.gen(function* () {
    const { journal, world } = stage
    const until = world.now + recovery * second
    let wrong = yield* look(stage)
    while (wrong.length > 0 && world.now < until && journal.problems.length === 0) {
      yield* world.run(() => journal.problems.length > 0, 5 * second)
      wrong = yield* look(stage)
    }
    for (const problem of wrong) journal.problem(problem)
  })

/** What clients do comes to an end once the faults have. */
const waits = <R>({ journal, processes }: Stage<R>): void => {
  for (const { name, waiting } of processes) {
    for (const what of waiting) journal.problem(`${name} ${what}: this has not ended`)
  }
}

/** Looks at what has become of everything. */
export const judge = <R>(stage: Stage<R>): Effect.Effect<void, StoreError> =>
  Effect.gen(function* () {
    const { journal, workload } = stage
    const store = truthOf(stage)
    yield* lost(stage, store)
    order(stage)
    const { corrupt } = yield* store.verify()
    for (const { message } of corrupt) journal.problem(message)
    if (workload.check !== undefined) {
      const found = yield* workload.check.pipe(
        Effect.provideService(ExecutionStore.ExecutionStore, store),
        Effect.withClock(stage.world.clock),
        Effect.exit
      )
      for (const problem of Exit.isSuccess(found) ? found.value : [`the check failed: ${String(found.cause)}`]) {
        journal.problem(problem)
      }
    }
    waits(stage)
    if (journal.problems.length === 0) yield* health(stage)
  })

/** Stops all processes, which must leave nothing behind. */
export const stop = <R>({ journal, processes, world }: Stage<R>): Effect.Effect<void> =>
  Effect.gen(function* () {
    let open = processes.length
    for (const process of processes) {
      process.stop((fibers) => {
        open--
        if (fibers > 0) journal.problem(`${process.name} has stopped, and ${fibers} of its fibers run`)
      })
    }
    if (!(yield* world.run(() => open === 0, 120 * second))) journal.problem(`${open} processes do not stop`)
  })
