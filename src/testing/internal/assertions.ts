import { expect } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { StoreConflict, StoreError } from "../../StoreError.js"

/** Checks that the effect fails because the store is at another version, and at which. */
export const conflicts = <A, R>(
  effect: Effect.Effect<A, StoreConflict | StoreError, R>,
  expected: { readonly executionId: string; readonly expected: number; readonly found: number | null }
) =>
  Effect.map(Effect.flip(effect), (error) => {
    expect(error._tag).toBe("StoreConflict")
    if (error._tag !== "StoreConflict") return
    expect({
      executionId: error.executionId,
      expected: error.expected,
      found: Option.getOrNull(error.found)
    }).toEqual(expected)
  })

/** Checks that the effect is refused as invalid input, and for which part of it. */
export const refuses = <A, R>(effect: Effect.Effect<A, StoreConflict | StoreError, R>, path: string) =>
  Effect.map(Effect.flip(effect), (error) => {
    expect(error).toMatchObject({ _tag: "StoreRejected", reason: "invalid-input", path })
    // the part is named in what a person reads too
    expect(error.message).toContain(path)
  })

/** Checks that the effect fails on a row that does not decode, which row, and what is wrong with it. */
export const corrupts = <A, R>(
  effect: Effect.Effect<A, StoreConflict | StoreError, R>,
  table: string,
  key: string,
  problem: string
) => Effect.map(Effect.flip(effect), (error) => reports(error, table, key, problem))

/** Checks one report of a row that does not decode. */
export const reports = (error: unknown, table: string, key: string, problem: string): void => {
  expect(error).toMatchObject({ _tag: "StoreCorrupt", table, key })
  expect(error).toHaveProperty("problem", expect.stringContaining(problem))
}
