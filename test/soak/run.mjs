// npm run soak: bundles the soak and runs it, in a process whose memory can be collected at will.
import { pathToFileURL } from "node:url"
import { bundle } from "../torture/bundle.mjs"

const { soak } = await bundle({ soak: "../soak/main.ts" })
const { start } = await import(pathToFileURL(soak).href)
// What still runs is not waited for.
process.exit(await start(process.argv.slice(2)))
