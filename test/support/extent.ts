/** Whether the longer tests are asked for: `npm run test:long`, or `npm run test:all` with all others. */
export const long = process.env["HOLDFAST_TESTS"] === "all"

/** How much a test does: so many runs, rows, kills. The fewer are enough to find a fault that is always there. */
export const extent = (amount: { readonly quick: number; readonly long: number }): number =>
  long ? amount.long : amount.quick
