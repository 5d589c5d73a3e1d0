import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { WorkItem } from "../../Commit.js"
import { ExecutionStore, type Notice } from "../../ExecutionStore.js"
import type { FencingToken } from "../../Lease.js"
import type { Delivered, Health, QueueWorker, Options as Settings } from "../../QueueWorker.js"
import type { Change } from "../../Shards.js"
import type { StoreCorrupt, StoreError } from "../../StoreError.js"
import * as otherWrites from "../supervision/otherWrites.js"
import * as pollSchedule from "../supervision/pollSchedule.js"
import type { StoreMonitor } from "../supervision/storeMonitor.js"
import * as storeMonitor from "../supervision/storeMonitor.js"
import * as supervised from "../supervision/supervised.js"
import * as wakeup_ from "../supervision/wakeup.js"
import * as yieldEvery from "../supervision/yieldEvery.js"
import * as deliveryTelemetry from "../telemetry/delivery.js"
import * as log from "../telemetry/log.js"
import * as metrics from "../telemetry/metrics.js"
import * as fence from "../util/fence.js"
import type { Decision } from "./failureDecision.js"
import type { FailureState, Work } from "./lane.js"
import type { LaneTable } from "./laneTable.js"
import * as laneTable from "./laneTable.js"
import * as onDeliveryFailure from "./onDeliveryFailure.js"
import * as pollInterval from "./pollInterval.js"
import type { Cursor, Page } from "./reader.js"
import * as reader from "./reader.js"
import { defaultPolicy } from "./retrySchedule.js"
import * as runner_ from "./runner.js"

export interface Options<A> {
  readonly module: string
  readonly settings: Omit<Settings, "pollInterval">
  readonly polling: pollInterval.Options
  /** The first page of the rows at this position and behind it. */
  readonly from: (position: number) => Effect.Effect<Page<A>, StoreError>
  /** What a write of this process means for the worker: when to look, in milliseconds since the epoch, and from which position. */
  readonly noticed: (notice: Notice) => { readonly at: number; readonly position: number } | undefined
  /** The rows that a write of this process added, where it says them. */
  readonly added?: ((notice: Notice) => ReadonlyArray<Work<A>> | undefined) | undefined
  /** How often it looks at most, in milliseconds, where other processes write, and from which position on: they do not say what they write. */
  readonly heed?: { readonly every: number; readonly position: number } | undefined
  /** Does the work; the row is removed behind it, where it was not removed by it. */
  readonly run: (item: A, attempt: number) => Effect.Effect<Delivered, unknown>
  /**
   * Does several pieces of work of different lanes at once. It tells which are delivered and need nothing more, and gives what is left to do for
   * the rest.
   */
  readonly runTogether?: RunTogether<A> | undefined
  /** How the work looks from outside: the name of its spans, and what they and the metrics say of it. */
  readonly spanName: string
  readonly described: (item: A) => Omit<deliveryTelemetry.Described, "since">
  /** Since when it waits, in seconds since the epoch, where that is known. */
  readonly since: (item: A) => number | null
  readonly workItem: (item: A) => WorkItem
  /** Removes the row. */
  readonly remove: (item: A) => Effect.Effect<unknown, StoreError>
  /** How many lanes are held in memory. */
  readonly mostLanes?: number | undefined
  /** What is to become of work that failed. */
  readonly decide: (item: A, cause: Cause.Cause<unknown>) => Decision
}

/** Work, how often it was tried, and what is fenced that settles it. */
export interface Tried<A> {
  readonly item: A
  readonly attempt: number
  readonly fence: FencingToken | undefined
}

/** Who is told what becomes of each of several pieces of work, by its place among them. */
export interface Ends {
  readonly acknowledged: (place: number) => void
  readonly rest: (place: number, run: Effect.Effect<Delivered, unknown>) => void
}

export type RunTogether<A> = (works: ReadonlyArray<Tried<A>>, ends: Ends) => Effect.Effect<void>

