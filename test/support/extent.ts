/** Whether the longer tests are asked for: `npm run test:long`, or `npm run test:all` with all others. */
export const long = process.env["HOLDFAST_TESTS"] === "all"

/** How much a test does: so many runs, rows, kills. The fewer are enough to find a fault that is always there. */
export const extent = (amount: { readonly quick: number; readonly long: number }): number =>
  long ? amount.long : amount.quick

/**
 * What the `index`th test takes of a list: all of it, or by default one in `of`, from another place in each test, so that the tests have
 * all of it between them.
 */
export const share = <A>(list: ReadonlyArray<A>, index: number, of: number): ReadonlyArray<A> =>
  long ? list : list.filter((_, i) => i % of === index % of)
