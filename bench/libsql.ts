/**
 * What commits cost on libSQL beside the interactive transaction that one would write first: on a file, and on a server (`LIBSQL_URL`,
 * `LIBSQL_AUTH_TOKEN`), where it writes into tables of a prefix of its own, which it removes.
 */
import { randomBytes } from "node:crypto"
import { type Client, createClient, type InValue } from "@libsql/client"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as Figure from "./internal/figure.js"
import * as measure from "./internal/measure.js"
import * as order from "./internal/order.js"
import { databaseFile, type Settings, type Topic } from "./internal/settings.js"
import * as tables from "./internal/tables.js"
import { commits, type Step, through } from "./internal/writers.js"

const prefix = `b${randomBytes(8).toString("hex")}_`

/** The commit that one would write first: a transaction that reads the version, decides, and writes one thing after the other. */
const interactive =
  (client: Client): Step<unknown> =>
  (execution, id) =>
    Effect.tryPromise(async () => {
      const transaction = await client.transaction("write")
      try {
        const run = (sql: string, ...args: Array<InValue>) => transaction.execute({ sql, args })
        const { emits, processed, trace } = order.sideWrites(id)
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

/** How many requests this process has made. */
const requests = { count: 0 }

const countRequests = Effect.acquireRelease(
  Effect.sync(() => {
    const plain = globalThis.fetch
    globalThis.fetch = (...args) => {
      requests.count++
      return plain(...args)
    }
    return plain
  }),
  (plain) =>
    Effect.sync(() => {
      globalThis.fetch = plain
    })
)

/** A sample, and how many requests each commit was. */
const counted = <E>(run: Effect.Effect<measure.Sample, E>) =>
  Effect.suspend(() => {
    const before = requests.count
    return Effect.map(run, (sample) => ({ ...sample, requests: (requests.count - before) / sample.count }))
  })

/**
 * - `writers`: with how many it is done. Many that do not share requests are not for a server: one of version 0.24 was seen to stand still
 *   then, each of its threads waiting for its own lock.
 */
interface Forms {
  readonly grouped: ExecutionStore
  readonly single: ExecutionStore
  readonly first: Step<unknown>
  readonly writers: ReadonlyArray<number>
}

const compare = (settings: Settings, topic: string, { first, grouped, single, writers: cases }: Forms) =>
  Effect.gen(function* () {
    yield* commits(through(grouped), { writers: 64 })(settings.warmUp)
    const figures: Array<Figure.Figure> = []
    for (const writers of cases) {
      const shared = commits(through(grouped), { writers })
      const alone = commits(through(single), { writers })
      const byHand = commits(first, { writers })
      const { seconds } = settings
      const rounds = yield* measure.rounds(
        settings.rounds,
        Effect.all({
          grouped: counted(shared(seconds)),
          single: counted(alone(seconds)),
          interactive: counted(byHand(seconds))
        })
      )
      const name = `commits, ${writers} ${writers === 1 ? "writer" : "writers"}`
      for (const [baseline, against] of [
        ["single", "a batch for each commit"],
        ["interactive", "an interactive transaction each"]
      ] as const) {
        const pairs = rounds.map((round) => ({
          value: measure.rate(round.grouped),
          baseline: measure.rate(round[baseline])
        }))
        figures.push(Figure.make({ topic, name, unit: "/s", against, rounds: pairs }))
        const asked = rounds.map((round) => ({ value: round.grouped.requests, baseline: round[baseline].requests }))
        if (asked.every((round) => round.value > 0)) {
          figures.push(Figure.make({ topic, name: `${name}, each`, unit: "requests", against, rounds: asked }))
        }
      }
    }
    return figures
  })

const connect = (options: Parameters<typeof createClient>[0]) =>
  Effect.acquireRelease(
    Effect.sync(() => createClient(options)),
    (client) => Effect.sync(() => client.close())
  )

export const libsqlFile: Topic = (settings) =>
  Effect.gen(function* () {
    const url = `file:${yield* databaseFile(settings)}`
    const { store: grouped } = yield* LibsqlStore.make({ url, prefix })
    const { store: single } = yield* LibsqlStore.make({ url, prefix, groupCommit: false })
    const client = yield* connect({ url })
    // A second transaction would fail at once, the first one's lock in its way.
    const turn = yield* Effect.makeSemaphore(1)
    const alone = interactive(client)
    const first: Step<unknown> = (execution, id) => turn.withPermits(1)(alone(execution, id))
    return yield* compare(settings, "libSQL, a file", { grouped, single, first, writers: [1, 8, 64] })
  }).pipe(Effect.scoped)

export const libsql: Topic = (settings) =>
  Effect.gen(function* () {
    const url = yield* Config.string("LIBSQL_URL")
    const authToken = Option.getOrUndefined(yield* Config.option(Config.redacted("LIBSQL_AUTH_TOKEN")))
    yield* countRequests
    const client = yield* connect({
      url,
      fetch: (request: Request) => globalThis.fetch(request),
      ...(authToken === undefined ? {} : { authToken: Redacted.value(authToken) })
    })
    const drops = yield* tables.drops(prefix)
    yield* Effect.addFinalizer(() => Effect.ignoreLogged(Effect.tryPromise(() => client.batch([...drops], "write"))))
    const { store: grouped } = yield* LibsqlStore.make({ url, authToken, prefix })
    const { store: single } = yield* LibsqlStore.make({ url, authToken, prefix, groupCommit: false })
    return yield* compare(settings, "libSQL, a server", {
      grouped,
      single,
      first: interactive(client),
      writers: [1, 8]
    })
  }).pipe(Effect.scoped)