const beginning = Number.NEGATIVE_INFINITY
const never = Number.POSITIVE_INFINITY
const defaultConcurrency = 16
const defaultPageSize = 100
const defaultMaxAttempts = 20
// So many lanes fail only where something behind all of them does. What more would come waits in the store.
const defaultMostLanes = 100_000

/** How many rows of a lane are held in memory, and a page has. */
export const pageSize = (settings: Pick<Settings, "pageSize">): number => settings.pageSize ?? defaultPageSize

/** What a worker tells of itself beside what its lanes do. */
interface Progress {
  lastRun: Health["lastRun"]
  deadLetters: number
  /** The rows that cannot be read and were told of. */
  readonly unreadable: Set<string>
}

/** A worker while it runs: what it reads into which lanes, and who is told of it. */
interface Worker<A> {
  readonly options: Options<A>
  readonly store: ExecutionStore
  readonly monitor: StoreMonitor
  readonly progress: Progress
  readonly cursor: Cursor
  readonly table: LaneTable<A>
  /** Rows that this process added while a pass read: see {@link keepAdded}. */
  readonly kept: Array<Work<A>>
  readonly wakeup: wakeup_.Wakeup
  readonly polling: pollInterval.Polling
  readonly telemetry: deliveryTelemetry.DeliveryTelemetry
  /** To be run before so many pieces of work. */
  readonly yielding: (pieces: number) => Effect.Effect<void>
  readonly clock: Clock.Clock
  readonly labels: metrics.Labels
}

/**
 * A worker: reads rows from the store and runs them in their lanes, woken by writes of this process, by the next row's time, or else by
 * the interval.
 */
export const make = <A>(options: Options<A>): Effect.Effect<QueueWorker, never, ExecutionStore | Scope.Scope> =>
  Effect.gen(function* () {
    const { settings } = options
    const table = laneTable.make<A>({
      depth: pageSize(settings),
      most: options.mostLanes ?? defaultMostLanes,
      owns: settings.shards?.owns ?? (() => true)
    })
    const store = yield* ExecutionStore
    const looks = yield* pollSchedule.make(store)
    const worker: Worker<A> = {
      options,
      store,
      monitor: storeMonitor.make(),
      progress: { lastRun: Option.none(), deadLetters: 0, unreadable: new Set() },
      cursor: reader.makeCursor(),
      table,
      kept: [],
      wakeup: yield* wakeup_.make(() => table.running.size > 0),
      polling: looks.told ? pollInterval.told(looks, options.polling) : pollInterval.make(options.polling),
      telemetry: deliveryTelemetry.make(options.module, options.spanName),
      yielding: yieldEvery.counted(),
      clock: yield* Effect.clock,
      labels: yield* FiberRef.get(FiberRef.currentMetricLabels)
    }
    const concurrency = concurrencyOf(options)
    // Whoever makes a worker may do so in work of its own, whose fence is not this worker's.
    const runner = yield* Effect.locally(
      Effect.flatMap(together(worker), (runTogether) =>
        runner_.make({ ...runnerOptions(worker, concurrency), runTogether })
      ),
      fence.current,
      undefined
    )
    yield* worker.store.listen((notice) => onNotice(worker, runner, notice))
    if (options.heed !== undefined) yield* heed(worker, options.heed)
    yield* settings.shards?.onChange((change) => onShardsChanged(worker, change)) ?? Effect.void
    const loop = makeLoop(worker, { ...worker, concurrency, from: options.from, read: makeRead(worker), runner })
    const awaitFatal = yield* supervised.run(worker.monitor, loop, shutDown(worker, runner))
    return {
      health: Effect.sync(() => health(worker)),
      pause: Effect.sync(() => {
        laneTable.pause(table)
        runner.start()
      }),
      resume: Effect.sync(() => {
        laneTable.resume(table)
        worker.cursor.hurry = true
        worker.wakeup.request(beginning)
        worker.wakeup.wake()
      }),
      retryWaiting: Effect.sync(() => {
        const released = laneTable.releaseAll(table)
        const takenBack = lookAgain(worker)
        if (!released && !takenBack) return
        worker.cursor.hurry = true
        worker.wakeup.request(beginning)
      }),
      awaitQuiet: worker.wakeup.quiet,
      awaitFatal
    }
  }).pipe(log.annotate({ package: "holdfast", module: options.module }))

