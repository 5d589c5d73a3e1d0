// npm run test:histories: bundles the driver and the processes that it runs, and runs it.
import { pathToFileURL } from "node:url"
import { bundle } from "./bundle.mjs"

const { history, historyWorker } = await bundle({ history: "history.ts", historyWorker: "historyWorker.ts" })
const { start } = await import(pathToFileURL(history).href)
process.exitCode = await start(process.argv.slice(2), historyWorker)
