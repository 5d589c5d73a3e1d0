import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Dice } from "./dice.js"

/** Who has tasks to run. */
export interface Runner {
  readonly ready: () => boolean
  readonly runOne: () => void
}

interface Entry {
  readonly at: number
  readonly run: () => void
  cancelled: boolean
}

/** How long is not worth a turn of the event loop, in microseconds. */
const shortWait = 2_000

/** So many tasks and steps of time come between two turns of the event loop at most. */
const tasksInTurn = 256

/** When the time of all worlds begins, in milliseconds since the epoch. */
export const beginning = 1_700_000_000_000

/**
 * The time that all processes of a simulation live in, in whole microseconds, and the order in which they run. Nothing happens by itself:
 * `step` runs one task, or lets time pass to what comes next.
 */
export class World {
  now = 0
  /** The latest that any wall clock has shown, in milliseconds since the epoch. */
  latest = 0
  readonly history: Array<string> = []
  private readonly runners: Array<Runner> = []
  /** In the order of time; of the same time, in the order in which they came. */
  private readonly queue: Array<Entry> = []
  private hash = 0x811c9dc5

  constructor(private readonly dice: Dice) {}

  add(runner: Runner): void {
    this.runners.push(runner)
  }

  remove(runner: Runner): void {
    const at = this.runners.indexOf(runner)
    if (at >= 0) this.runners.splice(at, 1)
  }

  /** Runs something after so many microseconds; gives what takes it back. */
  after(micros: number, run: () => void): () => void {
    const entry: Entry = { at: this.now + Math.max(0, Math.round(micros)), run, cancelled: false }
    let low = 0
    let high = this.queue.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.queue[middle]?.at ?? 0) <= entry.at) low = middle + 1
      else high = middle
    }
    this.queue.splice(low, 0, entry)
    return () => {
      entry.cancelled = true
    }
  }

  /** Writes down what happened, for people. */
  note(text: string): void {
    this.history.push(`${(this.now / 1_000_000).toFixed(6)} ${text}`)
    this.mark(text)
  }

  /** Counts what happened towards the fingerprint alone. */
  mark(text: string): void {
    let hash = this.hash ^ (this.now & 0xffffffff)
    for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
    this.hash = hash >>> 0
  }

  /** Two runs with the same fingerprint did the same things at the same times. */
  get fingerprint(): string {
    return this.hash.toString(16).padStart(8, "0")
  }

  /** Its clock, which is right. */
  readonly clock: Clock.Clock = this.clockOf(
    () => beginning + Math.floor(this.now / 1_000),
    (end) => end()
  )

  /** A clock whose wall shows `millis`, and on which the end of a sleep comes through `due`. */
  clockOf(millis: () => number, due: (end: () => void) => void): Clock.Clock {
    const nanos = () => BigInt(this.now) * 1_000n
    return {
      [Clock.ClockTypeId]: Clock.ClockTypeId,
      unsafeCurrentTimeMillis: millis,
      unsafeCurrentTimeNanos: nanos,
      currentTimeMillis: Effect.sync(millis),
      currentTimeNanos: Effect.sync(nanos),
      sleep: (duration) =>
        Effect.async<void>((resume) => {
          const millis = Duration.toMillis(duration)
          if (!Number.isFinite(millis)) return
          const cancel = this.after(Math.ceil(millis * 1_000), () => due(() => resume(Effect.void)))
          return Effect.sync(cancel)
        })
    }
  }

  /** Runs one task of one of those that have any; false where there is none. */
  private runTask(): boolean {
    const { runners } = this
    let ready = 0
    for (const runner of runners) if (runner.ready()) ready++
    if (ready === 0) return false
    let nth = ready === 1 ? 0 : this.dice.below(ready)
    for (const runner of runners) {
      if (!runner.ready() || nth-- > 0) continue
      runner.runOne()
      return true
    }
    return false
  }

  /** Lets time pass to what comes next, where that is within so many microseconds. */
  private advance(within = Number.POSITIVE_INFINITY): boolean {
    while (this.queue[0]?.cancelled === true) this.queue.shift()
    const next = this.queue[0]
    if (next === undefined || next.at - this.now > within) return false
    this.queue.shift()
    this.now = next.at
    next.run()
    return true
  }

  /**
   * Whether what waits for a turn of the event loop must have one before time passes to what comes next. A turn costs as much as several
   * tasks, and the answers of requests come within a millisecond or two: so only longer waits are worth it.
   */
  private isLong(): boolean {
    const next = this.queue[0]
    return next === undefined || next.at - this.now > shortWait
  }

  /**
   * Runs until it is said to be done, or until so many microseconds have passed; gives whether it is done. Before more than a moment passes,
   * and after so many tasks, the real event loop has a turn, for what waits for one.
   */
  run(done: () => boolean, micros: number): Effect.Effect<boolean> {
    const until = this.now + micros
    return Effect.async<boolean>((resume) => {
      let stopped = false
      const turn = (): void => {
        if (stopped) return
        let hadTurn = true
        for (let i = 0; i < tasksInTurn; i++) {
          if (done()) {
            resume(Effect.succeed(true))
            return
          }
          // A busy process does not stop the time of the others.
          if (this.dice.chance(0.02)) this.advance(5_000)
          if (this.runTask()) {
            hadTurn = false
            continue
          }
          // What waits for a turn of the event loop gets it.
          if (!hadTurn && this.isLong()) break
          if (this.now >= until) {
            resume(Effect.succeed(done()))
            return
          }
          if (!this.advance(until - this.now)) this.now = until
        }
        setImmediate(turn)
      }
      setImmediate(turn)
      return Effect.sync(() => {
        stopped = true
      })
    })
  }
}
