/** Choices that a seed decides. */
export interface Dice {
  /** From 0 to below 1. */
  readonly next: () => number
  /** A whole number from 0 to below `n`. */
  readonly below: (n: number) => number
  /** A whole number from `least` to `most`. */
  readonly between: (least: number, most: number) => number
  readonly chance: (probability: number) => boolean
  readonly pick: <A>(first: A, ...rest: ReadonlyArray<A>) => A
}

/** Spreads a seed and a name, so that the dice of two names have nothing to do with each other. */
const mix = (seed: number, name: string): number => {
  let hash = 0x811c9dc5
  for (const character of `${seed}/${name}`) hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return (hash ^ (hash >>> 13)) >>> 0
}

/** Dice of a seed. Each name has its own: what one of them is asked for does not change what another answers. */
export const make = (seed: number, name: string): Dice => {
  let state = mix(seed, name)
  // Mulberry32.
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0
    let bits = Math.imul(state ^ (state >>> 15), state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return ((bits ^ (bits >>> 14)) >>> 0) / 4294967296
  }
  const below = (n: number): number => Math.floor(next() * n)
  return {
    next,
    below,
    between: (least, most) => least + below(most - least + 1),
    chance: (probability) => next() < probability,
    pick: (first, ...rest) => rest[below(rest.length + 1) - 1] ?? first
  }
}
