import type { Transition } from "../../Processor.js"

/** The transitions of a processor, by the id of their definition. They may come and go while it runs. */
export type Registry<E> = Map<string, Transition<E>>

/** Adds a transition; false where there is one of this id. */
export const add = <E>(registry: Registry<E>, definitionId: string, transition: Transition<E>): boolean => {
  if (registry.has(definitionId)) return false
  registry.set(definitionId, transition)
  return true
}