const inSeconds = (millis: number | undefined): Option.Option<number> =>
  Option.map(Option.fromNullable(millis), (millis) => millis / 1000)

const concurrencyOf = <A>({ settings }: Options<A>): number => Math.max(1, settings.concurrency ?? defaultConcurrency)

const health = <A>({ monitor, options, progress, table }: Worker<A>): Health => {
  const { backlog, held, lastBegun, runningSince } = laneTable.summary(table)
  const isSaturated = table.running.size >= concurrencyOf(options)
  return {
    lastRun: progress.lastRun,
    deadLetters: progress.deadLetters,
    lastError: monitor.lastError,
    outage: storeMonitor.outage(monitor),
    backlog,
    held,
    runningSince: inSeconds(runningSince),
    saturatedSince: isSaturated ? inSeconds(lastBegun) : Option.none(),
    paused: table.mode === "paused"
  }
}

const runnerOptions = <A>(worker: Worker<A>, concurrency: number): runner_.Options<A> => {
  const { options, table, telemetry, yielding } = worker
  const onFailure: onDeliveryFailure.Options<A> = {
    ...options,
    store: worker.store,
    monitor: worker.monitor,
    retry: options.settings.retry ?? defaultPolicy,
    maxAttempts: options.settings.maxAttempts ?? defaultMaxAttempts,
    buried: () => void worker.progress.deadLetters++,
    settled: telemetry.settled,
    elsewhere: options.settings.elsewhere,
    lost: forfeit(options.settings.shards)
  }
  const annotated = <B>({ item }: Work<A>, effect: Effect.Effect<B>): Effect.Effect<B> =>
    log.annotate(options.described(item).annotations)(effect)
  return {
    table,
    concurrency,
    fenceOf: ({ lane }) => fenceOf(options.settings.shards, lane),
    run: ({ item }, attempt) =>
      Effect.zipRight(
        yielding(1),
        telemetry.attempt(deliver(worker, item, options.run(item, attempt)), attempt, describedAt(options, item))
      ),
    failed: (work, cause, before) => annotated(work, onDeliveryFailure.handle(onFailure, work, cause, before)),
    recovered: (work, from) => annotated(work, logRecovery(work, from)),
    ended: (readableAt) => onLaneEnded(worker, readableAt)
  }
}

const describedAt = <A>({ described, since }: Options<A>, item: A): deliveryTelemetry.Described => ({
  ...described(item),
  since: since(item)
})

/** What the lane is fenced by now, where lanes are shared. */
const fenceOf = (shards: Settings["shards"], lane: string | null): fence.Fence | undefined => {
  if (shards === undefined) return undefined
  const { owns, token } = shards
  if (token === undefined) return { _tag: "Asked", isHeld: () => owns(lane) }
  return Option.match(token(lane), {
    // It was lost since the lane was taken.
    onNone: (): fence.Fence => ({ _tag: "Asked", isHeld: () => false }),
    onSome: (token): fence.Fence => ({ _tag: "Lease", token })
  })
}

/** Tells whoever shares the lanes that this one's lease is lost. */
const forfeit = (shards: Settings["shards"]): Effect.Effect<void> =>
  Effect.flatMap(FiberRef.get(fence.current), (held) =>
    held?._tag === "Lease" && shards?.forfeit !== undefined ? shards.forfeit(held.token) : Effect.void
  )

/** Removes work that is delivered, where it was not removed by that. */
const deliver = <A>(
  { monitor, options }: Worker<A>,
  item: A,
  run: Effect.Effect<Delivered, unknown>
): Effect.Effect<unknown, unknown> =>
  Effect.flatMap(run, (delivered) =>
    delivered === "Delivered" ? storeMonitor.waitOutFenced(monitor, options.remove(item)) : Effect.void
  )

