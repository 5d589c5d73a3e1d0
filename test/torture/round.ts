/** One round of a torture: processes under load, faults, rest, and the judgement. */
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import * as Clock from "effect/Clock"
import type { ConfigError } from "effect/ConfigError"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import type { StoreError } from "holdfast/StoreError"
import type { Dice } from "../../src/testing/internal/simulation/dice.js"
import { type Fault, millis } from "./faults.js"
import type { PowerCut } from "./fileFaults.js"
import * as Health from "./health.js"
import * as Journal from "./journal.js"
import * as Judge from "./judge.js"
import * as Snapshot from "./snapshot.js"
import type { Remembers } from "./store.js"
import * as Workers from "./workers.js"

/**
 * What a round runs on.
 *
 * - `faults`: of the store, and of its processes.
 * - `begin`, `cut`, `calm`: see `FileFaults`.
 * - `store`: the store without any fault between.
 * - `sound`: what is wrong with the database as its own library sees it.
 */
export interface Place {
  readonly faults: ReadonlyArray<Fault>
  readonly ofProcesses: (workers: Workers.Workers, note: Options["note"]) => ReadonlyArray<Fault>
  readonly begin: Effect.Effect<void>
  readonly cut: ((dice: Dice) => Effect.Effect<PowerCut>) | undefined
  readonly calm: Effect.Effect<void>
  readonly store: Layer.Layer<ExecutionStore, StoreError | ConfigError>
  readonly sound: Effect.Effect<ReadonlyArray<string>>
  readonly settings: Omit<Workers.Settings, "shared" | "journals" | "leases" | "caches" | "note">
}

/** What befell the processes, by name; and what they were told. */
export class Tally {
  readonly counts = new Map<string, number>()
  acknowledged = 0
  operations = 0

  add(name: string, count = 1): void {
    if (count > 0) this.counts.set(name, (this.counts.get(name) ?? 0) + count)
  }
}

export interface Options {
  readonly nth: number
  readonly seconds: number
  readonly processes: number
  readonly directory: string
  readonly tally: Tally
  readonly note: (what: string) => Effect.Effect<void>
}

/** A round under way. `entries` are those of the times before the last loss that took something. */
interface Round {
  readonly place: Place
  readonly options: Options
  readonly dice: Dice
  readonly leases: boolean
  readonly caches: ReadonlyArray<Remembers>
  readonly problems: Array<string>
  before: ReadonlyArray<Journal.Entry>
  epoch: number
  journals: string
}

/** Runs an effect with the store, which nobody hinders now. */
const withStore = <A>(
  { place }: Round,
  effect: Effect.Effect<A, StoreError, ExecutionStore>
): Effect.Effect<A, StoreError | ConfigError> =>
  effect.pipe(
    Effect.provide(place.store),
    // A cluster has no leader for as long as its machine has no time for it.
    Effect.retry({
      while: ({ _tag }) => _tag === "StoreUnavailable",
      schedule: Schedule.spaced("500 millis"),
      times: 240
    })
  )

const startWorkers = (round: Round) =>
  Effect.gen(function* () {
    const { options, place } = round
    round.epoch++
    const shared = `${options.nth}e${round.epoch}`
    round.journals = join(options.directory, `round-${shared}`)
    mkdirSync(round.journals, { recursive: true })
    const settings: Workers.Settings = {
      ...place.settings,
      shared,
      journals: round.journals,
      leases: round.leases,
      caches: round.caches,
      note: options.note
    }
    const workers = yield* Workers.make(settings, options.processes)
    yield* place.begin
    yield* workers.start
    return workers
  })

const forget = (entries: ReadonlyArray<Journal.Entry>, lost: ReadonlyArray<Journal.Entry>) => {
  const gone = new Set(lost)
  return entries.map(
    (entry): Journal.Entry => (gone.has(entry) ? { ...entry, told: { _tag: "Unknown", why: "it was lost" } } : entry)
  )
}

/** Cuts the power under all processes, and looks at what is there. Gives the workers that go on. */
const powerCut = (round: Round, workers: Workers.Workers, cut: NonNullable<Place["cut"]>) =>
  Effect.gen(function* () {
    const { options, place, problems } = round
    yield* workers.killAll
    options.tally.add("kill", workers.count)
    Journal.sync(round.journals)
    const { counts, kept } = yield* cut(round.dice)
    options.tally.add(kept ? "loss of power" : "loss of power that may take the end")
    problems.push(...(yield* place.sound))
    const entries = Journal.read(round.journals)
    const all = [...round.before, ...entries]
    const snapshot = yield* withStore(round, Snapshot.take(Judge.idsOf(all)))
    problems.push(...snapshot.corrupt)
    const lost = Judge.lost(all, snapshot)
    if (counts.unsynced > 0 || lost.length > 0) {
      yield* options.note(
        `the power goes: ${counts.unsynced} writes were not synced; ${lost.length} of ${all.length} are gone`
      )
    }
    options.tally.add("acknowledged and lost with the end", lost.length)
    if (kept) {
      problems.push(...Judge.lostProblems(all, snapshot))
      yield* place.begin
      yield* workers.start
      return workers
    }
    problems.push(...Judge.holes(all, snapshot))
    judgeHealth(round)
    round.before = forget(all, lost)
    return yield* startWorkers(round)
  })

const befall = (round: Round, fault: Fault) =>
  Effect.map(fault.run(round.dice), (count) => round.options.tally.add(fault.name, count))

