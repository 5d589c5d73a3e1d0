/** What seeds came to, and how it is told. */
import type { Report } from "holdfast/testing/Simulation"

/** - `last`: the last seed. `spent`: seconds of the processor. `bytes`: the memory of the process. */
export interface Sum {
  readonly seeds: number
  readonly last: number
  readonly seconds: number
  readonly commits: number
  readonly faults: number
  readonly spent: number
  readonly bytes: number
}

export const none: Sum = { seeds: 0, last: 0, seconds: 0, commits: 0, faults: 0, spent: 0, bytes: 0 }

/** How often is told how far it is, in milliseconds. */
export const interval = 10_000

const cpuSeconds = (): number => {
  const { system, user } = process.cpuUsage()
  return (system + user) / 1e6
}

/** With one more seed. */
export const add = (sum: Sum, { commits, faults, seconds, seed }: Report): Sum => ({
  seeds: sum.seeds + 1,
  last: seed,
  seconds: sum.seconds + seconds,
  commits: sum.commits + commits,
  faults: sum.faults + faults,
  spent: cpuSeconds(),
  bytes: process.memoryUsage.rss()
})

const total = (sums: ReadonlyArray<Sum>, of: (sum: Sum) => number): number =>
  sums.reduce((sum, one) => sum + of(one), 0)

/** What the seeds of all processes came to. */
export const inWords = (sums: ReadonlyArray<Sum>): string => {
  const seeds = total(sums, ({ seeds }) => seeds)
  const spent = total(sums, ({ spent }) => spent)
  return [
    `${seeds} seeds up to ${Math.max(0, ...sums.map(({ last }) => last))}`,
    `${(total(sums, ({ seconds }) => seconds) / 3600).toFixed(1)} simulated hours`,
    `${total(sums, ({ faults }) => faults)} faults`,
    `${total(sums, ({ commits }) => commits)} commits`,
    `${(spent / 60).toFixed(1)} min of the processor, ${Math.round((seeds * 60) / Math.max(spent, 1))} seeds a minute of it`,
    `by core: ${sums.map(({ bytes, seeds }) => `${seeds} seeds with ${Math.round(bytes / 1e6)} MB`).join(", ")}`
  ].join(", ")
}
