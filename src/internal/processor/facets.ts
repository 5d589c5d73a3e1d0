import type { Attributes } from "../../Execution.js"
import type { Target } from "../../GivenUp.js"
import type { JsonObject } from "../../Json.js"

/**
 * What a definition says beside its transition, which knows nothing else of it.
 *
 * - `attributes`: what an execution with this context is found by; nothing where that does not decode, or the definition says nothing.
 * - `onGivenUp`: who is told of what is given up of its executions.
 */
export interface Facets {
  readonly onGivenUp: Target | undefined
  readonly attributes: (context: JsonObject) => Attributes | undefined
}

const known = new WeakMap<object, Facets>()

/** What the definition of a transition says, where there is a definition behind it. */
export const of = (transition: object): Facets | undefined => known.get(transition)

export const mark = <A extends object>(transition: A, facets: Facets): A => {
  known.set(transition, facets)
  return transition
}

/** Says of what runs a transition what is said of the transition. */
export const carry = <A extends object>(inner: object, outer: A): A => {
  const facets = known.get(inner)
  if (facets !== undefined) known.set(outer, facets)
  return outer
}
