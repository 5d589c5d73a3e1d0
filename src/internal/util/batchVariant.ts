const singles = new WeakMap<object, ReadonlyArray<object>>()

/** Says that a function does for several what others do for one, or tells what the other reads. */
export const of = <Several extends object>(several: Several, ...single: ReadonlyArray<object>): Several => {
  singles.set(several, single)
  return several
}

/**
 * Whether a function does for several what this one does for one, or tells what it reads. Who puts another in the place of the one, to watch it or to make it fail,
 * has not thought of the other: then each is to be done by itself.
 */
export const isOf = (several: object, single: object): boolean => singles.get(several)?.includes(single) === true
