/**
 * What is made for the prefix of a store's tables, and kept for the next store: those of a process mostly have one prefix, and hundreds of
 * texts take longer to make than a database takes to open.
 */
export const perPrefix = <A>(make: (prefix: string) => A): ((prefix: string) => A) => {
  let last: { readonly prefix: string; readonly made: A } | undefined
  return (prefix) => {
    if (last?.prefix !== prefix) last = { prefix, made: make(prefix) }
    return last.made
  }
}
