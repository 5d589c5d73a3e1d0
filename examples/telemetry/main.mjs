// An application that sends its metrics and spans to the collector of compose.yaml. In a directory of its own:
//
//   npm install holdfast effect@3 better-sqlite3@12 @effect/opentelemetry@0.64 @effect/platform@0.97 @opentelemetry/api \
//     @opentelemetry/resources @opentelemetry/semantic-conventions @opentelemetry/sdk-logs @opentelemetry/sdk-metrics \
//     @opentelemetry/sdk-trace-base @opentelemetry/sdk-trace-node @opentelemetry/sdk-trace-web \
//     @opentelemetry/exporter-metrics-otlp-http @opentelemetry/exporter-trace-otlp-http
//   node main.mjs
//
// OTEL_EXPORTER_OTLP_ENDPOINT says where the collector is, by default http://localhost:4318.
import { hostname } from "node:os"
import * as NodeSdk from "@effect/opentelemetry/NodeSdk"
import { OTLPMetricExporter } from "@opentelemetry/exporter-metrics-otlp-http"
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http"
import { PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics"
import { BatchSpanProcessor } from "@opentelemetry/sdk-trace-base"
import { Effect, Layer, Schedule, Schema } from "effect"
import { Definition, ExecutionRuntime } from "holdfast"
import * as SqliteStore from "holdfast/SqliteStore"

const Order = Definition.make("order", {
  context: Schema.Struct({ number: Schema.Number }),
  events: { Paid: Schema.Struct({ amount: Schema.Number }) },
  result: Schema.Number
})

// One in ten fails, so that there is something to see.
const OrderLive = Order.toLayer({
  Start: (step) => step,
  Paid: (step, { amount }) =>
    amount % 10 === 0 ? Effect.die(new Error("the payment is refused")) : Order.finish(step, amount)
})

let number = 0
const sell = Effect.gen(function* () {
  const id = `order-${process.pid}-${++number}`
  yield* Order.start(id, { number })
  yield* Order.send(id, "Paid", { amount: number })
}).pipe(Effect.repeat(Schedule.spaced("200 millis")))

const Exported = NodeSdk.layer(() => ({
  // Each process needs an instance of its own, or the metrics of two are taken for those of one.
  resource: { serviceName: "orders", attributes: { "service.instance.id": `${hostname()}-${process.pid}` } },
  spanProcessor: new BatchSpanProcessor(new OTLPTraceExporter()),
  metricReader: new PeriodicExportingMetricReader({
    exporter: new OTLPMetricExporter(),
    exportIntervalMillis: Number(process.env.EXPORT_INTERVAL ?? 15_000)
  })
}))

const Live = OrderLive.pipe(
  Layer.provideMerge(ExecutionRuntime.layer()),
  Layer.provideMerge(SqliteStore.layer({ filename: process.env.FILE ?? "orders.db" }))
)

// Around everything: the workers take the tracer when they are built.
await Effect.runPromise(sell.pipe(Effect.provide(Live), Effect.provide(Exported)))
