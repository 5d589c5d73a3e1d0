import type { PollSchedule } from "../supervision/pollSchedule.js"

/**
 * How a worker looks for what other processes wrote, in milliseconds.
 *
 * - `shortest`, `longest`: how long it waits between two looks. It doubles while nothing is found.
 * - `rescan`: how often it begins from the first row again, beside going on from where it was.
 */
export interface Options {
  readonly shortest: number
  readonly longest: number
  readonly rescan: number
}

export interface Polling {
  /** A look begins; says whether it is from the first row. */
  readonly begin: (now: number) => boolean
  /** Called where a row is found that was not there at the last look. */
  readonly found: () => void
  /** It took so long to read rows. */
  readonly spent: (millis: number) => void
  /** The look ends; gives when the next one is due. */
  readonly end: (now: number) => number
  /** Whether a write of this process was the reason for the next look. */
  readonly woken: (byWrite: boolean) => void
}

// Reading all rows may take at most this part of the time. It is delayed for that, but for no more than this many intervals.
const share = 10

/** From the first row at each of these looks, and from where it was where it is woken meanwhile. */
export const told = ({ next }: PollSchedule, { longest }: Options): Polling => {
  let at = Number.NEGATIVE_INFINITY
  return {
    begin: (now) => now >= at,
    found: () => {},
    spent: () => {},
    end: (now) => {
      at = next(now, longest)
      return at
    },
    woken: () => {}
  }
}

export const make = ({ longest, rescan, shortest }: Options): Polling => {
  let wait = longest
  let byWrite = true
  let news = false
  let rescans = false
  let reading = 0
  let rescanAt = Number.NEGATIVE_INFINITY
  let decidedAt = Number.NEGATIVE_INFINITY

  return {
    begin: (now) => {
      reading = 0
      news = false
      // A clock that was set back since would put it off for as long.
      rescans = now >= rescanAt || now < decidedAt
      return rescans
    },
    found: () => {
      news = true
    },
    spent: (millis) => {
      reading += millis
    },
    end: (now) => {
      if (rescans) {
        rescanAt = now + Math.min(Math.max(rescan, share * reading), share * rescan)
        decidedAt = now
      }
      rescans = false
      // What this process writes it is told of. Only what is found otherwise says that others write.
      if (!byWrite) wait = news ? shortest : Math.min(longest, wait * 2)
      return Math.min(now + wait, rescanAt)
    },
    woken: (written) => {
      byWrite = written
    }
  }
}
