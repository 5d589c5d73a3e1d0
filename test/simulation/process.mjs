// A process of npm run simulate: the one that was asked for, or one of those that run seeds for it.
import { pathToFileURL } from "node:url"

// An effect that never ends holds a timer, and the timer all that its process had, which stays in memory when the process stops dead.
const never = 2 ** 31 - 1
const real = globalThis.setInterval
globalThis.setInterval = (run, millis, ...args) => (millis === never ? undefined : real(run, millis, ...args))

const [simulate, ...args] = process.argv.slice(2)
const { start } = await import(pathToFileURL(simulate).href)
process.exitCode = await start(args)
if (process.connected) process.disconnect()
