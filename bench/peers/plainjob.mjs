// plainjob: a queue of jobs. A chain is jobs each of which adds the next one; it has no state, no results and no joins.
import Database from "better-sqlite3"
import { better, defineQueue, defineWorker } from "plainjob"
import { clock, lateness, noteStep, run, sleep, until, work } from "./peer.mjs"

const logger = { error: console.error, warn: () => {}, info: () => {}, debug: () => {} }

const open = ({ concurrency = 1, durability, file, interval = 1 }, handle, options = {}) => {
  const database = new Database(file)
  const queue = defineQueue({ connection: better(database), logger, ...options })
  // It has set NORMAL.
  database.pragma(`synchronous = ${durability}`)
  const handler = (job) => handle(JSON.parse(job.data))
  for (let i = 0; i < concurrency; i++) {
    void defineWorker("step", handler, { queue, logger, pollIntervall: interval }).start()
  }
  return queue
}

const chain = async (settings) => {
  const times = clock()
  const queue = open(settings, ({ id, left }) => {
    if (left <= 1) times.end(id)
    else queue.add("step", { id, left: left - 1 })
  })
  const start = (id) => void queue.add("step", { id, left: settings.units ?? 1 })
  return await work(times, settings, start)
}

const timers = async (settings) => {
  const late = lateness(settings.count)
  const queue = open({ ...settings, interval: 20 }, () => late.fired())
  const due = Date.now() + settings.delay
  late.setDue(due)
  const from = Date.now()
  for (let i = 0; i < settings.count; i++) {
    queue.add("step", {}, { delay: Math.max(due - Date.now(), 0) })
    // Its workers share this thread.
    if (i % 100 === 0) await sleep(0)
  }
  return await late.result((Date.now() - from) / 1000)
}

const slow = (settings, options) => {
  const queue = open(
    { ...settings, concurrency: 64 },
    async ({ id, left }) => {
      await sleep(20)
      noteStep(settings.log, id, left)
      if (left > 1) queue.add("step", { id, left: left - 1 })
    },
    options
  )
  return queue
}

const begin = async (settings) => {
  const queue = slow(settings)
  for (let i = 0; i < settings.count; i++) queue.add("step", { id: `slow-${i}`, left: settings.units })
  await until(() => false)
}

const recover = async (settings) => {
  // It takes up the jobs of a process that has ended after `timeout`, by default half an hour.
  const queue = slow(settings, { timeout: 1000, maintenanceInterval: 250 })
  const unfinished = () => queue.countJobs({ status: 0 }) + queue.countJobs({ status: 1 })
  await until(() => unfinished() === 0)
  return {}
}

await run({
  chain,
  noop: chain,
  fan: "its jobs have no results and no joins",
  timers,
  begin,
  recover
})