/** What may happen in a round: each fault in some of the rounds. */
const chosen = (round: Round, workers: Workers.Workers): ReadonlyArray<Fault> => {
  const all = [...round.place.ofProcesses(workers, round.options.note), ...round.place.faults]
  const some = all.filter(() => round.dice.chance(0.6))
  return some.length === 0 ? all : some
}

/** A fault befalls processes that run. A busy machine takes its time to start them. */
const untilReady = (workers: Workers.Workers) =>
  Effect.suspend(() => Effect.succeed(workers.ready())).pipe(
    Effect.delay("50 millis"),
    Effect.repeat({ until: (ready) => ready, times: 200 })
  )

const underFaults = (round: Round, first: Workers.Workers) =>
  Effect.gen(function* () {
    const { dice, options, place } = round
    let workers = first
    const cuts = place.cut !== undefined && dice.chance(0.7)
    const kinds = chosen(round, workers).map(({ name }) => name)
    const until = (yield* Clock.currentTimeMillis) + options.seconds * 1000
    while ((yield* Clock.currentTimeMillis) < until && round.problems.length === 0) {
      yield* untilReady(workers)
      yield* millis(dice, 200, 1800)
      if (cuts && place.cut !== undefined && dice.chance(0.25)) {
        workers = yield* powerCut(round, workers, place.cut)
        continue
      }
      const faults = [...place.ofProcesses(workers, options.note), ...place.faults].filter(({ name }) =>
        kinds.includes(name)
      )
      const [one, ...others] = faults
      if (one === undefined) continue
      const fault = dice.pick(one, ...others)
      const second = dice.chance(0.3) ? dice.pick(one, ...others) : undefined
      yield* Effect.all([befall(round, fault), second === undefined ? Effect.void : befall(round, second)], {
        concurrency: "unbounded",
        discard: true
      })
    }
    return workers
  })

/** So long must nothing have changed before it is said that nothing moves any more, in milliseconds. */
const patience = 60_000

/** Waits until nothing is left to be done, and all processes say that they are well. */
const rest = (round: Round, workers: Workers.Workers) =>
  Effect.gen(function* () {
    const { problems } = round
    let last = ""
    let since = yield* Clock.currentTimeMillis
    for (;;) {
      yield* Effect.sleep("200 millis")
      const found = yield* Effect.either(Snapshot.left)
      const now = yield* Clock.currentTimeMillis
      const left = [...(found._tag === "Right" ? found.right : [found.left.message]), ...workers.restless()]
      if (left.length === 0) return
      // How long something has lasted is no change of it.
      const state = left.join(", ").replaceAll(/\b\d+ s\b/g, "some time")
      if (state !== last) since = now
      last = state
      if (now - since > patience) {
        problems.push(
          `for ${patience / 1000} s nothing has moved: ${state}; ${workers.failures().slice(-3).join("; ")}`
        )
        return
      }
    }
  })

/** What the processes have said of their health, since the last loss that took something. */
const judgeHealth = ({ journals, options: { tally }, problems }: Round): void => {
  const looks = Health.read(journals)
  tally.add("looks at health", looks.count)
  tally.add("looks that found it not ready", looks.unready)
  problems.push(...looks.problems)
}

const judge = (round: Round) =>
  Effect.gen(function* () {
    const { before, options, problems } = round
    Journal.sync(round.journals)
    const entries = Journal.read(round.journals)
    const all = [...before, ...entries]
    const snapshot = yield* withStore(round, Snapshot.take(Judge.idsOf(all)))
    problems.push(...Judge.problems({ before, entries }, snapshot))
    problems.push(...(yield* withStore(round, Snapshot.deadLetters)))
    problems.push(...(yield* round.place.sound))
    const acknowledged = all.filter(({ asked, told }) => asked._tag !== "Read" && told._tag === "Done").length
    options.tally.acknowledged += acknowledged
    options.tally.operations += Judge.registerOperations(entries)
    const remembered = all.filter(({ asked }) => asked._tag === "Commit" && asked.remembered === true)
    options.tally.add("commits without a read", remembered.length)
    options.tally.add(
      "commits without a read that were stale",
      remembered.filter(({ told }) => told._tag === "Conflict").length
    )
    return acknowledged
  })

/** What a process remembers of what it wrote: as much as usual, so few executions that most are forgotten before their next event comes, or none. */
const remembers = (dice: Dice): Remembers => dice.pick<Remembers>({}, {}, { capacity: dice.between(1, 6) }, false)

/** Runs a round; gives what is wrong, and how much was acknowledged. */
export const run = (
  place: Place,
  options: Options,
  dice: Dice
): Effect.Effect<
  { readonly problems: ReadonlyArray<string>; readonly acknowledged: number },
  StoreError | ConfigError
> =>
  Effect.gen(function* () {
    const round: Round = {
      place,
      options,
      dice,
      leases: dice.chance(0.5),
      caches: Array.from({ length: options.processes }, () => remembers(dice)),
      problems: [],
      before: [],
      epoch: 0,
      journals: ""
    }
    const first = yield* startWorkers(round)
    const workers = yield* underFaults(round, first)
    yield* place.calm
    yield* workers.rest
    if (round.problems.length === 0) yield* withStore(round, rest(round, workers))
    round.problems.push(...(yield* workers.end))
    judgeHealth(round)
    const acknowledged = round.problems.length === 0 ? yield* judge(round) : 0
    return { problems: round.problems, acknowledged }
  }).pipe(Effect.scoped)
