/** What happens to the copy of a libSQL server's database that a process has: files of it are gone or cut when the process starts again. */
import { rmSync, statSync, truncateSync } from "node:fs"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { Dice } from "../../src/testing/internal/simulation/dice.js"
import type { Fault } from "./faults.js"
import type { Workers } from "./workers.js"

/** The data, libSQL's own index, and what SQLite keeps beside them. */
const suffixes = ["", "-client_wal_index", "-wal", "-shm"] as const

const removed = (copy: string): Effect.Effect<void> =>
  Effect.sync(() => {
    for (const suffix of suffixes) rmSync(copy + suffix, { force: true })
  })

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

/** Removes or cuts one file of a copy, or several; says what it did. */
const damage = (copy: string, dice: Dice): ReadonlyArray<string> => {
  const one = dice.pick(...suffixes)
  return suffixes.flatMap((suffix) => {
    const path = copy + suffix
    const size = sizeOf(path)
    if (size === 0 || (suffix !== one && dice.chance(0.75))) return []
    if (dice.chance(0.5)) {
      rmSync(path)
      return [`copy${suffix} is gone`]
    }
    const left = dice.below(size)
    truncateSync(path, left)
    return [`copy${suffix} is cut from ${size} to ${left} bytes`]
  })
}

/** That the store does not open, and says which files to remove. */
const refuses = (copy: string, failure: string): boolean =>
  failure.includes("StoreRejected") && failure.includes(`remove ${suffixes.map((suffix) => copy + suffix).join(", ")}`)

/** Until the process runs. Where it says which files are to be removed, they are. */
const untilItRuns = (workers: Workers, place: number, copy: string): Effect.Effect<void> => {
  const before = workers.state(place).failures.length
  return Effect.suspend(() => {
    const { failures, runs } = workers.state(place)
    const told = failures.slice(before).some((failure) => refuses(copy, failure))
    return told ? Effect.as(workers.replace(place, removed(copy)), true) : Effect.succeed(runs)
  }).pipe(Effect.delay("100 millis"), Effect.repeat({ until: (done) => done, times: 600 }), Effect.asVoid)
}

/** A process is killed, and starts again with a copy of which files are gone or cut. */
export const damaged = (workers: Workers, note: (what: string) => Effect.Effect<void>): Fault => ({
  name: "damaged copy",
  run: (dice) =>
    Effect.gen(function* () {
      const place = dice.below(workers.count)
      const copy = workers.copy(place)
      if (copy === undefined) return 0
      const done = yield* Deferred.make<ReadonlyArray<string>>()
      yield* workers.replace(
        place,
        Effect.sync(
          () =>
            void Deferred.unsafeDone(
              done,
              Effect.sync(() => damage(copy, dice))
            )
        )
      )
      const what = Option.getOrElse(yield* Effect.timeoutOption(Deferred.await(done), "20 seconds"), () => [])
      if (what.length === 0) return 0
      yield* note(what.join(", "))
      yield* untilItRuns(workers, place, copy)
      return 1
    })
})
