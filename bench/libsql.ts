/**
 * What a commit costs on libSQL, in commits a second and requests a commit, beside the interactive transaction that one would write first.
 *
 *   npx vite-node --config vitest.config.ts bench/libsql.ts [seconds a figure]
 *   LIBSQL_URL=http://127.0.0.1:8080 LIBSQL_AUTH_TOKEN=... npx vite-node --config vitest.config.ts bench/libsql.ts
 *
 * Without a URL there is only the file. On a server it writes into tables of a prefix of its own, which it removes. Rates differ between
 * machines and moments; look at the ratios.
 */
import { randomBytes } from "node:crypto"
import { FileSystem } from "@effect/platform"
import { NodeContext, NodeRuntime } from "@effect/platform-node"
import { type Client, createClient, type InValue } from "@libsql/client"
import * as Clock from "effect/Clock"
import * as Config from "effect/Config"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as LibsqlStore from "holdfast/LibsqlStore"

const seconds = Number(process.argv[2] ?? "1")
const rounds = 3
const prefix = `b${randomBytes(8).toString("hex")}_`
const unbounded = { concurrency: "unbounded" } as const

const context = { text: "The parcel is to be left at the door. ".repeat(27) }

const happened = (id: string, target: string): Commit.Emit => ({
  targetId: target,
  event: Event.make({ id, kind: "OrderPlaced", data: { order: target } })
})

/** Two emits, a processed event, a timer and a trace step. */
const sideWrites = (id: string) => ({
  emits: [happened(`${id}-1`, "stock"), happened(`${id}-2`, "mail")],
  processed: id,
  timers: [Commit.scheduleTimer("payment", 1_790_000_000)],
  trace: Commit.traceStep({ eventKind: "Placed", fromPath: "New", toPath: "Waiting", timestamp: 1_790_000_000 })
})

/** Counts the requests of this process. */
const requests = { count: 0 }
const plainFetch = globalThis.fetch
globalThis.fetch = (...args) => {
  requests.count++
  return plainFetch(...args)
}

type Step = (execution: Execution.Execution, id: string) => Effect.Effect<Execution.Execution, unknown>

/** The commit that one would write first: a transaction that reads the version, decides, and writes one thing after the other. */
const interactive =
  (client: Client): Step =>
  (execution, id) =>
    Effect.tryPromise(async () => {
      const transaction = await client.transaction("write")
      try {
        const run = (sql: string, ...args: Array<InValue>) => transaction.execute({ sql, args })
        const { emits, processed, trace } = sideWrites(id)
        const { rows } = await run(`SELECT version FROM ${prefix}executions WHERE id = ?`, execution.id)
        if (Number(rows[0]?.[0] ?? 0) !== execution.version) throw new Error("somebody was faster")
        const next = { ...execution, version: execution.version + 1 }
        await run(
          `INSERT OR REPLACE INTO ${prefix}executions (id, definition_id, data, version) VALUES (?, ?, ?, ?)`,
          ...[execution.id, execution.definitionId, JSON.stringify(next), next.version]
        )
        for (const { event, targetId } of emits) {
          await run(`INSERT INTO ${prefix}outbox (target_id, event) VALUES (?, ?)`, targetId, JSON.stringify(event))
        }
        await run(
          `INSERT OR IGNORE INTO ${prefix}processed_events (execution_id, event_id) VALUES (?, ?)`,
          ...[execution.id, processed]
        )
        await run(
          `INSERT OR REPLACE INTO ${prefix}timers (execution_id, path, fire_at) VALUES (?, ?, ?)`,
          ...[execution.id, "payment", 1_790_000_000]
        )
        await run(
          `INSERT INTO ${prefix}trace (execution_id, idx, entry) SELECT ?, COALESCE((SELECT MAX(idx) FROM ${prefix}trace WHERE execution_id = ?), -1) + 1, ?`,
          ...[execution.id, execution.id, JSON.stringify(trace)]
        )
        await run(
          `DELETE FROM ${prefix}trace WHERE execution_id = ? AND idx <= (SELECT MAX(idx) FROM ${prefix}trace WHERE execution_id = ?) - 200`,
          ...[execution.id, execution.id]
        )
        await transaction.commit()
        return next
      } finally {
        transaction.close()
      }
    })

