import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Order from "effect/Order"
import type { Encoded } from "../../EncodedStore.js"
import type { PublishedDefinition } from "../../PublishedDefinition.js"
import { Ordered } from "./sortedArray.js"
import type { Tables } from "./tables.js"

/** The versions of definitions. */
export class Definitions {
  private readonly versions = new Map<string, Ordered<number, PublishedDefinition>>()

  /** Stores a version unless it is there. */
  add({ definitionId, digest, publishedAt, source, version }: PublishedDefinition): void {
    const versions =
      this.versions.get(definitionId) ??
      new Ordered<number, PublishedDefinition>((definition) => definition.version, Order.number)
    this.versions.set(definitionId, versions)
    if (versions.get(version) === undefined) versions.set({ definitionId, version, digest, source, publishedAt })
  }

  /** A version, or the latest one. */
  get(definitionId: string, version: number | undefined): PublishedDefinition | undefined {
    const versions = this.versions.get(definitionId)
    return version === undefined ? versions?.last() : versions?.get(version)
  }
}

/** The published texts of definitions. */
export const make = ({ definitions }: Tables): Pick<Encoded, "publishDefinition" | "loadDefinition"> => ({
  publishDefinition: (definition) => Effect.sync(() => definitions.add(definition)),

  loadDefinition: (definitionId, version) =>
    Effect.sync(() => Option.fromNullable(definitions.get(definitionId, version)))
})
