/**
 * What a commit and a read cost on a cluster of rqlite nodes, each form beside the naive one in the same run.
 *
 *   RQLITE_URL=http://127.0.0.1:4001 npx vite-node --config vitest.config.ts bench/rqlite.ts [seconds a figure]
 *
 * It writes there: into tables of a prefix of its own, which it removes. Rates differ between machines and moments; look at the ratios.
 */
import { randomBytes } from "node:crypto"
import * as HttpClient from "@effect/platform/HttpClient"
import { NodeHttpClient, NodeRuntime } from "@effect/platform-node"
import * as Clock from "effect/Clock"
import * as Console from "effect/Console"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as RqliteClient from "holdfast/RqliteClient"
import * as RqliteStore from "holdfast/RqliteStore"
import * as SqlDriver from "holdfast/SqlDriver"

const seconds = Number(process.argv[2] ?? "1")
const rounds = 3
const prefix = `b${randomBytes(8).toString("hex")}_`
const unbounded = { concurrency: "unbounded" } as const

/** An order whose items make up `bytes` of JSON. */
const contextOf = (bytes: number) => {
  const items: Array<Readonly<Record<string, string | number>>> = []
  while (JSON.stringify(items).length < bytes) {
    const sku = `A-${1000 + items.length}`
    items.push({ sku, quantity: 1 + (items.length % 3), note: "to be left at the door on the second floor" })
  }
  return { items }
}

const happened = (id: string, target: string): Commit.Emit => ({
  targetId: target,
  event: Event.make({ id, kind: "OrderPlaced", data: { order: target } })
})

