import * as Effect from "effect/Effect"
import { onNextTurn } from "../util/nextTurn.js"

/** How many rows a page has: as many as keep the event loop for a few milliseconds, where the database runs in this process. */
export interface TimedPages {
  readonly most: number
  /** How many rows the next page has. */
  size: number
  /** How many rows the last page had. */
  last: number
}

const first = 50
const least = 10
/** How long a page may keep the event loop, in milliseconds. */
const budget = 3

export const make = (most: number): TimedPages => ({ most, size: Math.min(most, first), last: 0 })

/**
 * Runs a page of so many rows, and lets the next one be as large as its time allows. How long the process stood still is a matter of the
 * process and not of the application's `Clock`; a page that waits for an answer from elsewhere stops nobody.
 */
export const run = <A, E>(pages: TimedPages, page: (limit: number) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    const limit = pages.size
    const began = performance.now()
    let turned: number | undefined
    pages.last = limit
    onNextTurn(() => {
      turned = performance.now()
    })
    return Effect.tap(page(limit), () =>
      Effect.sync(() => {
        const stood = (turned ?? performance.now()) - began
        const fits = stood > 0 ? (limit * budget) / stood : pages.most
        // It grows in steps, because the rows of the next page may cost more.
        pages.size = Math.min(pages.most, Math.max(least, Math.floor(Math.min(fits, limit * 2))))
      })
    )
  })
