import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Encoded } from "../../EncodedStore.js"
import type { Database, Row } from "../sqlDatabase/database.js"
import * as pages from "../sqlDatabase/pages.js"

/** How much work there is. */
export const make = (database: Database): Pick<Encoded, "stats"> => ({
  stats: (now) =>
    Effect.map(pages.first(database, { operation: "stats" }, database.sql.stats, now), (row) => {
      const columns = Option.getOrElse(row, (): Row => [])
      const [events, failingEvents, event, spawns, failingSpawns, ...others] = columns
      const [timers, failingTimers, due, earliest, delayed, timeless, dueAt, dead, diedAt] = others
      return {
        outbox: { count: Number(events), failing: Number(failingEvents), event },
        spawns: { count: Number(spawns), failing: Number(failingSpawns) },
        timers: { count: Number(timers), failing: Number(failingTimers), due: Number(due), earliest },
        delayed: { count: Number(delayed), corrupt: Number(timeless), dueAt },
        deadLetters: { count: Number(dead), diedAt }
      }
    })
})
