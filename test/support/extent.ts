/** Whether the longer tests are asked for: by `npm run test:long`, or with all others by `npm run test:all`. */
export const long = process.env["HOLDFAST_TESTS"] === "long" || process.env["HOLDFAST_TESTS"] === "all"

/** What the names of longer tests end with. */
export const mark = "[long]"

/** The name of a test that is longer, or is there only, when it is asked for: of its file `npm run test:long` runs only such tests. */
export const longer = (name: string): string => (long ? `${name} ${mark}` : name)

/** How much a test does: so many runs, rows, kills. The fewer are enough to find a fault that is always there. */
export const extent = (amount: { readonly quick: number; readonly long: number }): number =>
  long ? amount.long : amount.quick

/** The limit of a test that takes as long as the machine needs for what it computes, in milliseconds: no machine is so busy. */
export const patient = 6 * 3_600_000

const isOf = (i: number, index: number, of: number): boolean => i % of === index % of

/**
 * What the `index`th test takes of a list: all of it, or by default one in `of`, from another place in each test, so that the tests have
 * all of it between them.
 */
export const share = <A>(list: ReadonlyArray<A>, index: number, of: number): ReadonlyArray<A> =>
  long ? list : list.filter((_, i) => isOf(i, index, of))

/** The same where each of the list has a test of its own, which is longer where it is there only when it is asked for. */
export const shareOfTests = <A>(
  list: ReadonlyArray<A>,
  index: number,
  of: number
): ReadonlyArray<readonly [value: A, named: (name: string) => string]> =>
  list.flatMap((value, i) => {
    if (isOf(i, index, of)) return [[value, (name: string) => name] as const]
    return long ? [[value, longer] as const] : []
  })
