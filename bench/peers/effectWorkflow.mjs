// @effect/workflow on the engine of @effect/cluster: one runner, its messages in SQLite.
import * as ClusterWorkflowEngine from "@effect/cluster/ClusterWorkflowEngine"
import * as SingleRunner from "@effect/cluster/SingleRunner"
import * as SqlClient from "@effect/sql/SqlClient"
import * as SqliteClient from "@effect/sql-sqlite-node/SqliteClient"
import * as Activity from "@effect/workflow/Activity"
import * as DurableClock from "@effect/workflow/DurableClock"
import * as Workflow from "@effect/workflow/Workflow"
import { Effect, Layer, Logger, LogLevel, ManagedRuntime, Schema } from "effect"
import { clock, lateness, noteStep, run, until, work } from "./peer.mjs"

const payload = { id: Schema.String, n: Schema.Number }
const make = (name) => Workflow.make({ name, payload, idempotencyKey: ({ id }) => id })

const Chain = make("chain")
const Parent = make("parent")
const Child = make("child")
const Wait = make("wait")
const Slow = make("slow")

/** The engine on a file, with implementations of workflows; runs effects on it. */
const open = ({ durability, file }, ...implementations) => {
  const Sql = SqliteClient.layer({ filename: file })
  const Synchronous = Layer.effectDiscard(
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(`PRAGMA synchronous = ${durability}`))
  )
  const Engine = ClusterWorkflowEngine.layer.pipe(
    Layer.provideMerge(SingleRunner.layer({ runnerStorage: "memory" })),
    Layer.provide(Layer.provideMerge(Synchronous, Sql))
  )
  const Live = Layer.mergeAll(Layer.empty, ...implementations).pipe(
    Layer.provideMerge(Engine),
    Layer.provide(Logger.minimumLogLevel(LogLevel.Error))
  )
  const runtime = ManagedRuntime.make(Live)
  return (effect) => runtime.runPromise(effect)
}

const step = (i, effect) => Activity.make({ name: `step-${i}`, execute: effect })

const chain = async (settings) => {
  const times = clock()
  const implementation = Chain.toLayer(({ id, n }) =>
    Effect.gen(function* () {
      for (let i = 0; i < n; i++) yield* step(i, Effect.void)
      times.end(id)
    })
  )
  const on = open(settings, implementation)
  return await work(times, settings, (id) => on(Chain.execute({ id, n: settings.units ?? 0 }, { discard: true })))
}

const fan = async (settings) => {
  const times = clock()
  const parent = Parent.toLayer(({ id, n }) =>
    Effect.gen(function* () {
      const children = Array.from({ length: n }, (_, i) => Child.execute({ id: `${id}:${i}`, n: i }))
      yield* Effect.all(children, { concurrency: "unbounded" })
      times.end(id)
    })
  )
  const on = open(
    settings,
    parent,
    Child.toLayer(() => Effect.void)
  )
  return await work(times, settings, (id) => on(Parent.execute({ id, n: settings.units }, { discard: true })))
}

const timers = async (settings) => {
  const late = lateness(settings.count)
  const due = Date.now() + settings.delay
  late.setDue(due)
  // A sleep of under a minute would else be one in memory.
  const sleep = Effect.suspend(() =>
    DurableClock.sleep({ name: "due", duration: Math.max(due - Date.now(), 1), inMemoryThreshold: "1 millis" })
  )
  const on = open(
    settings,
    Wait.toLayer(() => Effect.tap(sleep, () => late.fired()))
  )
  const from = Date.now()
  const ids = Array.from({ length: settings.count }, (_, i) => `wait-${i}`)
  await on(
    Effect.forEach(ids, (id) => Wait.execute({ id, n: 0 }, { discard: true }), { concurrency: 64, discard: true })
  )
  return await late.result((Date.now() - from) / 1000)
}

const slow = (log, ended) =>
  Slow.toLayer(({ id, n }) =>
    Effect.gen(function* () {
      for (let i = 0; i < n; i++) {
        yield* step(
          i,
          Effect.andThen(
            Effect.sleep("20 millis"),
            Effect.sync(() => noteStep(log, id, i))
          )
        )
      }
      ended(id)
    })
  )

const begin = async (settings) => {
  const on = open(
    settings,
    slow(settings.log, () => {})
  )
  for (let i = 0; i < settings.count; i++)
    await on(Slow.execute({ id: `slow-${i}`, n: settings.units }, { discard: true }))
  await until(() => false)
}

const recover = async (settings) => {
  const on = open(
    settings,
    slow(settings.log, () => {})
  )
  // Asked for again under its key, a workflow is the one that is there.
  const ids = Array.from({ length: settings.count }, (_, i) => `slow-${i}`)
  await on(
    Effect.forEach(ids, (id) => Slow.execute({ id, n: settings.units }), { concurrency: "unbounded", discard: true })
  )
  return {}
}

await run({ chain, noop: chain, fan, timers, begin, recover })
