// The work of peers/main.mjs on Holdfast: `node peer.js TOPIC SETTINGS`. It is compiled with the other
// benches, and what it prints is what peers/peer.mjs says.
import { appendFileSync } from "node:fs"
import { Effect, Layer, ManagedRuntime, Schema } from "effect"
import { Definition, ExecutionRuntime, Step } from "holdfast"
import * as SqliteStore from "holdfast/SqliteStore"

const Settings = Schema.Struct({
  file: Schema.String,
  durability: Schema.Literal("FULL", "NORMAL"),
  count: Schema.Number,
  concurrency: Schema.optionalWith(Schema.Number, { default: () => 1 }),
  units: Schema.optional(Schema.Number),
  delay: Schema.optionalWith(Schema.Number, { default: () => 0 }),
  log: Schema.optionalWith(Schema.String, { default: () => "" })
})

interface Settings extends Schema.Schema.Type<typeof Settings> {}

const Left = Schema.Struct({ left: Schema.Number, slow: Schema.Boolean })
const Nothing = Schema.Struct({})
const Done = Schema.Struct({ ok: Schema.Boolean })

const Chain = Definition.make("chain", { context: Left, events: { Next: Nothing }, result: Done })
const Child = Definition.make("child", { context: Nothing, result: Done })
const Parent = Definition.make("parent", {
  context: Schema.Struct({ count: Schema.Number }),
  children: { All: Child },
  result: Done
})
const Wait = Definition.make("wait", {
  context: Schema.Struct({ due: Schema.Number }),
  timers: ["due"],
  result: Done
})
/** Called with the id of what runs its last step. */
type Ended = (id: string) => void

const implementations = (settings: Settings, ended: Ended) => {
  const next = (step: Step.Builder<typeof Left.Type>) =>
    Effect.gen(function* () {
      const { context, execution } = step
      if (context.slow) {
        yield* Effect.sleep("20 millis")
        appendFileSync(settings.log, `${execution.id} ${context.left}\n`)
      }
      if (context.left > 0) {
        const left = Step.updateContext(step, (before) => ({ ...before, left: before.left - 1 }))
        return Chain.emit(left, execution.id, "Next", {})
      }
      ended(execution.id)
      return Chain.finish(step, { ok: true })
    })
  return Layer.mergeAll(
    Chain.toLayer({ Start: next, Next: next }),
    Child.toLayer({ Start: (step) => Child.finish(step, { ok: true }) }),
    Parent.toLayer({
      Start: (step) =>
        step.pipe(
          Step.advance("Waiting"),
          Parent.spawnAll(
            "All",
            Array.from({ length: step.context.count }, () => ({}))
          )
        ),
      children: {
        All: (step) => {
          ended(step.execution.id)
          return Parent.finish(step, { ok: true })
        }
      }
    }),
    Wait.toLayer({
      Start: (step) => Wait.armTimer(step, "due", Math.max(step.context.due - Date.now(), 0)),
      timers: {
        due: (step) => {
          ended(step.execution.id)
          return Wait.finish(step, { ok: true })
        }
      }
    })
  )
}

const open = (settings: Settings, ended: Ended) =>
  ManagedRuntime.make(
    implementations(settings, ended).pipe(
      Layer.provideMerge(ExecutionRuntime.layer({ concurrency: 64 })),
      Layer.provideMerge(
        SqliteStore.layer({ filename: settings.file, durability: settings.durability === "FULL" ? "full" : "normal" })
      )
    )
  )

type Runtime = ReturnType<typeof open>
type Run = <A, E>(effect: Effect.Effect<A, E, ManagedRuntime.ManagedRuntime.Context<Runtime>>) => Promise<A>

/** The seconds that this process was on a processor since then. */
const processorSince = (from: NodeJS.CpuUsage): number => {
  const { system, user } = process.cpuUsage(from)
  return (system + user) / 1e6
}

/** Does `count` pieces of work, so many at the same time, and times each until its last step runs. */
const work = async (settings: Settings, start: (run: Run, id: string) => Promise<unknown>) => {
  const begun = new Map<string, { readonly at: number; readonly done: () => void }>()
  const times: Array<number> = []
  const runtime = open(settings, (id) => {
    const piece = begun.get(id)
    if (piece === undefined) return
    begun.delete(id)
    times.push(performance.now() - piece.at)
    piece.done()
  })
  const run: Run = (effect) => runtime.runPromise(effect)
  await run(Effect.void)
  let next = 0
  const from = performance.now()
  const before = process.cpuUsage()
  const lane = async () => {
    while (next < settings.count) {
      const id = `work-${process.pid}-${next++}`
      const ended = new Promise<void>((done) => begun.set(id, { at: performance.now(), done }))
      await start(run, id)
      await ended
    }
  }
  await Promise.all(Array.from({ length: settings.concurrency }, lane))
  const seconds = (performance.now() - from) / 1000
  return { times, seconds, processor: processorSince(before), units: settings.count * (settings.units ?? 1) }
}

const chain = (settings: Settings) =>
  work(settings, (run, id) => run(Chain.start(id, { left: settings.units ?? 0, slow: false })))

const fan = (settings: Settings) => work(settings, (run, id) => run(Parent.start(id, { count: settings.units ?? 0 })))

const timers = async (settings: Settings) => {
  const times: Array<number> = []
  const { count, delay } = settings
  const due = Date.now() + delay
  let done: () => void = () => {}
  const all = new Promise<void>((resolve) => {
    done = resolve
  })
  const runtime = open(settings, () => {
    times.push(Date.now() - due)
    if (times.length === count) done()
  })
  const from = Date.now()
  const before = process.cpuUsage()
  for (let i = 0; i < count; i += 1000) {
    const some = Array.from({ length: Math.min(1000, count - i) }, (_, j) => ({ id: `wait-${i + j}`, input: { due } }))
    await runtime.runPromise(Wait.startMany(some))
  }
  const armed = Date.now()
  await all
  const seconds = Math.max(Date.now() - due, 1) / 1000
  return { times, seconds, processor: processorSince(before), units: count, armedIn: (armed - from) / 1000 }
}

const begin = async (settings: Settings) => {
  const runtime = open(settings, () => {})
  const some = Array.from({ length: settings.count }, (_, i) => ({
    id: `slow-${i}`,
    input: { left: (settings.units ?? 1) - 1, slow: true }
  }))
  await runtime.runPromise(Chain.startMany(some))
  return await runtime.runPromise(Effect.never)
}

const recover = async (settings: Settings) => {
  const runtime = open(settings, () => {})
  await runtime.runPromise(
    Effect.forEach(Array.from({ length: settings.count }), (_, i) => Chain.await(`slow-${i}`), {
      concurrency: "unbounded",
      discard: true
    })
  )
  return {}
}

const topics: { readonly [topic: string]: (settings: Settings) => Promise<unknown> } = {
  chain,
  noop: chain,
  fan,
  timers,
  begin,
  recover
}

const [topic = "", text = "{}"] = process.argv.slice(2)
const settings = Schema.decodeUnknownSync(Schema.parseJson(Settings))(text)
const result = (await topics[topic]?.(settings)) ?? { cannot: "it was not written" }
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0))
