/** What happens to processes, whatever their store is. */
import { execFile } from "node:child_process"
import { readdirSync } from "node:fs"
import * as Effect from "effect/Effect"
import type { Dice } from "../../src/testing/internal/simulation/dice.js"
import type { Workers } from "./workers.js"

/**
 * A fault, from its beginning until it is over. `count` is how many of what it is there were: kills of five processes are five.
 *
 * - `name`: what it is counted as.
 */
export interface Fault {
  readonly name: string
  readonly run: (dice: Dice) => Effect.Effect<number>
}

/** A fault that cannot be had here, and why. */
export interface Missing {
  readonly name: string
  readonly why: string
}

export const millis = (dice: Dice, least: number, most: number): Effect.Effect<void> =>
  Effect.sleep(dice.between(least, most))

const any = (workers: Workers, dice: Dice): number => dice.below(workers.count)

const kill = (workers: Workers): Fault => ({
  name: "kill",
  run: (dice) => Effect.as(workers.kill(any(workers, dice)), 1)
})

/** All of them at once, or all but one. */
const killSeveral = (workers: Workers): Fault => ({
  name: "kill of several",
  run: (dice) => {
    const spared = dice.chance(0.5) ? any(workers, dice) : -1
    const victims = Array.from({ length: workers.count }, (_, place) => place).filter((place) => place !== spared)
    return Effect.as(Effect.forEach(victims, workers.kill, { discard: true }), victims.length)
  }
})

/** Longer than leases and claims are held, which is 1.5 s. At times the process is killed as it is. */
const freeze = (workers: Workers): Fault => ({
  name: "freeze",
  run: (dice) => {
    const place = any(workers, dice)
    const after = dice.chance(0.2) ? workers.kill(place) : workers.thaw(place)
    return workers.freeze(place).pipe(Effect.zipRight(millis(dice, 1500, 4000)), Effect.zipRight(after), Effect.as(1))
  }
})

const openFiles = (pid: number): number => {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return 0
  }
}

const limit = (pid: number, soft: string) =>
  Effect.async<void>((resume) => {
    execFile("prlimit", ["--pid", String(pid), `--nofile=${soft}`], () => resume(Effect.void))
  })

/** A process that can open no file any more, for a while. */
const descriptors = (workers: Workers): Fault => ({
  name: "descriptors used up",
  run: (dice) => {
    const pid = workers.pid(any(workers, dice))
    if (pid === undefined || openFiles(pid) === 0) return Effect.succeed(0)
    return limit(pid, `${openFiles(pid) - dice.below(3)}:`).pipe(
      Effect.zipRight(millis(dice, 500, 2000)),
      Effect.zipRight(limit(pid, "1024:")),
      Effect.as(1)
    )
  }
})

const hasPrlimit: Effect.Effect<boolean> = Effect.async((resume) => {
  execFile("prlimit", ["--version"], (error) => resume(Effect.succeed(error === null)))
})

/** The faults of processes that this system can bring about. */
export const ofProcesses: Effect.Effect<{
  readonly faults: (workers: Workers) => ReadonlyArray<Fault>
  readonly missing: ReadonlyArray<Missing>
}> = Effect.map(hasPrlimit, (has) => {
  const isThere = has && process.platform === "linux"
  return {
    faults: (workers) => [
      kill(workers),
      killSeveral(workers),
      freeze(workers),
      ...(isThere ? [descriptors(workers)] : [])
    ],
    missing: isThere ? [] : [{ name: "descriptors used up", why: "there is no prlimit" }]
  }
})
