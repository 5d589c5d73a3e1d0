import { fileURLToPath } from "node:url"
import { NodeHttpClient } from "@effect/platform-node"
import { describe, expect, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Random from "effect/Random"
import type * as Scope from "effect/Scope"
import * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import { ExecutionStore } from "holdfast/ExecutionStore"
import * as LibsqlStore from "holdfast/LibsqlStore"
import * as RqliteStore from "holdfast/RqliteStore"
import * as SqliteStore from "holdfast/SqliteStore"
import { type Child, spawn } from "../support/childProcess.js"
import { extent, longer } from "../support/extent.js"
import * as RqliteServer from "../support/rqlite/server.js"
import * as temp from "../support/temp.js"

const python = process.env["HAREL_PYTHON"] ?? ""

const ids = ["order-1", "order-2", "order-3", "part-1", "Order-4"]
const eventIds = ["e0", "e1", "e2", "e3", "e4", "e5"]

/** What is done to a store, by either program. `version`: that of a stale copy, where it is one. */
interface Change {
  readonly id: string
  readonly definition: string
  readonly parent: string | null
  readonly version: number | null
  readonly status: Execution.Status
  readonly context: { readonly [key: string]: number | string | null | ReadonlyArray<number> }
  readonly active_path: string | null
  readonly now: number
  readonly emits: ReadonlyArray<
    readonly [
      target: string | null,
      event: { readonly id: string; readonly kind: string; readonly data: { readonly n: number } }
    ]
  >
  readonly processed: string | null
  readonly timers: ReadonlyArray<readonly [action: "schedule" | "cancel", path: string, fireAt: number]>
  readonly spawns: ReadonlyArray<readonly [child: string, root: string, context: { readonly n: number }]>
  readonly trace: { readonly [key: string]: unknown } | null
}

type Command =
  | ({ readonly do: "commit" } & Change)
  | { readonly do: "ack" | "ackSpawn"; readonly seq: number }
  | { readonly do: "deleteTimer"; readonly id: string; readonly path: string; readonly fireAt: number }
  | { readonly do: "purge"; readonly id: string; readonly version: number }

/** A program that has the store open. */
interface Program {
  readonly run: (command: Command) => Effect.Effect<unknown, unknown>
  readonly view: Effect.Effect<unknown, unknown>
}

const harel = (child: Child): Program => {
  const ask = (command: unknown) =>
    Effect.zipRight(
      child.send(JSON.stringify(command)),
      Effect.map(child.line, (line): unknown => JSON.parse(line))
    )
  return { run: ask, view: ask({ do: "view", ids, events: eventIds }) }
}

const commit = (store: ExecutionStore, change: Change) =>
  Effect.gen(function* () {
    const found = yield* store.load(change.id)
    const before = Option.getOrElse(found, () =>
      Execution.make({ id: change.id, definitionId: change.definition, parentId: change.parent })
    )
    const execution = {
      ...before,
      version: change.version ?? before.version,
      status: change.status,
      context: change.context,
      activePath: change.active_path
    }
    const { seqs } = yield* store.commit(execution, {
      emits: change.emits.map(([targetId, event]) => ({ targetId, event: Event.make(event) })),
      processed: change.processed ?? undefined,
      timers: change.timers.map(([action, path, fireAt]) =>
        action === "schedule" ? Commit.scheduleTimer(path, fireAt) : Commit.cancelTimer(path)
      ),
      spawns: change.spawns.map(([childId, rootPath, context]) => ({ childId, rootPath, context })),
      trace:
        change.trace === null
          ? undefined
          : Commit.traceStep({ eventKind: "Went", timestamp: change.now, contextOut: change.context })
    })
    return { seqs }
  }).pipe(
    Effect.catchTag("StoreConflict", ({ expected, found }) =>
      Effect.succeed({ expected, found: Option.getOrNull(found) })
    )
  )

const loaded = (execution: Execution.Execution) => ({
  id: execution.id,
  definition_id: execution.definitionId,
  status: execution.status,
  outcome: execution.outcome,
  error: execution.error,
  active_path: execution.activePath,
  history: execution.history,
  context: execution.context,
  processed_events: execution.processedEvents,
  version: execution.version,
  priority: execution.priority,
  parent_id: execution.parentId,
  child_id: execution.childId,
  created_at: execution.createdAt,
  updated_at: execution.updatedAt,
  finished_at: execution.finishedAt
})

const pages = (store: ExecutionStore, query: { readonly rootsOnly?: boolean; readonly definitionId?: string }) =>
  Effect.gen(function* () {
    const items: Array<unknown> = []
    let cursor: string | undefined
    do {
      const page = yield* store.listExecutions({ ...query, limit: 3, cursor })
      items.push(
        ...page.items.map((item) => [
          item.id,
          item.definitionId,
          item.status,
          item.activePath,
          item.version,
          item.parentId
        ])
      )
      cursor = Option.getOrUndefined(page.nextCursor)
    } while (cursor !== undefined)
    return items
  })

const holdfast = (store: ExecutionStore): Program => ({
  run: (command) => {
    switch (command.do) {
      case "commit":
        return commit(store, command)
      case "ack":
        return Effect.as(store.ackOutbox(command.seq), {})
      case "ackSpawn":
        return Effect.as(store.ackSpawn(command.seq), {})
      case "deleteTimer":
        return Effect.as(store.deleteTimer({ executionId: command.id, path: command.path, fireAt: command.fireAt }), {})
      case "purge":
        return Effect.map(store.purge(command.id, command.version), (purged) => ({ purged }))
    }
  },
  view: Effect.gen(function* () {
    const outbox = yield* store.pendingOutbox({ limit: 1000 })
    const spawns = yield* store.pendingSpawns({ limit: 1000 })
    const timers = yield* store.dueTimers(1e15, { limit: 1000 })
    expect([...outbox.corrupt, ...spawns.corrupt, ...timers.corrupt]).toEqual([])
    return {
      executions: yield* Effect.forEach(ids, (id) =>
        Effect.map(store.load(id), (found) => Option.getOrNull(Option.map(found, loaded)))
      ),
      list: yield* pages(store, {}),
      roots: yield* pages(store, { rootsOnly: true, definitionId: "order" }),
      outbox: outbox.entries.map(({ event: { data, id, kind }, seq, targetId }) => [seq, targetId, { id, kind, data }]),
      spawns: spawns.entries.map(({ childId, context, parentId, rootPath, seq }) => [
        seq,
        parentId,
        childId,
        rootPath,
        context
      ]),
      timers: timers.entries
        .toSorted((a, b) => (`${a.executionId} ${a.path}` < `${b.executionId} ${b.path}` ? -1 : 1))
        .map(({ executionId, fireAt, path }) => [executionId, path, fireAt]),
      processed: yield* Effect.forEach(ids, (id) => Effect.forEach(eventIds, (event) => store.isProcessed(id, event))),
      trace: yield* Effect.forEach(ids, (id) =>
        Effect.map(store.readTrace(id), ({ entries }) =>
          entries.map(({ contextOut, eventKind, index }) => [index, eventKind, contextOut])
        )
      ),
      // harel finds ids in other cases, too.
      prefix: [...(yield* store.idsWithPrefix("Order-")), ...(yield* store.idsWithPrefix("order-"))]
    }
  })
})

const pick = <A>(values: ReadonlyArray<A>, fallback: A) =>
  Effect.map(Random.nextIntBetween(0, values.length), (i) => values[i] ?? fallback)

const sometimes = (percent: number) => Effect.map(Random.nextIntBetween(0, 100), (n) => n < percent)

const change = (step: number) =>
  Effect.gen(function* () {
    const id = yield* pick(ids, "order-1")
    const n = yield* Random.nextIntBetween(0, 1000)
    const status = yield* pick<Execution.Status>(
      ["RUNNING", "RUNNING", "PENDING", "SUSPENDED", "FAILED", "DONE"],
      "RUNNING"
    )
    const context = { n, half: n / 8, text: `ü "${n}" 😀\u2028`, none: null, list: [n, -n], zero: 0 }
    const emits = (yield* Random.nextIntBetween(0, 3)) * ((yield* sometimes(60)) ? 1 : 0)
    const result: Change = {
      id,
      definition: id.startsWith("part") ? "part" : "order",
      parent: id === "part-1" ? "order-1" : null,
      version: (yield* sometimes(15)) ? yield* Random.nextIntBetween(0, 4) : null,
      status,
      context,
      active_path: (yield* sometimes(20)) ? null : `Work.${n % 3}`,
      now: 1_790_000_000 + step + 0.125,
      emits: Array.from({ length: emits }, (_, i) => [
        i === 0 ? id : null,
        { id: `emit-${step}-${i}`, kind: "Went", data: { n } }
      ]),
      processed: (yield* sometimes(50)) ? yield* pick(eventIds, "e0") : null,
      timers: (yield* sometimes(50))
        ? [["schedule", `t${n % 3}`, 1_790_000_000 + n / 4]]
        : [["cancel", `t${n % 3}`, 0]],
      spawns: (yield* sometimes(25)) ? [[`child-${step}`, "Root", { n }]] : [],
      trace: (yield* sometimes(50))
        ? {
            event_kind: "Went",
            event_data: {},
            from_path: null,
            to_path: null,
            actions: [],
            context_out: context,
            timestamp: 1_790_000_000 + step
          }
        : null
    }
    return result
  })

/** What can be done to what is there. */
const other = (store: ExecutionStore) =>
  Effect.gen(function* () {
    const outbox = yield* store.pendingOutbox({ limit: 1000 })
    const spawns = yield* store.pendingSpawns({ limit: 1000 })
    const timers = yield* store.dueTimers(1e15, { limit: 1000 })
    const executions = yield* store.listExecutions({ limit: 1000 })
    const commands: ReadonlyArray<Command> = [
      ...outbox.entries.map(({ seq }): Command => ({ do: "ack", seq })),
      ...spawns.entries.map(({ seq }): Command => ({ do: "ackSpawn", seq })),
      ...timers.entries.map(
        ({ executionId, fireAt, path }): Command => ({ do: "deleteTimer", id: executionId, path, fireAt })
      ),
      ...executions.items.map(({ id, version }): Command => ({ do: "purge", id, version })),
      { do: "ack", seq: 99_999 },
      { do: "deleteTimer", id: "order-1", path: "t0", fireAt: 1 },
      { do: "purge", id: "order-2", version: 77 }
    ]
    return yield* pick(commands, { do: "ack", seq: 99_999 })
  })

interface Backend {
  readonly kind: "sqlite" | "libsql" | "rqlite"
  readonly place: string
  readonly store: Effect.Effect<ExecutionStore, unknown, Scope.Scope>
}

const backends: ReadonlyArray<readonly [name: string, backend: Effect.Effect<Backend, unknown, Scope.Scope>]> = [
  [
    "an SQLite file",
    Effect.map(temp.database, (place) => ({ kind: "sqlite", place, store: SqliteStore.make({ filename: place }) }))
  ],
  [
    "a libSQL file",
    Effect.map(temp.database, (place) => ({
      kind: "libsql",
      place,
      store: Effect.map(LibsqlStore.make({ url: `file:${place}` }), ({ store }) => store)
    }))
  ],
  [
    "an rqlite node's stand-in",
    Effect.map(RqliteServer.make(), ({ urls }) => ({
      kind: "rqlite",
      place: urls[0] ?? "",
      store: Effect.map(
        Layer.build(Layer.provide(RqliteStore.layer({ urls, prefix: "harel_" }), NodeHttpClient.layerUndici)),
        (context) => Context.get(context, ExecutionStore)
      )
    }))
  ]
]

const steps = extent({ quick: 60, long: 600 })

const script = fileURLToPath(new URL("../fixtures/harel/program.py", import.meta.url))

/** harel's program opens the store first in every other run: either may make the tables. */
const both = ({ kind, place, store: opening }: Backend, harelFirst: boolean) =>
  Effect.gen(function* () {
    const begin = Effect.tap(spawn(python, [script, kind, place]), (child) => child.line)
    const first = harelFirst ? yield* begin : undefined
    const store = yield* opening
    return { store, harel: harel(first ?? (yield* begin)), holdfast: holdfast(store) }
  })

describe.skipIf(python === "")(
  "harel and Holdfast on one store, where HAREL_PYTHON is a Python that has harel 0.9.0",
  () => {
    for (const [name, make] of backends) {
      for (const seed of [1, 2]) {
        it.scopedLive(longer(`answer alike after every step that either takes, on ${name}, run ${seed}`), () =>
          Effect.gen(function* () {
            const programs = yield* both(yield* make, seed === 1)
            for (let step = 0; step < steps; step++) {
              const program = (yield* sometimes(50)) ? ("harel" as const) : ("holdfast" as const)
              const command: Command = (yield* sometimes(70))
                ? { do: "commit", ...(yield* change(step)) }
                : yield* other(programs.store)
              yield* programs[program].run(command)
              const [theirs, ours] = yield* Effect.all([programs.harel.view, programs.holdfast.view])
              expect({ step, program, command, view: ours }).toEqual({ step, program, command, view: theirs })
            }
            expect((yield* programs.store.verify({ limit: 1000 })).corrupt).toEqual([])
          }).pipe(Effect.withRandom(Random.make(`${name} ${seed}`)))
        )
      }

      it.scopedLive(`keep what they know, and harel drops the keys that it does not know, on ${name}`, () =>
        Effect.gen(function* () {
          const { harel, store } = yield* both(yield* make, false)
          yield* store.commit(
            Execution.make({
              id: "order-1",
              definitionId: "order",
              status: "RUNNING",
              context: { big: 12345678901234567890n, whole: 2 },
              extra: { ours: 1 }
            }),
            { activities: [Commit.runActivity({ key: "k", name: "charge", payload: {} })] }
          )
          const some: Command = { do: "commit", ...(yield* change(0)), id: "order-1", version: null, emits: [] }
          yield* harel.run({ ...some, status: "RUNNING" })
          const after = Option.getOrThrow(yield* store.load("order-1"))
          expect(after).toMatchObject({ version: 2, extra: {}, context: some.context })
          expect(yield* store.activities.of("order-1")).toHaveLength(1)
          // What waits for an execution that harel ends goes with it.
          yield* harel.run({ ...some, status: "DONE" })
          expect(yield* store.activities.of("order-1")).toEqual([])
          expect((yield* store.listExecutions({ status: ["DONE"] })).items).toMatchObject([
            { id: "order-1", version: 3 }
          ])
        })
      )

      it.scopedLive(`find each other's conflicts, on ${name}`, () =>
        Effect.gen(function* () {
          const programs = yield* both(yield* make, false)
          const some = yield* change(0)
          const first: Command = { do: "commit", ...some, id: "order-1", version: null, emits: [] }
          const stale: Command = { ...first, version: 0 }
          for (const [writer, loser] of [
            [programs.harel, programs.holdfast],
            [programs.holdfast, programs.harel]
          ] as const) {
            expect(yield* writer.run(first)).toEqual({ seqs: [] })
            const found = Option.getOrThrow(yield* programs.store.load("order-1")).version
            expect(yield* loser.run(stale)).toEqual({ expected: 0, found })
            expect(yield* writer.run({ do: "purge", id: "order-1", version: 9 })).toEqual({ purged: false })
          }
        })
      )
    }
  }
)
