import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { StoreCorrupt, StoreError } from "../../StoreError.js"
import type { CatchUp } from "./catchUp.js"
import * as catchUp_ from "./catchUp.js"
import type { Work } from "./lane.js"
import type { LaneTable } from "./laneTable.js"
import * as laneTable from "./laneTable.js"
import type { Polling } from "./pollInterval.js"
import type { Runner } from "./runner.js"

/**
 * Rows of the store, in the order of their positions. `end` is the position that the page reaches, none where it is empty. `dueAt` is when
 * there will be more, in milliseconds since the epoch, where the store knows.
 */
export interface Page<A> {
  readonly works: ReadonlyArray<Work<A>>
  readonly corrupt: ReadonlyArray<StoreCorrupt>
  readonly end: number | undefined
  readonly next: Option.Option<Effect.Effect<Page<A>, StoreError>>
  readonly dueAt?: number | undefined
  /** The position of the row that is due then. It may have been offered before, and the clock have been set back since. */
  readonly upcoming?: number | undefined
}

/** Where a worker is in the order of its rows. */
export interface Cursor {
  /** Every row before it was read, and is done, in a lane or left behind by one. */
  frontier: number
  /** The first position at which something was written since. */
  rewind: number
  /** Whether a lane has rows in the store that may run at once. */
  hurry: boolean
  /** Whether rows found no place in memory. */
  crowded: boolean
  /**
   * Whether lanes take rows that were passed over. What comes behind these in the pass that runs must not overtake them, so it ends.
   */
  again: boolean
}

export interface Reader<A> {
  readonly cursor: Cursor
  readonly table: LaneTable<A>
  readonly runner: Runner
  readonly polling: Polling
  readonly concurrency: number
  /** The first page of the rows at this position and behind it. */
  readonly from: (position: number) => Effect.Effect<Page<A>, StoreError>
  /** Reads a page. */
  readonly read: (page: Effect.Effect<Page<A>, StoreError>) => Effect.Effect<Page<A>, StoreError>
}

/**
 * One pass over the store. Rows before `known` were read before: they are offered only to lanes that catch up. All rows before `reached` have been
 * offered. `jumped` is the last position to which rows were skipped. From `refused` on, rows found no place in memory: only lanes that are
 * there already take any.
 */
interface Pass {
  readonly now: number
  readonly rescans: boolean
  readonly known: number
  readonly catchUp: CatchUp
  reached: number
  jumped: number
  refused: number
}

const beginning = Number.NEGATIVE_INFINITY
const never = Number.POSITIVE_INFINITY

export const makeCursor = (): Cursor => ({
  frontier: beginning,
  rewind: never,
  hurry: false,
  crowded: false,
  again: false
})

/**
 * Reads from the first row that a lane still wants, or from where it was, to the end; gives when there will be more. Where a page cannot be
 * read, the next pass begins there.
 */
export const readPass = <A>(reader: Reader<A>): Effect.Effect<number, StoreError> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const pass = begin(reader, now)
    return Effect.tapError(readPages(reader, pass), () =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        laneTable.endReading(reader.table)
        abandon(reader, pass)
        reader.polling.end(now)
      })
    )
  })

const readPages = <A>(reader: Reader<A>, pass: Pass): Effect.Effect<number, StoreError> =>
  Effect.gen(function* () {
    let page = yield* reader.read(reader.from(pass.jumped))
    for (;;) {
      yield* offerRows(reader, pass, page)
      const step = advance(reader, pass, page)
      if (step._tag === "End") {
        laneTable.endReading(reader.table)
        return step.nextAt
      }
      page = yield* reader.read(step.page)
    }
  })

/** The next pass begins behind what has been offered. */
const abandon = <A>({ cursor, table }: Reader<A>, { catchUp, reached }: Pass): void => {
  cursor.rewind = Math.min(cursor.rewind, reached)
  catchUp_.abandon(catchUp, table)
}

const begin = <A>({ concurrency, cursor, polling, table }: Reader<A>, now: number): Pass => {
  const rescans = polling.begin(now)
  const known = rescans ? beginning : Math.min(cursor.frontier, cursor.rewind)
  cursor.frontier = known
  cursor.rewind = never
  cursor.hurry = false
  cursor.crowded = false
  cursor.again = false
  laneTable.beginReading(table)
  const catchUp = catchUp_.begin(table, now, concurrency)
  const start = Math.min(known, catchUp.first)
  return { now, rescans, known, catchUp, reached: start, jumped: start, refused: never }
}

const offerRows = <A>({ cursor, polling, runner, table }: Reader<A>, pass: Pass, page: Page<A>): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (const work of page.works) {
      if (table.mode !== "open" || cursor.again) return
      if (table.aside.has(work.lane)) continue
      if (work.position < pass.known && !catchUp_.isOffered(pass.catchUp, work.lane)) continue
      if (!table.lanes.has(work.lane) && (laneTable.isFull(table) || pass.refused < never)) {
        pass.refused = Math.min(pass.refused, work.position)
        cursor.crowded = true
        continue
      }
      if (!pass.rescans && work.position > pass.known && table.owns(work.lane)) polling.found()
      laneTable.offer(table, work, pass.now)
      runner.start()
      if (table.ready.size > 0) yield* runner.room
    }
  })

/** What comes after a page: another, or the end of the pass and when the next one is to begin. */
type Step<A> =
  | { readonly _tag: "Read"; readonly page: Effect.Effect<Page<A>, StoreError> }
  | { readonly _tag: "End"; readonly nextAt: number }

const advance = <A>(reader: Reader<A>, pass: Pass, page: Page<A>): Step<A> => {
  const { cursor, table } = reader
  const { catchUp, known } = pass
  if (table.mode !== "open") {
    abandon(reader, pass)
    return { _tag: "End", nextAt: never }
  }
  if (cursor.again) {
    abandon(reader, pass)
    return { _tag: "End", nextAt: pass.now }
  }
  const end = page.end ?? known
  pass.reached = end
  cursor.frontier = Math.max(cursor.frontier, Math.min(end, pass.refused))
  const caughtUp = end > Math.max(known, catchUp.last) || Option.isNone(page.next)
  if (caughtUp) catchUp_.end(catchUp, table)
  if (Option.isNone(page.next)) {
    cursor.rewind = Math.min(cursor.rewind, page.upcoming ?? never)
    return { _tag: "End", nextAt: page.dueAt ?? never }
  }
  // A lane that ran out of rows need not wait until all the rows of others are read.
  if (caughtUp && (cursor.hurry || pass.refused < never)) {
    return { _tag: "End", nextAt: cursor.hurry ? pass.now : never }
  }
  // Rows that were read before, and that no lane needs, are skipped.
  const target = end < known ? Math.min(known, catchUp_.next(catchUp, table, end)) : end
  if (target <= end || target <= pass.jumped) return { _tag: "Read", page: page.next.value }
  pass.jumped = target
  if (target > end) catchUp_.skip(catchUp, table, end)
  return { _tag: "Read", page: reader.from(target) }
}
