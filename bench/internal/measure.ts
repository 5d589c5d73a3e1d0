import * as Effect from "effect/Effect"

/** How often something was done, how long it took and how much of a processor it used. */
export interface Sample {
  readonly count: number
  readonly seconds: number
  readonly cpuSeconds: number
}

/** Times an effect that tells how often it did what is measured. */
export const timed = <E, R>(run: Effect.Effect<number, E, R>): Effect.Effect<Sample, E, R> =>
  Effect.suspend(() => {
    const start = performance.now()
    const cpu = process.cpuUsage()
    return Effect.map(run, (count) => {
      const { system, user } = process.cpuUsage(cpu)
      return { count, seconds: (performance.now() - start) / 1000, cpuSeconds: (system + user) / 1e6 }
    })
  })

/** {@link timed} of what is no effect. */
export const timedSync = (run: () => number): Effect.Effect<Sample> => timed(Effect.sync(run))

/** Fibers side by side, each of which does one thing after the other until the time is over. */
export const loop = <E, R>(
  fibers: number,
  seconds: number,
  step: (fiber: number) => Effect.Effect<unknown, E, R>
): Effect.Effect<Sample, E, R> =>
  timed(
    Effect.gen(function* () {
      const end = performance.now() + seconds * 1000
      let count = 0
      const run = (fiber: number) =>
        Effect.gen(function* () {
          for (; performance.now() < end; count++) yield* step(fiber)
        })
      yield* Effect.forEach(range(fibers), run, { concurrency: "unbounded", discard: true })
      return count
    })
  )

/** Does one thing after the other without Effect, as the raw baselines do, until the time is over; tells how often. */
export const repeatFor = (seconds: number, step: () => void): number => {
  const end = performance.now() + seconds * 1000
  let count = 0
  for (; performance.now() < end; count++) step()
  return count
}

/**
 * Takes a round so often, after one that only warms up. A round measures each form once, one after the other, so that what slows the
 * machine down for a while slows them all.
 */
export const rounds = <A, E, R>(count: number, round: Effect.Effect<A, E, R>): Effect.Effect<ReadonlyArray<A>, E, R> =>
  Effect.zipRight(round, Effect.replicateEffect(round, count))

export const range = (length: number): ReadonlyArray<number> => Array.from({ length }, (_, i) => i)

export const rate = (sample: Sample): number => sample.count / sample.seconds

/** Microseconds of wall clock for each. */
export const micros = (sample: Sample): number => (sample.seconds * 1e6) / sample.count

/** Microseconds of processor for each. */
export const cpuMicros = (sample: Sample): number => (sample.cpuSeconds * 1e6) / sample.count

/** The value below which this part (0 to 1) of the values lies. */
export const quantile = (values: ReadonlyArray<number>, part: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

export const median = (values: ReadonlyArray<number>): number => quantile(values, 0.5)
