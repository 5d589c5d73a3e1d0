// The same work on Holdfast and on its peers, one after the other, as tables: see README.md.
import { spawn } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { availableParallelism, loadavg } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { row, summary } from "./figures.mjs"

const here = (path) => fileURLToPath(new URL(path, import.meta.url))

const text = (given) => ({ type: "string", default: given })
const { values: options } = parseArgs({
  options: {
    peers: text("holdfast,openworkflow,plainjob,effect-workflow,dbos,harel"),
    topics: text("chain,noop,fan,timers,recovery"),
    durability: text("FULL,NORMAL"),
    steps: text("1,10,100"),
    chains: text("100"),
    noop: text("5000"),
    concurrency: text("64"),
    children: text("100"),
    fans: text("10"),
    timers: text("100000"),
    delay: text("0"),
    executions: text("100"),
    rounds: text("3"),
    timeout: text("900"),
    directory: text(here("../../build/bench-files")),
    python: text("python3"),
    "openworkflow-node": text(process.execPath),
    json: { type: "boolean", default: false }
  }
})

const list = (name) => options[name].split(",").filter((part) => part !== "")
const number = (name) => Number(options[name])

const commands = {
  holdfast: [process.execPath, here("../../build/bench/peer.js")],
  openworkflow: [options["openworkflow-node"], here("openworkflow.mjs")],
  plainjob: [process.execPath, here("plainjob.mjs")],
  "effect-workflow": [process.execPath, here("effectWorkflow.mjs")],
  dbos: [options.python, here("dbos_peer.py")],
  harel: [options.python, here("harel_peer.py")]
}

/** What is done: the name in the table, the topic of a peer, and its settings. */
const jobs = () => {
  const timers = { count: number("timers"), delay: number("delay") || Math.max(3000, number("timers")) }
  const of = {
    chain: list("steps").map((steps) => [
      `a chain of ${steps} steps`,
      "chain",
      { count: Math.max(3, Math.round(number("chains") / Math.sqrt(Number(steps)))), units: Number(steps) }
    ]),
    noop: [["nothing to do", "noop", { count: number("noop"), concurrency: number("concurrency") }]],
    fan: [[`${options.children} children, joined`, "fan", { count: number("fans"), units: number("children") }]],
    timers: [[`${options.timers} timers`, "timers", timers]],
    recovery: [["recovery after SIGKILL", "recovery", { count: number("executions"), units: 10 }]]
  }
  return list("topics").flatMap((topic) => of[topic] ?? [])
}

/** A peer at work: what it prints, as long as it takes. */
const start = (peer, topic, settings) => {
  const [command, file] = commands[peer]
  // Some bring loggers that write to stdout.
  const child = spawn(command, [file, topic, JSON.stringify(settings)], { stdio: ["ignore", "pipe", "pipe"] })
  let out = ""
  let errors = ""
  child.stdout.on("data", (data) => {
    out += data
  })
  child.stderr.on("data", (data) => {
    errors += data
  })
  const timer = setTimeout(() => child.kill("SIGKILL"), number("timeout") * 1000)
  const ended = new Promise((resolve) => {
    child.once("error", (error) => resolve({ cannot: `it cannot be started: ${error.message}` }))
    child.once("close", (code, signal) => {
      clearTimeout(timer)
      const last = out.trimEnd().split("\n").at(-1) ?? ""
      if (last.startsWith("{")) return resolve(JSON.parse(last))
      const why = errors.split("\n").findLast((line) => /error/i.test(line)) ?? errors.trim().split("\n").at(-1) ?? ""
      resolve({ cannot: signal === null ? `it ended with ${code}: ${why.trim()}` : `not done in ${options.timeout} s` })
    })
  })
  return { child, ended }
}

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** Ends a process in the middle of its work, and lets another one go on with it. */
const recovery = async (peer, settings) => {
  const steps = () => (existsSync(settings.log) ? readFileSync(settings.log, "utf8").trimEnd().split("\n") : [])
  const total = settings.count * settings.units
  // Half of the steps are done, and all chains have begun.
  const isHalfWay = () => {
    const done = steps()
    return done.length >= total / 2 && new Set(done.map((line) => line.split(" ")[0])).size === settings.count
  }
  const first = start(peer, "begin", settings)
  let ended
  void first.ended.then((result) => {
    ended = result
  })
  while (ended === undefined && !isHalfWay()) await sleep(10)
  if (ended !== undefined) return ended
  first.child.kill("SIGKILL")
  await first.ended
  const before = steps().length
  const from = performance.now()
  const result = await start(peer, "recover", settings).ended
  if (result.cannot !== undefined) return result
  const seconds = (performance.now() - from) / 1000
  const all = steps()
  const missing = total - new Set(all).size
  if (missing > 0) return { cannot: `${missing} of ${total} steps were never done` }
  return {
    times: [],
    seconds,
    units: total - before,
    note: `in ${seconds.toFixed(1)} s, ${all.length - total} steps twice`
  }
}

const once = async (peer, topic, settings) => {
  mkdirSync(options.directory, { recursive: true })
  const directory = mkdtempSync(join(options.directory, "peers-"))
  const all = { ...settings, file: join(directory, "bench.db"), log: join(directory, "steps.log") }
  const result = await (topic === "recovery" ? recovery(peer, all) : start(peer, topic, all).ended)
  rmSync(directory, { recursive: true, force: true })
  return result
}

const load = () => loadavg()[0].toFixed(1)

const begun = load()
const found = []
for (const [name, topic, settings] of jobs()) {
  for (const durability of list("durability")) {
    const results = new Map(list("peers").map((peer) => [peer, []]))
    for (let round = 0; round < number("rounds"); round++) {
      for (const [peer, rounds] of results) {
        process.stderr.write(`${name}, ${durability}, ${peer}\n`)
        // What cannot be done is not tried again.
        if (rounds.some(({ cannot }) => cannot !== undefined)) continue
        rounds.push(await once(peer, topic, { ...settings, durability }))
      }
    }
    const figures = Array.from(results, ([peer, rounds]) => ({ peer, ...summary(rounds) }))
    found.push({ name, durability, figures })
  }
}
if (options.json) console.log(JSON.stringify(found, null, 2))
else {
  const rounds = number("rounds") === 1 ? "one round" : `the median of ${options.rounds} rounds`
  console.log(`Node ${process.version}, ${availableParallelism()} cores, a load of ${begun} to ${load()}; ${rounds}.\n`)
  for (const { durability, figures, name } of found) {
    console.log(`| ${name}, ${durability} | p50 | p99 | rate | against Holdfast | processor | |`)
    console.log("| --- | ---: | ---: | ---: | ---: | ---: | --- |")
    const own = figures.find(({ peer }) => peer === "holdfast")
    for (const figure of figures) console.log(row(figure, own))
    console.log("")
  }
}
