import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Commit from "holdfast/Commit"
import * as Cron from "holdfast/Cron"
import * as Definition from "holdfast/Definition"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as SqliteStore from "holdfast/SqliteStore"

/** Some of everything: orders that run, are done and failed, a child, events, timers, a spawn, a dead letter and a definition. */
export const fill = Effect.gen(function* () {
  const store = yield* ExecutionStore
  const order = (id: string, status: Execution.Status, commit: Commit.Commit = {}) =>
    store.commit(
      Execution.make({
        id,
        definitionId: "order",
        status,
        activePath: "AwaitingPayment",
        error: status === "FAILED" ? "no stock" : null,
        context: { customer: "c-1", number: 12345678901234567890n }
      }),
      { attributes: { customer: "c-1", failed: status === "FAILED", code: id.slice(-2) }, ...commit }
    )
  const event = (id: string) => ({ targetId: "order-17", event: Event.make({ id, kind: "Paid", data: { amount: 5 } }) })
  yield* order("order-17", "RUNNING", {
    emits: [event("shop:1"), event("shop:2")],
    timers: [Commit.scheduleTimer("payment", 1_700_000_000), Commit.scheduleTimer("later", 4_000_000_000)],
    spawns: [{ childId: "parcel-2", rootPath: "Parcel", context: {} }],
    activities: [Commit.runActivity({ key: "c", name: "charge", payload: { amount: 5 } })],
    trace: Commit.traceStep({
      eventKind: "Start",
      timestamp: 1_600_000_000,
      toPath: "AwaitingPayment",
      actions: ["reserve"]
    })
  })
  yield* order("order-18", "DONE")
  yield* order("order-19", "FAILED")
  yield* order("order-20", "FAILED")
  yield* store.save(Execution.make({ id: "parcel-1", definitionId: "parcel", status: "RUNNING", parentId: "order-17" }))
  yield* store.publishDefinition({
    definitionId: "order",
    version: 1,
    digest: "d1",
    source: "{}",
    publishedAt: 1_600_000_000
  })
  yield* store.deadLetters.bury({ _tag: "Outbox", seq: 1 }, { reason: "attempts", attempts: 3, error: "no answer" })
})

/** A file with {@link fill}, closed. */
export const filled = (filename: string) => Effect.provide(fill, SqliteStore.layer({ filename }))

const Report = Definition.make("report", { context: Schema.Struct({ day: Schema.String }) })

const nightly = Cron.make("nightly-report", {
  schedule: "0 2 * * *",
  timeZone: "UTC",
  action: Cron.start(Report, ({ at }) => ({ day: DateTime.formatIsoDate(at) }))
})

/** A file with recurring work, closed. */
export const scheduled = (filename: string) =>
  Cron.toLayer(nightly).pipe(
    Layer.provide(ExecutionRuntime.layer()),
    Layer.provide(SqliteStore.layer({ filename })),
    Layer.build,
    Effect.scoped
  )
