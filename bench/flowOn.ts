/**
 * Events end to end on the other databases: on a libSQL file, on a server of libSQL (`LIBSQL_URL`) and on a cluster of rqlite
 * (`RQLITE_URL`), each beside an SQLite file in the same run. On servers it writes into tables of a prefix of its own, which it removes.
 */
import { randomBytes } from "node:crypto"
import type { CommandExecutor } from "@effect/platform/CommandExecutor"
import type * as FileSystem from "@effect/platform/FileSystem"
import * as HttpClient from "@effect/platform/HttpClient"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as Config from "effect/Config"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as RqliteClient from "holdfast/RqliteClient"
import * as RqliteStore from "holdfast/RqliteStore"
import * as Figure from "./internal/figure.js"
import * as measure from "./internal/measure.js"
import * as runtimeRounds from "./internal/runtimeRounds.js"
import { databaseFile, type Settings, type Topic } from "./internal/settings.js"
import * as tables from "./internal/tables.js"

const topic = "Events end to end on other databases; 64 executions side by side"
const prefix = `f${randomBytes(8).toString("hex")}_`

/** A store, and how many requests it has sent so far; none where it sends none. */
interface Opened {
  readonly store: ExecutionStore
  readonly requests: (() => number) | undefined
}

const options = { transition: (execution: runtimeRounds.Given) => Effect.succeed({ execution }), commits: 1 }

const compare = (settings: Settings, name: string, { requests = () => 0, store }: Opened) =>
  Effect.gen(function* () {
    const { round: other } = yield* runtimeRounds.on(store, options)
    const { round: file } = yield* runtimeRounds.make(settings, "full", options)
    yield* other(settings.warmUp)
    yield* file(settings.warmUp / 2)
    const counted = Effect.suspend(() => {
      const before = requests()
      return Effect.map(other(settings.seconds), (sample) => ({ ...sample, requests: requests() - before }))
    })
    const rounds = yield* measure.rounds(settings.rounds, Effect.all({ other: counted, file: file(settings.seconds) }))
    const figure = (what: string, unit: string, of: (sample: measure.Sample) => number) =>
      Figure.make({
        topic,
        name: `${name}${what}`,
        unit,
        against: "an SQLite file, FULL",
        rounds: rounds.map((round) => ({ value: of(round.other), baseline: of(round.file) }))
      })
    const sent = Figure.make({
      topic,
      name: `${name}, requests for a hundred events`,
      unit: "",
      against: "one for each",
      rounds: rounds.map((round) => ({ value: (100 * round.other.requests) / round.other.count, baseline: 100 }))
    })
    const figures = [figure("", "/s", measure.rate), figure(", processor", "us", measure.cpuMicros)]
    return rounds.some((round) => round.other.requests > 0) ? [...figures, sent] : figures
  })

type Opening = Effect.Effect<Opened, unknown, Scope.Scope | FileSystem.FileSystem | CommandExecutor>

const through =
  (name: string, open: (settings: Settings) => Opening): Topic =>
  (settings) =>
    Effect.scoped(Effect.flatMap(open(settings), (opened) => compare(settings, name, opened)))

export const flowLibsqlFile = through("libSQL, a file", (settings) =>
  Effect.gen(function* () {
    const { store } = yield* LibsqlStore.make({ url: `file:${yield* databaseFile(settings)}` })
    return { store, requests: undefined }
  })
)

/** Counts the requests of this process by `fetch`. */
const countFetches = Effect.acquireRelease(
  Effect.sync(() => {
    const plain = globalThis.fetch
    const counted = { requests: 0, plain }
    globalThis.fetch = (...args) => {
      counted.requests++
      return plain(...args)
    }
    return counted
  }),
  ({ plain }) =>
    Effect.sync(() => {
      globalThis.fetch = plain
    })
)

export const flowLibsql = through("libSQL, a server", () =>
  Effect.gen(function* () {
    const url = yield* Config.string("LIBSQL_URL")
    const authToken = Option.getOrUndefined(yield* Config.option(Config.redacted("LIBSQL_AUTH_TOKEN")))
    const counted = yield* countFetches
    const { client, store } = yield* LibsqlStore.make({ url, authToken, prefix })
    const drops = yield* tables.drops(prefix)
    yield* Effect.addFinalizer(() => Effect.ignoreLogged(Effect.tryPromise(() => client.batch([...drops], "write"))))
    return { store, requests: () => counted.requests }
  })
)

export const flowRqlite = through("rqlite", () =>
  Effect.gen(function* () {
    const counted = { requests: 0 }
    const counting = HttpClient.mapRequestEffect((request) =>
      Effect.sync(() => {
        counted.requests++
        return request
      })
    )
    // It is open for as long as the scope of the topic is.
    const plain = Context.get(yield* Layer.build(NodeHttpClient.layerUndici), HttpClient.HttpClient)
    const made = RqliteClient.make(yield* RqliteClient.config)
    const client = yield* Effect.provideService(made, HttpClient.HttpClient, counting(plain))
    const drops = yield* tables.drops(prefix)
    yield* Effect.addFinalizer(() => Effect.ignoreLogged(client.execute(drops.map((sql) => ({ sql })))))
    const onClient = Layer.succeed(RqliteClient.RqliteClient, client)
    const built = yield* Layer.build(Layer.provide(RqliteStore.layerFromClient({ prefix }), onClient))
    return { store: Context.get(built, ExecutionStore), requests: () => counted.requests }
  })
)
