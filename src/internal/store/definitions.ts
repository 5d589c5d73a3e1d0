import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { ExecutionStore } from "../../ExecutionStore.js"
import { type StoreError, StoreUnavailable } from "../../StoreError.js"
import * as validate from "../codec/validate.js"
import * as limits from "../util/limits.js"
import { type Backend, checkIds, checkWhole } from "./backend.js"

/** The failure of a read after a write that succeeded, as the failure of both: nothing was refused. */
const afterWrite = ({ operation }: validate.Call, error: StoreError): StoreError => {
  if (error._tag === "StoreCorrupt") return error
  const { cause, detail } = error
  const reason = error._tag === "StoreUnavailable" ? error.reason : "connection"
  return new StoreUnavailable({ operation, reason, outcome: "unknown", detail, cause })
}

/** The published texts of definitions. */
export const make = (backend: Backend): Pick<ExecutionStore, "publishDefinition" | "loadDefinition"> => {
  const { encoded } = backend

  return {
    publishDefinition: (definition) =>
      Effect.gen(function* () {
        const call = { operation: "publishDefinition" }
        const { definitionId, digest, publishedAt, source, version } = definition
        yield* checkIds(backend, call, { definitionId })
        yield* checkWhole(call, "version", version, 0)
        yield* validate.refuse(call, "digest", validate.wellFormed(digest))
        yield* validate.refuse(
          call,
          "source",
          validate.wellFormed(source) ?? limits.size(backend.checks.limits.commit, source)
        )
        if (publishedAt !== null) yield* validate.refuse(call, "publishedAt", validate.finite(publishedAt))
        yield* encoded.publishDefinition(definition)
        const stored = yield* Effect.mapError(encoded.loadDefinition(definitionId, version), (error) =>
          afterWrite(call, error)
        )
        return Option.getOrElse(stored, () => definition)
      }),

    loadDefinition: (definitionId, version) =>
      Effect.gen(function* () {
        const call = { operation: "loadDefinition" }
        yield* checkIds(backend, call, { definitionId })
        if (version !== undefined) yield* checkWhole(call, "version", version, 0)
        return yield* encoded.loadDefinition(definitionId, version)
      })
  }
}
