import { readFile } from "node:fs/promises"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Metrics from "holdfast/Metrics"

const text = Effect.promise(() => readFile(new URL("../../docs/observability.md", import.meta.url), "utf8"))

/** The first column of the tables below a heading. */
const rows = (text: string, heading: string): ReadonlyArray<string> => {
  const [, section = ""] = text.split(`\n## ${heading}\n`)
  const [tables = ""] = section.split("\n## ")
  return Array.from(tables.matchAll(/^\| `([^`]+)`/gm), ([, name = ""]) => name)
}

describe("docs/observability.md", () => {
  it.effect("lists the metrics that there are", () =>
    Effect.gen(function* () {
      for (const metric of Object.values(Metrics)) metric.register()
      const there = new Set(
        (yield* Metric.snapshot).flatMap(({ metricKey: { name } }) =>
          name.startsWith("holdfast_") ? [name.slice("holdfast_".length)] : []
        )
      )
      assert.deepStrictEqual(Array.from(there).sort(), [...rows(yield* text, "Metrics")].sort())
    })
  )
})
