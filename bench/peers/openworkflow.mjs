// openworkflow on SQLite. It opens its file itself, by node:sqlite.
import { OpenWorkflow } from "openworkflow"
import { BackendSqlite } from "openworkflow/sqlite"
import { clock, lateness, noteStep, run, sleep, until, work } from "./peer.mjs"

/** The engine on a file, with a worker. The option for `synchronous` is none of its own: the statement goes to its connection. */
const open = async ({ file, durability, concurrency = 64 }, define) => {
  const backend = BackendSqlite.connect(file)
  backend.db.exec(`PRAGMA synchronous = ${durability}`)
  const ow = new OpenWorkflow({ backend })
  const workflows = define(ow)
  const worker = ow.newWorker({ concurrency })
  await worker.start()
  return { ...workflows, backend }
}

const chains = (ended) => (ow) => ({
  chain: ow.defineWorkflow({ name: "chain" }, async ({ input, step }) => {
    for (let i = 0; i < input.steps; i++) await step.run({ name: `step-${i}` }, () => i)
    ended(input.id)
  })
})

const chain = async (settings) => {
  const times = clock()
  const { chain } = await open(settings, chains(times.end))
  return await work(times, settings, (id) => chain.run({ id, steps: settings.units ?? 0 }))
}

const fan = async (settings) => {
  const times = clock()
  const { parent } = await open(settings, (ow) => {
    const child = ow.defineWorkflow({ name: "child" }, () => 1)
    return {
      parent: ow.defineWorkflow({ name: "parent" }, async ({ input, step }) => {
        const children = Array.from({ length: input.children }, (_, i) =>
          step.runWorkflow(child.workflow.spec, {}, { name: `child-${i}` })
        )
        await Promise.all(children)
        times.end(input.id)
      })
    }
  })
  return await work(times, settings, (id) => parent.run({ id, children: settings.units }))
}

const timers = async (settings) => {
  const late = lateness(settings.count)
  const { wait } = await open(settings, (ow) => ({ wait: ow.defineWorkflow({ name: "wait" }, () => late.fired()) }))
  const due = Date.now() + settings.delay
  late.setDue(due)
  const from = Date.now()
  for (let i = 0; i < settings.count; i++) await wait.run({}, { availableAt: new Date(due) })
  return await late.result((Date.now() - from) / 1000)
}

const slow = (log) => (ow) => ({
  slow: ow.defineWorkflow({ name: "slow" }, async ({ input, step }) => {
    for (let i = 0; i < input.steps; i++) {
      await step.run({ name: `step-${i}` }, async () => {
        await sleep(20)
        noteStep(log, input.id, i)
      })
    }
  })
})

const begin = async (settings) => {
  const { slow: flow } = await open(settings, slow(settings.log))
  for (let i = 0; i < settings.count; i++) await flow.run({ id: `slow-${i}`, steps: settings.units })
  await until(() => false)
}

const recover = async (settings) => {
  const { backend } = await open(settings, slow(settings.log))
  await until(async () => {
    const counts = await backend.countWorkflowRuns()
    return counts.completed + (counts.succeeded ?? 0) >= settings.count
  })
  return {}
}

await run({ chain, noop: chain, fan, timers, begin, recover })
