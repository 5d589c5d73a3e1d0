/**
 * What commits and reads cost on a cluster of rqlite nodes (`RQLITE_URL`). It writes there: into tables of a prefix of its own, which it
 * removes.
 */
import { randomBytes } from "node:crypto"
import * as HttpClient from "@effect/platform/HttpClient"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Execution from "holdfast/Execution"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as RqliteClient from "holdfast/RqliteClient"
import type { RqliteError } from "holdfast/RqliteError"
import * as RqliteStore from "holdfast/RqliteStore"
import * as SqlDriver from "holdfast/SqlDriver"
import * as Figure from "./internal/figure.js"
import * as measure from "./internal/measure.js"
import * as order from "./internal/order.js"
import type { Settings, Topic } from "./internal/settings.js"
import * as tables from "./internal/tables.js"
import { commits, type Step, through } from "./internal/writers.js"

const topic = "rqlite"
const prefix = `b${randomBytes(8).toString("hex")}_`

/** Counts the bytes of the bodies that are sent to `/db/execute`. */
const counting = (sent: { bytes: number }) =>
  HttpClient.mapRequestEffect((request) =>
    Effect.sync(() => {
      if (request.url.includes("/db/execute") && request.body._tag === "Uint8Array") {
        sent.bytes += request.body.body.byteLength
      }
      return request
    })
  )

/** The driver that one would write first: a request for each call. */
const plainDriver = (client: RqliteClient.RqliteClient): SqlDriver.SqlDriver => ({
  transaction: () => Effect.dieMessage("reads only"),
  query: (_, statement) => Effect.map(Effect.orDie(client.query([statement])), ([result]) => result?.values ?? [])
})

/**
 * The commit that one would write first: the execution by an upsert, then one statement for each thing beside it, guarded by the bytes
 * that were just written.
 */
const naive = (client: RqliteClient.RqliteClient): Step<RqliteError> => {
  const guard = `EXISTS (SELECT 1 FROM ${prefix}executions WHERE id = ? AND data = ?)`
  return (execution, id) => {
    const next = { ...execution, version: execution.version + 1 }
    const data = JSON.stringify(next)
    const { emits, trace } = order.sideWrites(id)
    const beside = [
      ...emits.map((emit) => ({
        sql: `INSERT INTO ${prefix}outbox (target_id, event) SELECT ?, ? WHERE ${guard}`,
        params: [emit.targetId, JSON.stringify(emit.event)]
      })),
      {
        sql: `INSERT OR IGNORE INTO ${prefix}processed_events (execution_id, event_id) SELECT ?, ? WHERE ${guard}`,
        params: [execution.id, id]
      },
      {
        sql: `INSERT OR REPLACE INTO ${prefix}timers (execution_id, path, fire_at) SELECT ?, ?, ? WHERE ${guard}`,
        params: [execution.id, "payment", 1_790_000_000]
      },
      {
        sql: `INSERT INTO ${prefix}trace (execution_id, idx, entry) SELECT ?, COALESCE((SELECT MAX(idx) FROM ${prefix}trace WHERE execution_id = ?), -1) + 1, ? WHERE ${guard}`,
        params: [execution.id, execution.id, JSON.stringify(trace)]
      },
      {
        sql: `DELETE FROM ${prefix}trace WHERE execution_id = ? AND idx <= (SELECT MAX(idx) FROM ${prefix}trace WHERE execution_id = ?) - 200 AND ${guard}`,
        params: [execution.id, execution.id]
      }
    ]
    return Effect.as(
      client.execute([
        {
          sql: `INSERT INTO ${prefix}executions (id, definition_id, data, version) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET data = excluded.data, version = excluded.version WHERE ${prefix}executions.version = ?`,
          params: [execution.id, execution.definitionId, data, next.version, execution.version]
        },
        ...beside.map(({ params, sql }) => ({ sql, params: [...params, execution.id, data] }))
      ]),
      next
    )
  }
}

const contexts = [
  { size: "1 KiB", bytes: 1024 },
  { size: "16 KiB", bytes: 16_384 }
]

/** The same cluster through a store with its defaults, one that sends each commit by itself, and one that sends each read by itself. */
interface Stores {
  readonly client: RqliteClient.RqliteClient
  /** How many bytes were sent to be written so far. */
  readonly sent: { bytes: number }
  readonly grouped: ExecutionStore
  readonly single: ExecutionStore
  readonly unbatched: ExecutionStore
}

const stores = Effect.gen(function* () {
  const sent = { bytes: 0 }
  const options = yield* RqliteClient.config
  const http = Effect.map(HttpClient.HttpClient, counting(sent))
  const client = yield* Effect.provideServiceEffect(RqliteClient.make(options), HttpClient.HttpClient, http)
  const drops = yield* tables.drops(prefix)
  yield* Effect.addFinalizer(() => Effect.ignoreLogged(client.execute(drops.map((sql) => ({ sql })))))
  const onClient = Layer.succeed(RqliteClient.RqliteClient, client)
  const storeWith = (options: RqliteStore.StoreOptions) =>
    Effect.map(
      Layer.build(Layer.provide(RqliteStore.layerFromClient({ ...options, prefix }), onClient)),
      Context.get(ExecutionStore)
    )
  const grouped = yield* storeWith({})
  const single = yield* storeWith({ groupCommit: false })
  const unbatched = yield* SqlDriver.make(plainDriver(client), { prefix })
  return { client, sent, grouped, single, unbatched }
})

