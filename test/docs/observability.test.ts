import { readFile } from "node:fs/promises"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as Metrics from "holdfast/Metrics"

const read = (path: string) => Effect.promise(() => readFile(new URL(`../../${path}`, import.meta.url), "utf8"))

const text = read("docs/observability.md")

/** The names of all metrics. */
const names = Effect.gen(function* () {
  for (const metric of Object.values(Metrics)) metric.register()
  const all = (yield* Metric.snapshot).map(({ metricKey: { name } }) => name)
  return Array.from(new Set(all.filter((name) => name.startsWith("holdfast_")))).sort()
})

/** The metrics that expressions of Prometheus name. A histogram is three of its own there. */
const named = (expressions: string): ReadonlyArray<string> =>
  Array.from(
    new Set(Array.from(expressions.matchAll(/holdfast_[a-z_]+/g), ([name]) => name.replace(/_(bucket|sum|count)$/, "")))
  ).sort()

/** The first column of the tables below a heading. */
const rows = (text: string, heading: string): ReadonlyArray<string> => {
  const [, section = ""] = text.split(`\n## ${heading}\n`)
  const [tables = ""] = section.split("\n## ")
  return Array.from(tables.matchAll(/^\| `([^`]+)`/gm), ([, name = ""]) => name)
}

describe("docs/observability.md", () => {
  it.effect("lists the metrics that there are", () =>
    Effect.gen(function* () {
      const there = (yield* names).map((name) => name.slice("holdfast_".length))
      assert.deepStrictEqual(there, [...rows(yield* text, "Metrics")].sort())
    })
  )

  it.effect("explains the alert rules that there are", () =>
    Effect.gen(function* () {
      const rules = yield* read("examples/telemetry/alerts.yaml")
      const alerts = Array.from(rules.matchAll(/^ +- alert: (\w+)$/gm), ([, name = ""]) => name)
      assert.deepStrictEqual(alerts, [...rows(yield* text, "What to alert on")])
      assert.isAbove(alerts.length, 5)
      const known = new Set(yield* names)
      assert.deepStrictEqual(
        named(rules).filter((name) => !known.has(name)),
        []
      )
      // Each has an expression and says what is wrong.
      assert.strictEqual(rules.match(/^ +expr: /gm)?.length, alerts.length)
      assert.strictEqual(rules.match(/^ +summary: /gm)?.length, alerts.length)
    })
  )
})

/** A panel, as far as it matters here. */
interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly targets?: ReadonlyArray<{ readonly expr: string }>
}

describe("the dashboard", () => {
  it.effect("shows every metric, and no other", () =>
    Effect.gen(function* () {
      const { panels }: { readonly panels: ReadonlyArray<Panel> } = JSON.parse(
        yield* read("examples/telemetry/grafana/holdfast.json")
      )
      const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
      assert.deepStrictEqual(named(expressions.join("\n")), yield* names)
      assert.strictEqual(new Set(panels.map(({ id }) => id)).size, panels.length)
      const shown = panels.filter(({ type }) => type !== "row")
      assert.deepStrictEqual(
        shown.filter(({ description = "", targets = [] }) => description === "" || targets.length === 0),
        []
      )
    })
  )
})
