// What the peers of this directory share: `node PEER.mjs TOPIC SETTINGS`, with settings as JSON, does a topic and prints what came of it as a
// line of JSON. A time begins when work is asked for, and ends when its last step runs.
import { appendFileSync } from "node:fs"

/** Times between two moments, by the name of what is done between them. */
export const clock = () => {
  const begun = new Map()
  const waiting = new Map()
  const times = []
  return {
    times,
    begin: (id) => void begun.set(id, performance.now()),
    end: (id) => {
      const from = begun.get(id)
      if (from === undefined) return
      begun.delete(id)
      times.push(performance.now() - from)
      waiting.get(id)?.()
      waiting.delete(id)
    },
    ended: (id) => new Promise((resolve) => void (begun.has(id) ? waiting.set(id, resolve) : resolve()))
  }
}

/** The seconds that this process was on a processor since then. */
const processor = (from) => {
  const { system, user } = process.cpuUsage(from)
  return (system + user) / 1e6
}

/** Does `count` pieces of work, so many at the same time, each `units` steps. `start` asks for one; the peer says when it has ended. */
export const work = async ({ times, begin, ended }, { count, concurrency = 1, units = 1 }, start) => {
  const from = performance.now()
  const before = process.cpuUsage()
  let next = 0
  const lane = async () => {
    while (next < count) {
      const id = `work-${process.pid}-${next++}`
      begin(id)
      await start(id)
      await ended(id)
    }
  }
  await Promise.all(Array.from({ length: concurrency }, lane))
  const seconds = (performance.now() - from) / 1000
  return { times, seconds, processor: processor(before), units: count * units }
}

/** Timers that are due at one moment: how late each of them comes. */
export const lateness = (count) => {
  const times = []
  const before = process.cpuUsage()
  let due = Number.POSITIVE_INFINITY
  let done
  const all = new Promise((resolve) => {
    done = resolve
  })
  return {
    setDue: (at) => {
      due = at
    },
    fired: () => {
      times.push(Date.now() - due)
      if (times.length === count) done()
    },
    result: async (armedIn) => {
      await all
      const seconds = Math.max(Date.now() - due, 1) / 1000
      return { times, seconds, processor: processor(before), units: count, armedIn }
    }
  }
}

/** Notes a step that was done, for whoever ends this process in the middle. */
export const noteStep = (log, id, step) => appendFileSync(log, `${id} ${step}\n`)

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Waits until all pieces of work have ended. */
export const until = async (isDone) => {
  while (!(await isDone())) await sleep(10)
}

/** Runs the topic that is asked for. A peer that has none says why. */
export const run = async (topics) => {
  const [topic = "", settings = "{}"] = process.argv.slice(2)
  const found = topics[topic]
  const result =
    typeof found === "function" ? await found(JSON.parse(settings)) : { cannot: found ?? "it was not written" }
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0))
}
