/**
 * What an activity that waits for its execution has in the place of a claim: it is given back, and is ready once its execution goes on. One that waits for
 * its next attempt has nothing there.
 */
export const heldClaim = "held"
