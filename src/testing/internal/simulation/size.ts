import * as dice_ from "./dice.js"

/** How much happens in a world. */
export interface Size {
  readonly processes: number
  readonly seconds: number
  readonly faults: number
  readonly operations: number
}

const small: Size = { processes: 2, seconds: 5, faults: 6, operations: 7 }
const middle: Size = { processes: 3, seconds: 9, faults: 10, operations: 12 }
const large: Size = { processes: 3, seconds: 22, faults: 20, operations: 24 }

/**
 * What a seed makes of it. Most worlds are small: many of them find more than a few large ones in the same time. The large ones are for faults
 * that need much at the same time.
 */
export const make = (seed: number): Size => {
  const dice = dice_.make(seed, "size")
  const size = dice.pick(small, small, small, small, small, small, small, middle, middle, large)
  return size === small && dice.chance(0.3) ? { ...small, processes: 3 } : size
}
