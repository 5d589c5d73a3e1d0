/** A wait that nothing outlasts, in milliseconds: a hundred years. A time that far away is still a number that a store can keep. */
export const longestWait = 100 * 366 * 86_400_000
