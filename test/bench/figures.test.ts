import { assert, describe, it } from "@effect/vitest"
import * as Figure from "../../bench/internal/figure.js"
import * as measure from "../../bench/internal/measure.js"
import * as report from "../../bench/internal/report.js"

const rounds = (...pairs: ReadonlyArray<readonly [value: number, baseline: number]>) =>
  pairs.map(([value, baseline]) => ({ value, baseline }))

const make = (target: Figure.Target | undefined, ...pairs: ReadonlyArray<readonly [number, number]>) =>
  Figure.make({ topic: "T", name: "n", unit: "/s", against: "raw", rounds: rounds(...pairs), target })

describe("the figures of a bench", () => {
  it("are medians, and the ratio is that of values taken one after the other", () => {
    // a machine that grows three times as slow while this is measured
    const figure = make(undefined, [900, 300], [600, 200], [300, 100])
    assert.strictEqual(figure.value, 600)
    assert.strictEqual(figure.baseline.value, 200)
    assert.strictEqual(figure.ratio, 3)
    const uneven = make(undefined, [100, 10], [100, 50], [100, 100])
    assert.strictEqual(uneven.ratio, 2)
    assert.deepStrictEqual(uneven.ratios, [10, 2, 1])
  })

  it("are held against their target", () => {
    assert.isNull(make(undefined, [1, 1]).met)
    assert.isTrue(make(Figure.atLeast(0.5), [5, 10]).met)
    assert.isFalse(make(Figure.atLeast(0.5), [4.9, 10]).met)
    assert.isTrue(make(Figure.atMost(1.3), [13, 10]).met)
    assert.isFalse(make(Figure.atMost(1.3), [13.1, 10]).met)
    assert.isTrue(make(Figure.valueAtMost(3), [3, 1]).met)
    assert.isFalse(make(Figure.valueAtMost(3), [3.1, 100]).met)
    assert.isTrue(make(Figure.moreAtMost(150), [250, 100]).met)
    assert.isFalse(make(Figure.moreAtMost(150), [251, 100]).met)
  })

  it("miss their target where there is nothing to compare", () => {
    assert.isFalse(make(Figure.atLeast(1), [Number.NaN, 1]).met)
    assert.isFalse(make(Figure.valueAtMost(3)).met)
  })

  it("have quantiles of any order and number of values", () => {
    const values = [9, 1, 5, 3, 7, 2, 8, 4, 6, 10]
    assert.strictEqual(measure.quantile(values, 0.5), 6)
    assert.strictEqual(measure.quantile(values, 0.99), 10)
    assert.strictEqual(measure.quantile(values, 1), 10)
    assert.strictEqual(measure.quantile([4], 0.5), 4)
    assert.isNaN(measure.quantile([], 0.5))
  })

  it("stand in tables of their topic", () => {
    const context = report.context("3.53.2", "the median of 2 rounds", 12.4)
    const figures = [
      make(Figure.atLeast(3.5), [12_345, 3000], [12_345, 4115]),
      Figure.make({
        topic: "U",
        name: "memory",
        unit: "MiB",
        against: "none",
        rounds: rounds([300, 100]),
        target: Figure.moreAtMost(150)
      })
    ]
    const markdown = report.markdown(context, figures).split("\n")
    assert.include(markdown[0] ?? "", "SQLite 3.53.2; the median of 2 rounds; 12 s in all")
    assert.deepStrictEqual(markdown.slice(1), [
      "",
      "### T",
      "",
      "| figure | value | baseline | baseline's value | ratio | target |  |",
      "| --- | ---: | --- | ---: | --- | --- | --- |",
      "| n | 12,345/s | raw | 4,115/s | x4.12 (3.00 to 4.12) | at least x3.5 | met |",
      "",
      "### U",
      "",
      "| figure | value | baseline | baseline's value | ratio | target |  |",
      "| --- | ---: | --- | ---: | --- | --- | --- |",
      "| memory | 300 MiB | none | 100 MiB | x3.00 | at most 150 MiB more | MISSED |"
    ])
    const text = report.text(context, figures).split("\n")
    assert.deepStrictEqual(text[4]?.split(/ {2,}/), [
      "n",
      "12,345/s",
      "raw",
      "4,115/s",
      "x4.12 (3.00 to 4.12)",
      "at least x3.5",
      "met"
    ])
    assert.deepStrictEqual(JSON.parse(report.json(context, figures)).figures, figures)
  })
})
