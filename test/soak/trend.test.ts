import { assert, describe, it } from "@effect/vitest"
import * as Trend from "./trend.js"

const points = (value: (time: number) => number) =>
  Array.from({ length: 40 }, (_, time) => ({ time, value: value(time) }))

describe("A trend", () => {
  it("is flat where the value stays, falls, or has grown in the first half alone", () => {
    for (const value of [() => 5, (time: number) => 100 - time, (time: number) => Math.min(time, 15), () => 0]) {
      assert.isTrue(Trend.judge(points(value), 0.1).flat)
    }
  })

  it("is not flat where it grows, and says by how much", () => {
    const { flat, growth, median } = Trend.judge(
      points((time) => 100 + time),
      0.1
    )
    assert.isFalse(flat)
    assert.closeTo(growth * median, 19, 0.001)
    assert.isFalse(
      Trend.judge(
        points((time) => (time < 30 ? 0 : time)),
        0.1
      ).flat
    )
  })

  it("is not moved by a few values far off", () => {
    const noisy = points((time) => (time % 9 === 0 ? 1000 : 50 + (time % 3)))
    assert.isTrue(Trend.judge(noisy, 0.1).flat)
    assert.strictEqual(Trend.slope(points((time) => (time === 39 ? 1e6 : 3 * time))), 3)
  })

  it("is none of too few values", () => {
    assert.isFalse(Trend.judge([{ time: 0, value: 1 }], 0.1).flat)
  })
})