/**
 * Whether work can be done together. Where there is a tracer, each piece of it is to have spans of its own, and where who shares the lanes is asked
 * before each write, each is to be done at its own time: then it is done by itself.
 */
export const canRunTogether = ({ shards }: Pick<Settings, "shards">): Effect.Effect<boolean> =>
  shards !== undefined && shards.token === undefined
    ? Effect.succeed(false)
    : Effect.withFiberRuntime((fiber) => Effect.succeed(!metrics.isTraced(fiber)))

/** Does work together, where that can be. */
const together = <A>(worker: Worker<A>): Effect.Effect<runner_.RunTogether<A> | undefined> => {
  const { options, telemetry, yielding } = worker
  const { runTogether, settings, since } = options
  if (runTogether === undefined) return Effect.succeed(undefined)
  const run: runner_.RunTogether<A> = (heads, { done, rest }) =>
    Effect.zipRight(
      yielding(heads.length),
      Effect.withFiberRuntime((fiber) => {
        const measure = telemetry.together(fiber)
        const left = (
          place: number,
          { attempt, work: { item } }: runner_.Head<A>,
          run: Effect.Effect<Delivered, unknown>
        ) => rest(place, telemetry.attempt(deliver(worker, item, run), attempt, describedAt(options, item)))
        const leased: Array<Tried<A>> = []
        const places: Array<number> = []
        for (const [place, head] of heads.entries()) {
          const { attempt, fence, work } = head
          // One whose lane seems lost is done by itself.
          if (fence?._tag === "Asked") left(place, head, options.run(work.item, attempt))
          else places[leased.push({ item: work.item, attempt, fence: fence?.token }) - 1] = place
        }
        return runTogether(leased, {
          acknowledged: (i) => {
            const work = leased[i]
            const place = places[i]
            if (work === undefined || place === undefined) return
            measure(since(work.item))
            done(place)
          },
          rest: (i, run) => {
            const place = places[i]
            const head = place === undefined ? undefined : heads[place]
            if (place !== undefined && head !== undefined) left(place, head, run)
          }
        })
      })
    )
  return Effect.map(canRunTogether(settings), (can) => (can ? run : undefined))
}

const logRecovery = <A>(work: Work<A>, { logged }: FailureState): Effect.Effect<void> => {
  const message = `${work.label()} went well after it had failed`
  return logged === undefined ? log.debug(message) : log.info(message)
}

const onLaneEnded = <A>({ cursor, table, wakeup }: Worker<A>, readableAt: number): void => {
  const hasRoom = cursor.crowded && !laneTable.isFull(table)
  if (readableAt === 0 || hasRoom) cursor.hurry = true
  // What was just left to other processes is looked at again, also by a worker that sleeps until then for nothing else.
  wakeup.request(hasRoom ? beginning : Math.min(readableAt, table.lookAgainAt))
  wakeup.ended()
}

/** Rows from this position on were passed over, and are taken now. */
const takeAgain = (cursor: Cursor, position: number): void => {
  cursor.rewind = Math.min(cursor.rewind, position)
  cursor.again = true
}

/** All rows are read again where some are left to other processes. */
const lookAgain = <A>({ cursor, table }: Worker<A>): boolean => {
  if (!laneTable.takeBack(table)) return false
  takeAgain(cursor, beginning)
  return true
}

/** An execution was advanced, for which work may wait. */
const onCommitted = <A>({ cursor, table, wakeup }: Worker<A>, executionId: string): void => {
  const position = laneTable.takeBackOne(table, executionId)
  if (position !== undefined) takeAgain(cursor, position)
  if (!laneTable.release(table, executionId) && position === undefined) return
  cursor.hurry = true
  wakeup.request(beginning)
}

/**
 * Takes rows that writes of this process added, without a read: those that come right behind what was read or taken before, so that
 * nothing is overtaken. False where a read must bring them.
 */
