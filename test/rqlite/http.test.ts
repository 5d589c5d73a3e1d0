import { NodeHttpClient } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as RqliteStore from "holdfast/RqliteStore"
import { emit, everything, order, step } from "../../src/testing/internal/samples.js"
import { node } from "../support/rqlite/cluster.js"
import * as RqliteServer from "../support/rqlite/server.js"

const unbounded = { concurrency: "unbounded" } as const

/** A store over real HTTP, whose client tries again at once. */
const open = (urls: ReadonlyArray<string>, options: Partial<RqliteStore.Options> = {}) =>
  RqliteStore.layer({ urls, retry: Schedule.recurs(5), ...options }).pipe(
    Layer.provide(NodeHttpClient.layerUndici),
    Layer.build,
    Effect.map(Context.get(ExecutionStore))
  )

const count = (server: RqliteServer.RqliteServer, table: string) =>
  Effect.map(server.rows(`SELECT count(*) FROM ${table}`), ([row]) => row?.[0])

const noLeader = { apply: 0, answer: { status: 503, body: "leader not found\n", genuine: true } } as const

describe("a commit", () => {
  it.scoped("that was applied before the server cut the connection is one success and one event", () =>
    Effect.gen(function* () {
      const server = yield* RqliteServer.make()
      const store = yield* open(server.urls)
      for (const [n, answer] of (["drop", "half"] as const).entries()) {
        yield* server.inject({ path: "/db/execute", answer })
        const { execution, seqs } = yield* store.commit(order(`a${n}`), everything(`e${n}`))
        expect([execution.version, seqs]).toEqual([1, [n + 1]])
        expect(yield* store.load(`a${n}`)).toEqual(Option.some(execution))
      }
      for (const table of ["executions", "outbox", "spawns", "timers", "trace", "processed_events"]) {
        expect(yield* count(server, table)).toBe(2)
      }
    })
  )

  it.scoped("that the server did not get before it cut the connection is one success and one event too", () =>
    Effect.gen(function* () {
      const server = yield* RqliteServer.make()
      const store = yield* open(server.urls)
      yield* server.inject({ path: "/db/execute", apply: 0, answer: "drop" })
      const { seqs } = yield* store.commit(order("a"), { emits: [emit("e"), emit("f")] })
      expect(seqs).toEqual([1, 2])
      expect(yield* count(server, "outbox")).toBe(2)
    })
  )

  it.scoped("succeeds after 503 and 503", () =>
    Effect.gen(function* () {
      const server = yield* RqliteServer.make()
      const store = yield* open(server.urls)
      yield* server.inject({ path: "/db/execute", times: 2, ...noLeader })
      const { execution } = yield* store.commit(order("a"), { emits: [emit("e")] })
      expect(execution.version).toBe(1)
      expect(yield* count(server, "outbox")).toBe(1)
    })
  )

  it.scoped("is unavailable, and no conflict, after 503 for ever", () =>
    Effect.gen(function* () {
      const server = yield* RqliteServer.make()
      const store = yield* open(server.urls)
      const saved = yield* store.save(order("a"))
      yield* server.inject({ times: Number.POSITIVE_INFINITY, ...noLeader })
      for (const execution of [saved, { ...saved, version: 7 }]) {
        expect(yield* Effect.flip(store.save(execution))).toMatchObject({
          _tag: "StoreUnavailable",
          reason: "no-leader",
          outcome: "not-applied"
        })
      }
    })
  )

  it.scoped("of which a statement in the middle fails is refused as a whole", () =>
    Effect.gen(function* () {
      const server = yield* RqliteServer.make()
      const store = yield* open(server.urls)
      const saved = yield* store.save(order("a"))
      // the answer of a node whose disk is full
      const body = '{"results":[{"last_insert_id":1,"rows_affected":1},{"error":"database or disk is full"}]}'
      yield* server.inject({ path: "/db/execute", apply: 0, answer: { status: 200, body, genuine: true } })
      const error = yield* Effect.flip(store.commit(saved, everything("e")))
      expect(error).toMatchObject({ _tag: "StoreRejected", operation: "commit", executionId: "a", reason: "disk-full" })
      expect(yield* store.load("a")).toEqual(Option.some(saved))
      expect(yield* count(server, "outbox")).toBe(0)
    })
  )

  it.scoped("carries a context of 5 MB, and reads of it share no request that would grow without bound", () =>
    Effect.gen(function* () {
      const server = yield* RqliteServer.make()
      const store = yield* open(server.urls, { maxContextBytes: 6_000_000 })
      const saved = yield* store.save(order("a", { context: { text: "x".repeat(5_000_000) } }))
      expect(yield* store.load("a")).toEqual(Option.some(saved))
      const before = (yield* server.received).length
      yield* Effect.forEach([1, 2, 3], () => store.load("a"), unbounded)
      const reads = (yield* server.received).slice(before)
      expect(reads).toHaveLength(3)
    })
  )
})

describe("a cluster", () => {
  const users = { app: { password: "p@ss:w/rd", permissions: ["all"] } }
  const credentials = { username: "app", password: Redacted.make("p@ss:w/rd") }

  it.scoped("is used though the first node is dead and the second one no leader", () =>
    Effect.gen(function* () {
      const server = yield* RqliteServer.make({ nodes: 3, users })
      yield* node(server, 0).stop
      yield* server.lead(2)
      const store = yield* open(server.urls, credentials)
      const { execution } = yield* store.commit(order("a"), everything("e"))
      expect(yield* store.load("a")).toEqual(Option.some(execution))
      expect(yield* count(server, "outbox")).toBe(1)
    })
  )

  it.scoped("whose leader moves and dies loses nothing and doubles nothing", () =>
    Effect.gen(function* () {
      const server = yield* RqliteServer.make({ nodes: 3 })
      const store = yield* open(server.urls)
      let execution = yield* store.save(order("a"))
      for (const round of [0, 1, 2, 3, 4, 5]) {
        const leader = round % 3
        yield* server.lead(leader)
        // in turn: it says goodbye, it cuts the connection with the work done, and without
        if (round % 3 !== 0)
          yield* server.inject({ path: "/db/execute", apply: round % 3 === 1 ? 1 : 0, answer: "drop" })
        if (round === 4) yield* node(server, 0).stop
        const committed = yield* store.commit(execution, { emits: [emit(`${round}`)], trace: step(`${round}`) })
        execution = committed.execution
      }
      expect(execution.version).toBe(7)
      const { entries } = yield* store.pendingOutbox()
      expect(entries.map(({ event }) => event.id)).toEqual(["0", "1", "2", "3", "4", "5"])
    })
  )

  it.scoped("answers a hundred fibers that read while others commit", () =>
    Effect.gen(function* () {
      const server = yield* RqliteServer.make({ nodes: 2 })
      const store = yield* open(server.urls)
      const saved = yield* Effect.forEach(["a", "b", "c"], (id) => store.save(order(id)))
      const reads = Effect.replicateEffect(store.load("a"), 50, unbounded)
      const [before, , after] = yield* Effect.all(
        [reads, Effect.forEach(saved, (execution) => store.commit(execution, everything("e")), unbounded), reads],
        unbounded
      )
      const versions = [...before, ...after].map((found) => Option.getOrThrow(found).version)
      expect(versions).toHaveLength(100)
      for (const version of versions) expect([1, 2]).toContain(version)
      expect(Option.getOrThrow(yield* store.load("a")).version).toBe(2)
    })
  )
})
