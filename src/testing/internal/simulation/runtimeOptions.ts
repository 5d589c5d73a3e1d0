import type * as Duration from "effect/Duration"
import * as Schedule from "effect/Schedule"
import type { CommonOptions } from "../../../ExecutionRuntime.js"
import type { Options } from "../../Simulation.js"
import * as dice_ from "./dice.js"

/** How the processes of a world work: the options of their runtimes, where the workload says nothing else. */
export interface RuntimeOptions {
  /** Whether there is one process, which has the database in itself: no answer of it is ever lost. */
  readonly alone: boolean
  /** Whether the database is in its memory, too: nobody else can write to it, and it would die with the process, which therefore goes on. */
  readonly exclusive: boolean
  /** Whether transactions that wait at the same time share one. */
  readonly grouped: boolean
  readonly runtime: Omit<CommonOptions, "leases" | "definitions">
  readonly leases:
    | { readonly count: number; readonly ttl: Duration.DurationInput; readonly handover: Duration.DurationInput }
    | undefined
}

/** For how many seconds retention keeps what has ended. */
export const keeps = 3

/**
 * What a seed makes of them. Small pages and few places make lanes wait, fall behind and leave rows in the store with little work. Each has
 * dice of its own, so that one more changes none of the others.
 */
export const make = (
  seed: number,
  { commands, processes }: Pick<Options, "commands" | "processes">
): RuntimeOptions => {
  const dice = (name: string): dice_.Dice => dice_.make(seed, `habit ${name}`)
  const alone = processes === undefined && dice("alone").chance(0.2)
  return {
    alone,
    exclusive: alone && dice("exclusive").chance(0.6),
    grouped: dice("grouped").chance(0.5),
    runtime: {
      pageSize: dice("page").pick(1, 1, 2, 3, 10, 100),
      concurrency: dice("concurrency").pick(1, 2, 4, 16, 16),
      retry: dice("retry").pick<Schedule.Schedule<unknown> | undefined>(
        undefined,
        Schedule.spaced("100 millis"),
        Schedule.spaced("700 millis"),
        Schedule.exponential("200 millis")
      ),
      maxAttempts: dice("attempts").pick(20, 20, 20, 4),
      // Idle polls are most of what a run costs.
      pollInterval: dice("poll").pick("300 millis", "1 second", "3 seconds", "3 seconds", "8 seconds", "8 seconds"),
      timerInterval: dice("timers").pick("500 millis", "2 seconds", "5 seconds", "5 seconds", "8 seconds"),
      activityTtl: dice("activities").pick("1 second", "1 second", "3 seconds"),
      // Where operators may remove what has ended, so may this.
      retention:
        (commands ?? ["purge"]).includes("purge") && dice("retention").chance(0.25)
          ? { finished: `${keeps} seconds`, failed: dice("failed").chance(0.5), interval: "1 second", batchSize: 2 }
          : undefined
    },
    leases:
      alone || dice("leases").chance(0.25)
        ? undefined
        : {
            count: dice("shards").pick(1, 4, 4, 7),
            ttl: dice("ttl").pick("3 seconds", "3 seconds", "6 seconds"),
            handover: "200 millis"
          }
  }
}
