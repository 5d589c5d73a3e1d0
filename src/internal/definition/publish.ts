import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Encoding from "effect/Encoding"
import * as JSONSchema from "effect/JSONSchema"
import type * as Schema from "effect/Schema"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { PublishedDefinition } from "../../PublishedDefinition.js"
import type { StoreError } from "../../StoreError.js"
import type { Contract } from "./contract.js"

/** The JSON Schema of what is stored. A schema that has none is told as its own text. */
const schemaOf = (schema: Schema.Schema.AnyNoContext | undefined): unknown => {
  if (schema === undefined) return undefined
  try {
    const { $schema, ...rest } = JSONSchema.make(schema)
    return rest
  } catch {
    return { $comment: String(schema.ast) }
  }
}

const members = <A>(map: ReadonlyMap<string, A>, f: (value: A) => unknown): unknown =>
  Object.fromEntries(Array.from(map, ([key, value]) => [key, f(value)]))

/** What there is to say of a definition, as JSON. */
const sourceOf = (contract: Contract): string => {
  const { activities, children, migrations, name, schemas, timers, version } = contract
  const described = {
    name,
    version,
    migratesFrom: Array.from(migrations.keys()).toSorted((a, b) => a - b),
    context: schemaOf(schemas.context),
    input: schemas.input === schemas.context ? undefined : schemaOf(schemas.input),
    events: Object.fromEntries(Object.entries(schemas.events).map(([kind, schema]) => [kind, schemaOf(schema)])),
    timers: Array.from(timers),
    children: members(children, ({ name, version }) => ({ definition: name, version })),
    activities: members(activities, ({ name, schemas: { error, payload, success } }) => ({
      name,
      payload: schemaOf(payload),
      success: schemaOf(success),
      error: schemaOf(error)
    })),
    result: schemaOf(schemas.result),
    error: schemaOf(schemas.error)
  }
  return JSON.stringify(described, undefined, 2)
}

const digestOf = (text: string): Effect.Effect<string> =>
  Effect.map(
    Effect.promise(() => crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))),
    (bytes) => `sha256:${Encoding.encodeHex(new Uint8Array(bytes))}`
  )

/** What there is to store of a definition. */
export const describe = (contract: Contract): Effect.Effect<Omit<PublishedDefinition, "publishedAt">> => {
  const source = sourceOf(contract)
  return Effect.map(digestOf(source), (digest) => ({
    definitionId: contract.name,
    version: contract.version,
    digest,
    source
  }))
}

/** Stores what a version of a definition is, unless it is stored. */
export const publish = (contract: Contract): Effect.Effect<PublishedDefinition, StoreError, ExecutionStore> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    return yield* store.publishDefinition({
      ...(yield* describe(contract)),
      publishedAt: (yield* Clock.currentTimeMillis) / 1000
    })
  })
