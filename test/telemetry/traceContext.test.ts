import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"
import * as TraceContext from "holdfast/TraceContext"

const traceId = "0af7651916cd43dd8448eb211c80319c"
const spanId = "b7ad6b7169203331"

const span = (options: { readonly traceId?: string; readonly spanId?: string; readonly sampled?: boolean } = {}) =>
  Tracer.externalSpan({ traceId, spanId, ...options })

const parsed = (text: string) =>
  Option.getOrNull(
    Option.map(TraceContext.fromTraceparent(text), ({ sampled, spanId, traceId }) => ({ sampled, spanId, traceId }))
  )

describe("TraceContext", () => {
  it("writes what it reads", () => {
    for (const [sampled, flags] of [
      [true, "01"],
      [false, "00"]
    ] as const) {
      const text = `00-${traceId}-${spanId}-${flags}`
      assert.deepStrictEqual(TraceContext.toTraceparent(span({ sampled })), Option.some(text))
      assert.deepStrictEqual(parsed(text), { traceId, spanId, sampled })
    }
  })

  it("reads flags that it does not know, and versions to come", () => {
    assert.deepStrictEqual(parsed(`00-${traceId}-${spanId}-03`), { traceId, spanId, sampled: true })
    assert.deepStrictEqual(parsed(`00-${traceId}-${spanId}-02`), { traceId, spanId, sampled: false })
    assert.deepStrictEqual(parsed(`cc-${traceId}-${spanId}-01-what-else`), { traceId, spanId, sampled: true })
  })

  for (const [name, text] of [
    ["nothing", ""],
    ["the version that is none", `ff-${traceId}-${spanId}-01`],
    ["more than its version has", `00-${traceId}-${spanId}-01-more`],
    ["too few parts", `00-${traceId}-${spanId}`],
    ["a trace id of another length", `00-${traceId.slice(1)}-${spanId}-01`],
    ["a trace id of zeros", `00-${"0".repeat(32)}-${spanId}-01`],
    ["a span id of zeros", `00-${traceId}-${"0".repeat(16)}-01`],
    ["capitals", `00-${traceId.toUpperCase()}-${spanId}-01`],
    ["a line more", `00-${traceId}-${spanId}-01\n`],
    ["white space", ` 00-${traceId}-${spanId}-01`]
  ] as const) {
    it(`does not read ${name}`, () => assert.isNull(parsed(text)))
  }

  it("does not write ids of another form, nor a span that is not to be propagated", () => {
    assert.isTrue(Option.isNone(TraceContext.toTraceparent(span({ traceId: "7" }))))
    assert.isTrue(Option.isNone(TraceContext.toTraceparent(span({ spanId: "span-1" }))))
    const context = Context.make(Tracer.DisablePropagation, true)
    assert.isTrue(Option.isNone(TraceContext.toTraceparent(Tracer.externalSpan({ traceId, spanId, context }))))
  })
})
