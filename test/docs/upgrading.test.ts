import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"

const root = fileURLToPath(new URL("../..", import.meta.url))
const read = (path: string) => Effect.promise(() => readFile(join(root, path), "utf8"))

/** The new names of the guide's tables. */
const newNames = Effect.map(read("docs/upgrading.md"), (text) =>
  Array.from(text.matchAll(/^\| .+ \| `([\w.]+)(?:\([\w, ]*\))?` \|$/gm), ([, name = ""]) => name)
)

describe("docs/upgrading.md", () => {
  it.effect("names exports that there are", () =>
    Effect.gen(function* () {
      const names = (yield* newNames).filter((name) => !name.startsWith("store."))
      assert.isAbove(names.length, 10)
      for (const name of names) {
        const [module = "", member] = name.split(".")
        const source = yield* read(`src/${module}.ts`)
        if (member === undefined) continue
        assert.match(source, new RegExp(`export (?:const|type|interface|class|function) ${member}\\b`), name)
      }
    })
  )

  it.effect("names operations that a store has", () =>
    Effect.gen(function* () {
      const store: unknown = yield* ExecutionStore
      const names = (yield* newNames).filter((name) => name.startsWith("store."))
      assert.isAbove(names.length, 10)
      for (const name of names) {
        const [, ...path] = name.split(".")
        const found = path.reduce<unknown>((value, key) => Object(value)[key], store)
        assert.isDefined(found, name)
      }
    }).pipe(Effect.provide(MemoryStore.layer))
  )
})
