import type { Event } from "../../Event.js"
import type { Execution } from "../../Execution.js"
import type { Transition, TransitionFailure } from "../../Processor.js"
import { DefinitionVersionNotFound } from "../../ProcessorError.js"
import * as facets from "./facets.js"
import * as synchronous from "./synchronous.js"

/** A transition that takes executions of one version, and migrates those from `from` on; of any version, where it has none. */
export interface Served<E> {
  readonly version: number | undefined
  readonly from: number
  readonly transition: Transition<TransitionFailure<E>>
}

/**
 * Which of the transitions takes an execution: that of its own version, else the newest that migrates it, so that it is migrated once.
 */
export const forVersion = <S extends Pick<Served<never>, "version" | "from">>(
  served: ReadonlyArray<S>,
  version: number
): S | undefined =>
  served.find((one) => one.version === version) ??
  served
    .filter(({ from, version: to = 0 }) => to > version && from <= version)
    .reduce<S | undefined>((newest, one) => ((one.version ?? 0) > (newest?.version ?? 0) ? one : newest), undefined)

const together = <E>(served: ReadonlyArray<Served<E>>): Transition<TransitionFailure<E>> => {
  const [only] = served
  if (only !== undefined && only.version === undefined) return only.transition
  const missing = ({ definitionId, definitionVersion: version, id: executionId }: Execution, event: Event) => {
    const known = served.flatMap((one) => one.version ?? []).toSorted((a, b) => a - b)
    return new DefinitionVersionNotFound({ executionId, eventId: event.id, definitionId, version, known })
  }
  const of = ({ definitionVersion }: Execution) => forVersion(served, definitionVersion)?.transition
  return synchronous.mark<TransitionFailure<E>, never>(
    (execution, event) => of(execution)?.(execution, event) ?? missing(execution, event),
    (execution, event, now) => {
      const transition = of(execution)
      return transition === undefined ? missing(execution, event) : synchronous.of(transition)(execution, event, now)
    }
  )
}

/** The transitions of a processor. They may come and go while it runs, and there may be several versions of a definition. */
export class Registry<E> {
  /** By the id of their definition; each takes an execution of any version. */
  readonly transitions = new Map<string, Transition<TransitionFailure<E>>>()
  private readonly versions = new Map<string, ReadonlyArray<Served<E>>>()

  /** Adds a transition; false where there is one of this id and version, or one of any version. */
  add(definitionId: string, served: Served<E>): boolean {
    const others = this.versions.get(definitionId) ?? []
    const isAny = served.version === undefined && others.length > 0
    if (isAny || others.some(({ version }) => version === undefined || version === served.version)) return false
    this.set(definitionId, [...others, served])
    return true
  }

  /** Whether there is a transition that takes executions of a definition, and of this version of it. */
  serves(definitionId: string, version?: number): boolean {
    const served = this.versions.get(definitionId)
    if (served === undefined) return false
    return version === undefined || served[0]?.version === undefined || forVersion(served, version) !== undefined
  }

  remove(definitionId: string, served: Served<E>): void {
    this.set(
      definitionId,
      (this.versions.get(definitionId) ?? []).filter((one) => one !== served)
    )
  }

  /** What the definition says whose transition takes executions of a version; without one, the newest. */
  facets(definitionId: string, version?: number): facets.Facets | undefined {
    const served = this.versions.get(definitionId) ?? []
    const newest = served.toSorted((one, other) => (other.version ?? 0) - (one.version ?? 0))[0]
    const found = version === undefined || newest?.version === undefined ? newest : forVersion(served, version)
    return found && facets.of(found.transition)
  }

  private set(definitionId: string, served: ReadonlyArray<Served<E>>): void {
    if (served.length === 0) {
      this.versions.delete(definitionId)
      this.transitions.delete(definitionId)
      return
    }
    this.versions.set(definitionId, served)
    this.transitions.set(definitionId, together(served))
  }
}