const takeAdded = <A>(worker: Worker<A>, runner: runner_.Runner, works: ReadonlyArray<Work<A>>): boolean => {
  const { cursor, table } = worker
  if (!laneTable.canAdd(table)) return false
  // What it knows of rows before them is none, or not all that lanes want, or some of them found no place: this is a pass's to mend.
  if (cursor.frontier === beginning || cursor.rewind !== never || cursor.again || cursor.crowded) return false
  const now = worker.clock.unsafeCurrentTimeMillis()
  const before = cursor.frontier
  let all = true
  for (const work of works) {
    // A pass may have read it already.
    if (work.position <= cursor.frontier) continue
    all = work.position === cursor.frontier + 1 && laneTable.add(table, work, now)
    if (!all) break
    cursor.frontier = work.position
    if (table.ready.size > 0) runner.start()
  }
  if (cursor.frontier > before) {
    worker.wakeup.began()
    tellTaken(worker, now)
  }
  return all
}

/** Whether rows that are added now may be kept until a pass ends: one reads, or some wait to be taken, and behind these the others. */
const canKeep = <A>({ kept, table }: Worker<A>): boolean => table.mode === "open" && (table.reading || kept.length > 0)

/** Keeps rows that were added while a pass reads, as many as a page has: most of them the pass has not seen. */
const keepAdded = <A>(worker: Worker<A>, works: ReadonlyArray<Work<A>>): boolean => {
  const { kept, options } = worker
  if (!canKeep(worker) || kept.length + works.length > pageSize(options.settings)) return false
  kept.push(...works)
  return true
}

/** A pass has ended, and all is known that it left out: takes what was added meanwhile, or has it read. */
const takeKept = <A>(worker: Worker<A>, runner: runner_.Runner): void => {
  const works = worker.kept
    .splice(0)
    .filter(({ position }) => position > worker.cursor.frontier)
    .sort((a, b) => a.position - b.position)
  if (works.length > 0 && !takeAdded(worker, runner, works)) worker.wakeup.request(beginning)
}

// Nobody looks at it more often.
const toldEvery = 1000

/** To know of rows by a write is as good as to have read them. */
const tellTaken = <A>(
  { labels, progress, telemetry }: Pick<Worker<A>, "labels" | "progress" | "telemetry">,
  now: number
): void => {
  if (Option.exists(progress.lastRun, (last) => now - last * 1000 < toldEvery)) return
  progress.lastRun = Option.some(now / 1000)
  telemetry.knew(now / 1000, labels)
}

const onNotice = <A>(worker: Worker<A>, runner: runner_.Runner, notice: Notice): void => {
  const { cursor, monitor, options, table, wakeup } = worker
  storeMonitor.answered(monitor)
  if (Option.isSome(notice.committed)) onCommitted(worker, notice.committed.value.execution.id)
  const noticed = options.noticed(notice)
  if (noticed === undefined) return
  // They are made of texts, which is not done for nothing.
  const works = laneTable.canAdd(table) || canKeep(worker) ? options.added?.(notice) : undefined
  if (works !== undefined && (takeAdded(worker, runner, works) || keepAdded(worker, works))) return
  cursor.rewind = Math.min(cursor.rewind, noticed.position)
  wakeup.request(noticed.at)
}

/** Looks at once where other processes write. */
const heed = <A>({ cursor, store, wakeup }: Worker<A>, { every, position }: NonNullable<Options<A>["heed"]>) =>
  otherWrites.heed(store, every, (at) => {
    cursor.rewind = Math.min(cursor.rewind, position)
    wakeup.request(at)
  })

const onShardsChanged = <A>({ cursor, table, wakeup }: Worker<A>, { gained }: Change): void => {
  laneTable.disown(table)
  if (gained.length === 0) return
  // What others had not done yet was passed over.
  takeAgain(cursor, beginning)
  wakeup.request(beginning)
}

