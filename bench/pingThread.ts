/**
 * The thread of `internal/ping.ts`: asks an HTTP server of the process for an answer, a few milliseconds after the last one, until it is told to stop; then it
 * posts how long each took, in milliseconds.
 */
import * as Http from "node:http"
import { parentPort, workerData } from "node:worker_threads"

const agent = new Http.Agent({ keepAlive: true, maxSockets: 1 })
const pause = 3

const ping = (port: number): Promise<number> =>
  new Promise((resolve, reject) => {
    const asked = performance.now()
    Http.get({ port, host: "127.0.0.1", agent }, (answer) => {
      answer.resume()
      answer.on("end", () => resolve(performance.now() - asked))
    }).on("error", reject)
  })

let stopped = false
parentPort?.once("message", () => {
  stopped = true
})

const port = Number(workerData)
const millis: Array<number> = []
while (!stopped) {
  millis.push(await ping(port))
  await new Promise((resolve) => setTimeout(resolve, pause))
}
agent.destroy()
parentPort?.postMessage(millis)
