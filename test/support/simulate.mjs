// Runs seeds of the simulation: npm run simulate -- --seeds 500 | --hours 8 [--from 1] [--store memory|sqlite]
import { spawnSync } from "node:child_process"
import { parseArgs } from "node:util"

const usage = "npm run simulate -- (--seeds N | --hours N) [--from N] [--store memory|sqlite]"

const fail = (message) => {
  console.error(`${message}\nusage: ${usage}`)
  process.exit(2)
}

const read = () => {
  try {
    const options = {
      seeds: { type: "string" },
      hours: { type: "string" },
      from: { type: "string" },
      store: { type: "string" }
    }
    return parseArgs({ options }).values
  } catch (error) {
    return fail(error.message)
  }
}

const number = (name, text, least) => {
  const value = Number(text)
  return text === "" || !Number.isFinite(value) || value < least
    ? fail(`--${name} must be a number of at least ${least}`)
    : value
}

const given = read()
if ((given.seeds === undefined) === (given.hours === undefined)) fail("give either --seeds or --hours")
const whole = (name, text, least) => {
  const value = number(name, text, least)
  return Number.isSafeInteger(value) ? value : fail(`--${name} must be a whole number`)
}
const from = whole("from", given.from ?? "1", 0)
const seeds = given.seeds === undefined ? Number.POSITIVE_INFINITY : whole("seeds", given.seeds, 1)
const until =
  given.hours === undefined ? Number.POSITIVE_INFINITY : Date.now() + number("hours", given.hours, 0.001) * 3_600_000
if (given.store !== undefined && !["memory", "sqlite"].includes(given.store)) fail("--store must be memory or sqlite")

// Each batch has a process of its own.
const batch = 200
let done = 0
while (done < seeds && Date.now() < until) {
  const count = Math.min(batch, seeds - done)
  const { status } = spawnSync(
    process.execPath,
    ["node_modules/vitest/vitest.mjs", "run", "test/simulation/seeds.test.ts"],
    {
      stdio: "inherit",
      env: { ...process.env, HOLDFAST_SEEDS: `${from + done}:${count}`, HOLDFAST_SEEDS_STORE: given.store ?? "" }
    }
  )
  if (status !== 0) process.exit(1)
  done += count
  console.log(`${done} seeds keep all promises: ${from} to ${from + done - 1}`)
}
