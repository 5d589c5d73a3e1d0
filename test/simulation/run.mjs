// npm run simulate: bundles the simulation and runs seeds of it. Packages stay outside, so that worlds of other sources share them.
import { pathToFileURL } from "node:url"
import { bundle } from "../torture/bundle.mjs"

// An effect that never ends holds a timer, and the timer all that its process had, which stays in memory when the process stops dead.
const never = 2 ** 31 - 1
const real = globalThis.setInterval
globalThis.setInterval = (run, millis, ...args) => (millis === never ? undefined : real(run, millis, ...args))

const { simulate } = await bundle({ simulate: "../simulation/main.ts" }, { packages: "external" })
const { start } = await import(pathToFileURL(simulate).href)
process.exitCode = await start(process.argv.slice(2))
