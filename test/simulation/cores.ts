/** Processes that share the seeds: each has a core, and every so many-th seed. */
import { type ChildProcess, fork } from "node:child_process"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as sums from "./sums.js"

const Sum = Schema.Struct({
  seeds: Schema.Number,
  last: Schema.Number,
  seconds: Schema.Number,
  commits: Schema.Number,
  faults: Schema.Number,
  spent: Schema.Number,
  bytes: Schema.Number
})

const isSum = Schema.is(Sum)

/** Tells the process that asked for the seeds how far this one is. */
export const tell = (sum: sums.Sum): Effect.Effect<void> => Effect.sync(() => void process.send?.(sum))

/** Ends when all have ended, or when one has found something, with the greatest of their exit codes. */
const awaitAll = (children: ReadonlyArray<ChildProcess>): Effect.Effect<number> =>
  Effect.async((resume) => {
    let left = children.length
    let worst = 0
    for (const child of children) {
      child.on("exit", (code) => {
        worst = Math.max(worst, code ?? 1)
        if (code !== 0 && code !== 130) for (const other of children) other.kill("SIGTERM")
        if (--left === 0) resume(Effect.succeed(worst))
      })
    }
  })

/** Runs so many processes, and tells what they come to. */
export const run = (cores: number, args: ReadonlyArray<string>): Effect.Effect<number> =>
  Effect.gen(function* () {
    const found = Array.from({ length: cores }, () => sums.none)
    const children = found.map((_, part) => {
      const child = fork(process.argv[1] ?? "", [
        process.argv[2] ?? "",
        ...args,
        "--cores",
        `${cores}`,
        "--part",
        `${part}`
      ])
      child.on("message", (message) => {
        if (isSum(message)) found[part] = message
      })
      return child
    })
    // Those are interrupted with this process, and end with their seeds.
    process.on("SIGINT", () => {})
    const telling = setInterval(() => console.log(sums.inWords(found)), sums.interval)
    const code = yield* awaitAll(children)
    clearInterval(telling)
    if (code === 0 || code === 130) yield* Console.log(`All promises kept: ${sums.inWords(found)}`)
    return code
  })
