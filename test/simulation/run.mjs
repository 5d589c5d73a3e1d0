// npm run simulate: bundles the simulation and runs seeds of it. Packages stay outside, so that worlds of other sources share them.
import { fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { bundle } from "../torture/bundle.mjs"

const { simulate } = await bundle({ simulate: "../simulation/main.ts" }, { packages: "external" })

// Worlds make much that lives for a moment: with more room for it less is looked at that still lives.
const child = fork(fileURLToPath(new URL("process.mjs", import.meta.url)), [simulate, ...process.argv.slice(2)], {
  execArgv: ["--max-semi-space-size=64"]
})
// It has the same terminal, and is interrupted with this process; it ends with the seeds that run.
process.on("SIGINT", () => {})
process.on("SIGTERM", () => child.kill("SIGTERM"))
child.on("exit", (code) => {
  process.exitCode = code ?? 1
})