/** Reads a page, and moves its rows that do not decode to the dead letters. */
const makeRead = <A>(worker: Worker<A>) => {
  const { polling, progress, table, telemetry, yielding } = worker
  return (page: Effect.Effect<Page<A>, StoreError>): Effect.Effect<Page<A>, StoreError> =>
    Effect.gen(function* () {
      yield* yielding(1)
      let began = 0
      const reading = Effect.flatMap(Clock.currentTimeMillis, (now) => {
        began = now
        laneTable.beginReading(table)
        return page
      })
      const result = yield* Effect.withTracerEnabled(reading, false)
      const millis = yield* Clock.currentTimeMillis
      polling.spent(millis - began)
      progress.lastRun = Option.some(millis / 1000)
      yield* telemetry.read(millis / 1000)
      yield* Effect.forEach(result.corrupt, (corrupt) => buryCorrupt(worker, corrupt), { discard: true })
      return result
    })
}

const mostUnreadable = 1000

/** A row that cannot even be moved stays where it is, and people are told once. */
const tellUnreadable = <A>({ monitor, progress }: Worker<A>, corrupt: StoreCorrupt): Effect.Effect<void> => {
  const told = storeMonitor.report(monitor, corrupt.message)
  if (progress.unreadable.has(corrupt.key)) return told
  if (progress.unreadable.size >= mostUnreadable) progress.unreadable.clear()
  progress.unreadable.add(corrupt.key)
  return Effect.zipRight(told, log.warning(corrupt.message))
}

/** A row that does not decode is no use to anybody but people. */
const buryCorrupt = <A>(worker: Worker<A>, corrupt: StoreCorrupt): Effect.Effect<void> => {
  const { monitor, progress, store } = worker
  if (corrupt.work === undefined) return tellUnreadable(worker, corrupt)
  return onDeliveryFailure
    .bury(
      { store, monitor, buried: () => void progress.deadLetters++ },
      corrupt.work,
      { reason: "corrupt", attempts: 0, error: corrupt.message },
      `${corrupt.message}: it is a dead letter now`
    )
    .pipe(
      Effect.catchAll((refusal) =>
        Effect.zipRight(
          storeMonitor.report(monitor, refusal.message),
          log.warning(refusal.message, Cause.fail(refusal))
        )
      )
    )
}

/** When all that is passed over now is to be looked at again. */
const passedUntil = <A>({ options }: Worker<A>): Effect.Effect<number> => {
  const { elsewhere } = options.settings
  if (elsewhere === undefined) return Effect.succeed(never)
  return Effect.map(elsewhere.passed(), ({ definitions, until }) => (definitions.length === 0 ? never : until))
}

const makeLoop = <A>(worker: Worker<A>, rows: reader.Reader<A>): Effect.Effect<never> =>
  Effect.gen(function* () {
    const { monitor, polling, table, wakeup } = worker
    if (table.mode === "paused") {
      yield* wakeup.park
      return
    }
    if (laneTable.isToLookAgain(table, yield* Clock.currentTimeMillis)) lookAgain(worker)
    let { takenBack } = table
    const pass = Effect.suspend(() => {
      takenBack = table.takenBack
      wakeup.clear()
      return reader.readPass(rows)
    })
    const dueAt = yield* storeMonitor.waitOut(monitor, pass)
    laneTable.lookAgainBy(table, yield* passedUntil(worker), yield* Clock.currentTimeMillis)
    // What the pass passed over may be this process's own by now.
    if (table.takenBack !== takenBack) {
      takeAgain(worker.cursor, beginning)
      wakeup.request(beginning)
    }
    takeKept(worker, rows.runner)
    const next = polling.end(yield* Clock.currentTimeMillis)
    const woken = yield* wakeup.sleep(Math.min(next, dueAt, laneTable.nextReadableAt(table), table.lookAgainAt))
    polling.woken(woken)
  }).pipe(Effect.forever)

const shutDown = <A>({ options }: Worker<A>, runner: runner_.Runner): Effect.Effect<void> =>
  Effect.gen(function* () {
    const stopped = yield* runner.stop.pipe(
      Effect.interruptible,
      Effect.timeoutOption(options.settings.shutdownTimeout ?? "10 seconds")
    )
    if (Option.isSome(stopped)) return
    yield* log.warning("what was running at shutdown took too long and is interrupted; it will be run again")
  })
