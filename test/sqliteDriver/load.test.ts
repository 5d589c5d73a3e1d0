import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type { Library } from "holdfast/internal/sqliteDriver/database"
import { firstOf } from "holdfast/internal/sqliteDriver/load"
import { StoreRejected, StoreUnavailable } from "holdfast/StoreError"

const library: Library = {
  name: "node:sqlite",
  codeOf: () => "",
  open: () => {
    throw new Error("nobody opens it")
  }
}

const failing = (message: string, code?: string) => () =>
  Promise.reject(Object.assign(new Error(message), code === undefined ? {} : { code }))

describe("The first library that can be loaded", () => {
  it.effect("is the next one where one is not installed, or was built for something else", () =>
    Effect.gen(function* () {
      const found = yield* firstOf([
        ["a", failing("Cannot find module", "MODULE_NOT_FOUND")],
        ["b", failing("was compiled against a different Node.js version", "ERR_DLOPEN_FAILED")],
        ["c", () => Promise.resolve(library)]
      ])
      assert.strictEqual(found, library)
    })
  )

  it.effect("is none where all cannot", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(firstOf([["a", failing("Cannot find module", "MODULE_NOT_FOUND")]]))
      assert.instanceOf(error, StoreRejected)
      assert.include(error.message, "no SQLite is there")
      assert.include(error.message, "a: is not installed")
    })
  )

  for (const [message, code] of [
    ["EMFILE: too many open files, open 'package.json'", "EMFILE"],
    ["libm.so.6: cannot open shared object file: Too many open files", "ERR_DLOPEN_FAILED"],
    ["cannot allocate memory in static TLS block", "ERR_DLOPEN_FAILED"]
  ] as const) {
    it.effect(`is not another one while the process lacks what it takes to load it: ${message}`, () =>
      Effect.gen(function* () {
        let asked = 0
        const error = yield* Effect.flip(
          firstOf([
            ["a", failing(message, code)],
            [
              "b",
              () => {
                asked++
                return Promise.resolve(library)
              }
            ]
          ])
        )
        assert.instanceOf(error, StoreUnavailable)
        assert.include(error.message, message)
        assert.strictEqual(asked, 0)
      })
    )
  }
})
