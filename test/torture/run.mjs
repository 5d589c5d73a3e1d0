// npm run test:torture: bundles the driver and the processes that it runs, which must start fast as they are killed often, and runs it.
import { fileURLToPath, pathToFileURL } from "node:url"
import { bundle } from "./bundle.mjs"

const { main, worker } = await bundle({ main: "main.ts", worker: "worker.ts" })
const { start } = await import(pathToFileURL(main).href)
process.exitCode = await start(process.argv.slice(2), {
  program: worker,
  root: fileURLToPath(new URL("../..", import.meta.url))
})
