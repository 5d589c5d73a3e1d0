import { median } from "./measure.js"

/** What a figure is held against: its ratio to the baseline, the value itself, or how much more it is than the baseline. */
export interface Target {
  readonly of: "ratio" | "value" | "difference"
  readonly bound: "at least" | "at most"
  readonly limit: number
}

/**
 * One line of the results. `ratio` is the median of the ratios of the rounds, each of which measured the value and its baseline one after
 * the other; `ratios` are those of the rounds.
 */
export interface Figure {
  readonly topic: string
  readonly name: string
  readonly unit: string
  readonly value: number
  readonly baseline: { readonly name: string; readonly value: number }
  readonly ratio: number
  readonly ratios: ReadonlyArray<number>
  readonly target: Target | null
  readonly met: boolean | null
}

export const atLeast = (limit: number): Target => ({ of: "ratio", bound: "at least", limit })

export const atMost = (limit: number): Target => ({ of: "ratio", bound: "at most", limit })

export const valueAtMost = (limit: number): Target => ({ of: "value", bound: "at most", limit })

export const moreAtMost = (limit: number): Target => ({ of: "difference", bound: "at most", limit })

/** A value and its baseline of one round. */
export interface Pair {
  readonly value: number
  readonly baseline: number
}

export const make = (options: {
  readonly topic: string
  readonly name: string
  readonly unit: string
  readonly against: string
  readonly rounds: ReadonlyArray<Pair>
  readonly target?: Target | undefined
}): Figure => {
  const { against, name, rounds, target = null, topic, unit } = options
  const value = median(rounds.map((round) => round.value))
  const ratios = rounds.map((round) => round.value / round.baseline)
  const baseline = median(rounds.map((round) => round.baseline))
  const found = { ratio: median(ratios), value, difference: value - baseline }
  return {
    topic,
    name,
    unit,
    value,
    baseline: { name: against, value: baseline },
    ratio: found.ratio,
    ratios,
    target,
    met: target === null ? null : meets(target, found[target.of])
  }
}

const meets = ({ bound, limit }: Target, found: number): boolean =>
  bound === "at least" ? found >= limit : found <= limit