/** How often a second the writers take a step, and how many requests each of them is. */
const measure = (step: Step, writers: number, run: string) =>
  Effect.gen(function* () {
    const start = yield* Clock.currentTimeMillis
    const end = start + seconds * 1000
    const before = requests.count
    let done = 0
    yield* Effect.forEach(
      Array.from({ length: writers }, (_, writer) => `${run}-${writer}`),
      (id) =>
        Effect.gen(function* () {
          let execution = Execution.make({ id, definitionId: "order", status: "RUNNING", context })
          for (let n = 0; (yield* Clock.currentTimeMillis) < end; n++) {
            execution = yield* step(execution, `${id}-${n}`)
            done++
          }
        }),
      unbounded
    )
    const took = (yield* Clock.currentTimeMillis) - start
    return { rate: (done * 1000) / took, requests: (requests.count - before) / done }
  })

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

let runs = 0

/** Measures the forms in turns, so that what slows the machine down slows each of them. */
const compare = (title: string, forms: Readonly<Record<string, Step>>, writers: number) =>
  Effect.gen(function* () {
    const measured = Object.entries(forms).map(([name, step]) => ({ name, step, rates: [0], requests: 0 }))
    for (let round = 0; round <= rounds; round++) {
      for (const form of measured) {
        const figures = yield* measure(form.step, writers, String(runs++))
        form.requests = figures.requests
        // The first round only warms up.
        if (round === 0) form.rates = []
        else form.rates.push(figures.rate)
      }
    }
    const least = median(measured.at(-1)?.rates ?? [1])
    yield* Console.log(`\n${title}, ${writers} ${writers === 1 ? "writer" : "writers"}`)
    for (const { name, rates, requests } of measured) {
      const rate = Math.round(median(rates)).toString().padStart(7)
      const ratio = (median(rates) / least).toFixed(2)
      yield* Console.log(`  ${name.padEnd(26)} ${rate}/s  x${ratio.padEnd(6)} ${requests.toFixed(2)} requests a commit`)
    }
  })

const step =
  ({ store }: LibsqlStore.LibsqlStore): Step =>
  (execution, id) =>
    Effect.map(store.commit(execution, sideWrites(id)), (committed) => committed.execution)

const onFile = Effect.gen(function* () {
  const directory = yield* Effect.flatMap(FileSystem.FileSystem, (fs) => fs.makeTempDirectoryScoped())
  const url = `file:${directory}/bench.db`
  const grouped = yield* LibsqlStore.make({ url, prefix })
  const single = yield* LibsqlStore.make({ url, prefix, groupCommit: false })
  const client = createClient({ url })
  yield* Effect.addFinalizer(() => Effect.sync(() => client.close()))
  // A second transaction would fail at once, the first one's lock in its way.
  const turn = yield* Effect.makeSemaphore(1)
  const alone: Step = (execution, id) => turn.withPermits(1)(interactive(client)(execution, id))
  const forms = { "group commit": step(grouped), "a batch": step(single), "interactive transaction": alone }
  for (const writers of [1, 32]) yield* compare("a file", forms, writers)
})

const onServer = (url: string, authToken: Redacted.Redacted | undefined) =>
  Effect.gen(function* () {
    const grouped = yield* LibsqlStore.make({ url, authToken, prefix })
    const single = yield* LibsqlStore.make({ url, authToken, prefix, groupCommit: false })
    const client = createClient({
      url,
      fetch: (request: Request) => globalThis.fetch(request),
      ...(authToken === undefined ? {} : { authToken: Redacted.value(authToken) })
    })
    const names = ["holdfast_meta", "holdfast_listing", "executions", "outbox", "processed_events", "timers", "spawns"]
    yield* Effect.addFinalizer(() =>
      Effect.promise(() =>
        client.batch(
          [...names, "trace", "definitions"].map((name) => `DROP TABLE IF EXISTS ${prefix}${name}`),
          "write"
        )
      )
    )
    const forms = {
      "group commit": step(grouped),
      "a batch": step(single),
      "interactive transaction": interactive(client)
    }
    for (const writers of [1, 8, 32]) yield* compare("a server", forms, writers)
  })

const program = Effect.gen(function* () {
  yield* Effect.scoped(onFile)
  const url = yield* Config.option(Config.string("LIBSQL_URL"))
  const authToken = Option.getOrUndefined(yield* Config.option(Config.redacted("LIBSQL_AUTH_TOKEN")))
  if (Option.isSome(url)) yield* Effect.scoped(onServer(url.value, authToken))
})

NodeRuntime.runMain(Effect.provide(program, NodeContext.layer))
