/** Whether what was measured again and again stays where it is. */

export interface Point {
  readonly time: number
  readonly value: number
}

const median = (values: ReadonlyArray<number>): number => {
  const sorted = [...values].sort((a, b) => a - b)
  const half = sorted.length >> 1
  const upper = sorted[half] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[half - 1] ?? Number.NaN) + upper) / 2
}

/**
 * How much a value changes in a unit of time: the median of the slopes between all pairs of points, as Theil and Sen have it, which a few
 * points far from the others do not change.
 */
export const slope = (points: ReadonlyArray<Point>): number => {
  const slopes: Array<number> = []
  for (const [i, a] of points.entries()) {
    for (const b of points.slice(i + 1)) if (b.time !== a.time) slopes.push((b.value - a.value) / (b.time - a.time))
  }
  return median(slopes)
}

/**
 * - `median`: of the second half. - `growth`: by how much it grew there, as its trend goes, as a part of the median.
 * - `flat`: whether that is at most what is allowed.
 */
export interface Trend {
  readonly median: number
  readonly growth: number
  readonly flat: boolean
}

/** What grows at first, as caches do, may: the second half of the time counts. Less than allowed is no fault. */
export const judge = (points: ReadonlyArray<Point>, allowed: number): Trend => {
  const half = points.slice(points.length >> 1)
  const middle = median(half.map(({ value }) => value))
  const first = half[0]
  const last = half[half.length - 1]
  if (first === undefined || last === undefined || half.length < 3)
    return { median: middle, growth: Number.NaN, flat: false }
  const change = slope(half) * (last.time - first.time)
  const growth = middle === 0 ? (change === 0 ? 0 : Number.POSITIVE_INFINITY) : change / middle
  return { median: middle, growth, flat: growth <= allowed }
}