/** Two emits, a processed event, a timer and a trace step. */
const sideWrites = (id: string): Commit.Commit => ({
  emits: [happened(`${id}-1`, "stock"), happened(`${id}-2`, "mail")],
  processed: id,
  timers: [Commit.scheduleTimer("payment", 1_790_000_000)],
  trace: Commit.traceStep({ eventKind: "Placed", fromPath: "New", toPath: "Waiting", timestamp: 1_790_000_000 })
})

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
const naive = (client: RqliteClient.RqliteClient) => {
  const guard = `EXISTS (SELECT 1 FROM ${prefix}executions WHERE id = ? AND data = ?)`
  return (execution: Execution.Execution, id: string) => {
    const next = { ...execution, version: execution.version + 1 }
    const data = JSON.stringify(next)
    const beside = [
      ...(sideWrites(id).emits ?? []).map((emit) => ({
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
        params: [execution.id, execution.id, JSON.stringify(sideWrites(id).trace)]
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

type Step = (execution: Execution.Execution, id: string) => Effect.Effect<Execution.Execution, unknown>

/** How often a second `writers` fibers run their steps. */
const rate = (fibers: number, run: (fiber: number, n: number) => Effect.Effect<unknown, unknown>) =>
  Effect.gen(function* () {
    const start = yield* Clock.currentTimeMillis
    const end = start + seconds * 1000
    let done = 0
    yield* Effect.forEach(
      Array.from({ length: fibers }, (_, fiber) => fiber),
      (fiber) =>
        Effect.gen(function* () {
          for (let n = 0; (yield* Clock.currentTimeMillis) < end; n++) {
            yield* run(fiber, n)
            done++
          }
        }),
      unbounded
    )
    return (done * 1000) / ((yield* Clock.currentTimeMillis) - start)
  })

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** Measures the forms in turns, so that what slows the machine down slows each of them. */
const compare = <E>(
  title: string,
  forms: Readonly<Record<string, Effect.Effect<number, E>>>,
  unit: string
): Effect.Effect<void, E> =>
  Effect.gen(function* () {
    const rates = new Map<string, Array<number>>(Object.keys(forms).map((name) => [name, []]))
    for (let round = 0; round <= rounds; round++) {
      for (const [name, run] of Object.entries(forms)) {
        const measured = yield* run
        // The first round only warms up.
        if (round > 0) rates.get(name)?.push(measured)
      }
    }
    const medians = Array.from(rates, ([name, values]) => ({ name, rate: median(values) }))
    const least = medians.at(-1)?.rate ?? 1
    yield* Console.log(`\n${title}`)
    for (const { name, rate } of medians) {
      const ratio = (rate / least).toFixed(2)
      yield* Console.log(`  ${name.padEnd(44)} ${Math.round(rate).toString().padStart(7)} ${unit}  x${ratio}`)
    }
  })

const names = ["holdfast_meta", "holdfast_listing", "executions", "outbox", "processed_events", "timers", "spawns"]
const tables = [...names, "trace", "definitions"].map((name) => prefix + name)

const program = Effect.gen(function* () {
  const sent = { bytes: 0 }
  const options = yield* RqliteClient.config
  const http = Effect.map(HttpClient.HttpClient, counting(sent))
  const client = yield* Effect.provideServiceEffect(RqliteClient.make(options), HttpClient.HttpClient, http)
  const onClient = Layer.succeed(RqliteClient.RqliteClient, client)
  const storeWith = (options: RqliteStore.StoreOptions) =>
    Effect.map(
      Layer.build(Layer.provide(RqliteStore.layerClient({ ...options, prefix }), onClient)),
      Context.get(ExecutionStore)
    )
  yield* Effect.addFinalizer(() =>
    Effect.ignoreLogged(client.execute(tables.map((table) => ({ sql: `DROP TABLE IF EXISTS ${table}` }))))
  )
  const grouped = yield* storeWith({})
  const single = yield* storeWith({ groupCommit: false })
  const unbatched = yield* SqlDriver.make(plainDriver(client), { prefix })

  const step =
    (store: typeof grouped): Step =>
    (execution, id) =>
      Effect.map(store.commit(execution, sideWrites(id)), (committed) => committed.execution)
  const first: Step = naive(client)

  let runs = 0
  const commits = (step: Step, writers: number, bytes: number) =>
    Effect.suspend(() => {
      const run = runs++
      const context = contextOf(bytes)
      const current = Array.from({ length: writers }, (_, writer) =>
        Execution.make({ id: `${run}-${writer}`, definitionId: "order", status: "RUNNING", context })
      )
      return rate(writers, (writer, n) =>
        Effect.map(
          step(current[writer] ?? Execution.make({ id: "", definitionId: "" }), `${run}-${writer}-${n}`),
          (next) => {
            current[writer] = next
          }
        )
      )
    })

  yield* Console.log("bytes sent for a commit (2 emits, 1 processed id, 1 timer, 1 trace step)")
  for (const [kind, context] of [
    ["16 KiB of text", { text: "The parcel is to be left at the door. ".repeat(432) }],
    ["16 KiB of small fields", contextOf(16_384)]
  ] as const) {
    for (const [form, take] of [
      ["one statement a kind", step(single)],
      ["naive statements", first]
    ] as const) {
      const before = sent.bytes
      const execution = yield* take(Execution.make({ id: `${kind} ${form}`, definitionId: "order", context }), form)
      const bytes = sent.bytes - before
      const stored = yield* client.query([
        { sql: `SELECT data FROM ${prefix}executions WHERE id = ?`, params: [execution.id] }
      ])
      const ratio = (bytes / Buffer.byteLength(String(stored[0]?.values[0]?.[0]))).toFixed(2)
      yield* Console.log(
        `  ${`${kind}, ${form}`.padEnd(44)} ${bytes.toString().padStart(7)}     x${ratio} of the execution`
      )
    }
  }

  for (const [size, bytes] of [
    ["1 KiB", 1024],
    ["16 KiB", 16_384]
  ] as const) {
    for (const writers of [1, 8, 64]) {
      yield* compare(
        `commits a second, ${size} of context, ${writers} writers`,
        {
          "group commit": commits(step(grouped), writers, bytes),
          "a request for each commit": commits(step(single), writers, bytes),
          "a request for each commit, naive statements": commits(first, writers, bytes)
        },
        "/s"
      )
    }
  }

  const ids = Array.from({ length: 64 }, (_, i) => `read-${i}`)
  yield* Effect.forEach(
    ids,
    (id) => grouped.save(Execution.make({ id, definitionId: "order", context: contextOf(1024) })),
    unbounded
  )
  const reads = (store: typeof grouped, fibers: number) =>
    rate(fibers, (fiber) =>
      Effect.filterOrDieMessage(
        store.loadForEvent(ids[fiber] ?? "", "e"),
        ({ execution }) => Option.isSome(execution),
        "it is gone"
      )
    )
  for (const fibers of [1, 8, 64]) {
    yield* compare(
      `loadForEvent a second, 1 KiB of context, ${fibers} fibers`,
      {
        "reads of a moment share a request": reads(grouped, fibers),
        "a request for each read": reads(unbatched, fibers)
      },
      "/s"
    )
  }
}).pipe(Effect.scoped, Effect.provide(NodeHttpClient.layerUndici))

NodeRuntime.runMain(program)