const figure = (of: Omit<Parameters<typeof Figure.make>[0], "topic">): Figure.Figure => Figure.make({ topic, ...of })

const rates = <K extends string>(round: Readonly<Record<"grouped" | K, measure.Sample>>, baseline: K) => ({
  value: measure.rate(round.grouped),
  baseline: measure.rate(round[baseline])
})

const commitFigures = ({ client, grouped, single }: Stores, { rounds, seconds }: Settings) => {
  const of = ({ bytes, size }: (typeof contexts)[number], writers: number) =>
    Effect.gen(function* () {
      const options = { writers, bytes }
      const shared = commits(through(grouped), options)
      const alone = commits(through(single), options)
      const first = commits(naive(client), options)
      const measured = yield* measure.rounds(
        rounds,
        Effect.all({ grouped: shared(seconds), single: alone(seconds), naive: first(seconds) })
      )
      const name = `commits, ${size} of context, ${writers} ${writers === 1 ? "writer" : "writers"}`
      const target = writers === 64 && bytes === 1024 ? Figure.atLeast(2) : undefined
      const besideAlone = measured.map((round) => rates(round, "single"))
      const besideFirst = measured.map((round) => rates(round, "naive"))
      return [
        figure({ name, unit: "/s", against: "a request for each commit", rounds: besideAlone, target }),
        figure({ name, unit: "/s", against: "a request for each, naive statements", rounds: besideFirst })
      ]
    })
  const runs = contexts.flatMap((context) => [1, 8, 64].map((writers) => of(context, writers)))
  return Effect.map(Effect.all(runs), (figures) => figures.flat())
}

const sizeFigures = ({ client, sent, single }: Stores) => {
  const of = (kind: string, context: Execution.Execution["context"], form: string, step: Step<unknown>) =>
    Effect.gen(function* () {
      const before = sent.bytes
      const execution = { ...order.make(`sent ${kind}${form}`), context }
      yield* step(execution, `sent${form}`)
      const value = sent.bytes - before
      const sql = `SELECT LENGTH(CAST(data AS BLOB)) FROM ${prefix}executions WHERE id = ?`
      const [stored] = yield* client.query([{ sql, params: [execution.id] }])
      const rounds = [{ value, baseline: Number(stored?.values[0]?.[0]) }]
      return figure({
        name: `sent for a commit, ${kind}${form}`,
        unit: "bytes",
        against: "the execution's JSON",
        rounds
      })
    })
  const text = { text: "The parcel is to be left at the door. ".repeat(432) }
  const fields = order.contextOf(16_384)
  return Effect.all([
    of("16 KiB of text", text, "", through(single)),
    of("16 KiB of text", text, ", naive statements", naive(client)),
    of("16 KiB of small fields", fields, "", through(single)),
    of("16 KiB of small fields", fields, ", naive statements", naive(client))
  ])
}

const readFigures = ({ grouped, unbatched }: Stores, { rounds, seconds }: Settings) =>
  Effect.gen(function* () {
    const ids = measure.range(64).map((i) => `read-${i}`)
    yield* Effect.forEach(ids, (id) => grouped.save(order.make(id)), { concurrency: "unbounded", discard: true })
    const reads = (store: ExecutionStore, fibers: number) =>
      measure.loop(fibers, seconds, (fiber) =>
        Effect.filterOrFail(
          store.loadForEvent(ids[fiber] ?? "none", "e"),
          ({ execution }) => Option.isSome(execution),
          () => "it is gone"
        )
      )
    return yield* Effect.forEach([1, 8, 64], (fibers) =>
      Effect.map(
        measure.rounds(rounds, Effect.all({ grouped: reads(grouped, fibers), single: reads(unbatched, fibers) })),
        (measured) =>
          figure({
            name: `loadForEvent, ${fibers} ${fibers === 1 ? "fiber" : "fibers"}`,
            unit: "/s",
            against: "a request for each read",
            rounds: measured.map((round) => rates(round, "single")),
            target: fibers === 64 ? Figure.atLeast(3) : undefined
          })
      )
    )
  })

export const rqlite: Topic = (settings) =>
  Effect.gen(function* () {
    const opened = yield* stores
    yield* commits(through(opened.grouped), { writers: 64 })(settings.warmUp)
    const written = yield* commitFigures(opened, settings)
    const sizes = yield* sizeFigures(opened)
    return [...written, ...sizes, ...(yield* readFigures(opened, settings))]
  }).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici))
