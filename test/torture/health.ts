/** Whether what a process says of its health is true, while faults come: looked at again and again, and judged where it can be. */
import { openSync, readdirSync, readFileSync, writeSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Health } from "holdfast/ExecutionRuntime"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import { isOutage } from "../../src/internal/supervision/storeMonitor.js"
import * as batchVariant from "../../src/internal/util/batchVariant.js"
import { now } from "./journal.js"

/**
 * What became of the last write of a process.
 *
 * - `writes`: how many there were: while it is the same nothing has changed.
 * - `refused`: why the store refused the last one, for a state of its own; none where it took it.
 * - `at`: by the clock of the machine, in nanoseconds.
 */
export interface LastWrite {
  readonly writes: number
  readonly refused: string | undefined
  readonly at: number
}

/** A look at the health of a process, by the clock of the machine in nanoseconds. `health` is none where it did not come. */
export interface Look {
  readonly began: number
  readonly ended: number
  readonly before: LastWrite
  readonly after: LastWrite
  readonly health: Pick<Health, "live" | "ready" | "problems"> | undefined
}

/** For how long a process is asked: it may be frozen meanwhile, or get no time on a busy machine. */
export const patience = "60 seconds"

// By then a fiber that was told of a refusal has come to note it.
const settled = 200e6
// A refusal is told of for a minute, unless a write succeeds.
const toldFor = 50e9

const refusing = "store: has refused writes for"

/** What is wrong with what a process said of its health; nothing where it was true, or cannot be judged. */
export const wrong = ({ after, before, began, ended, health }: Look): ReadonlyArray<string> => {
  if (health === undefined) return ["it did not come"]
  const { live, problems, ready } = health
  const judged = before.writes === after.writes && before.writes > 0 && began - before.at > settled
  const claims = problems.find((problem) => problem.startsWith(refusing))
  return [
    ...(live ? [] : [`it is not live: ${problems.join("; ")}`]),
    ...(ready === (problems.length === 0) ? [] : [`it is ready: ${ready}, with ${problems.length} problems`]),
    ...(judged && before.refused !== undefined && ended - before.at < toldFor && claims === undefined
      ? [`it does not say that its last write was refused: ${before.refused}`]
      : []),
    ...(judged && before.refused === undefined && claims !== undefined
      ? [`its last write was taken, and it says ${claims}`]
      : [])
  ]
}

/** A store that knows what became of its last write. What succeeds it hears of as the runtime does. */
export const watch = (store: ExecutionStore) =>
  Effect.gen(function* () {
    let last: LastWrite = { writes: 0, refused: undefined, at: now() }
    const came = (refused: string | undefined): void => {
      last = { writes: last.writes + 1, refused, at: now() }
    }
    yield* store.listen(() => came(undefined))
    const noted = <A, E extends { readonly message: string }, R>(write: Effect.Effect<A, E, R>) =>
      Effect.tapError(write, (error) => Effect.sync(() => (isOutage(error) ? came(error.message) : undefined)))
    const commit: ExecutionStore["commit"] = (execution, commit) => noted(store.commit(execution, commit))
    const commitEach: ExecutionStore["commitEach"] = (commits) =>
      Effect.tap(store.commitEach(commits), (exits) =>
        Effect.forEach(exits, (exit) => (Exit.isSuccess(exit) ? Effect.void : Effect.ignore(noted(exit))), {
          discard: true
        })
      )
    const watched: ExecutionStore = {
      ...store,
      commit,
      commitEach: batchVariant.isOf(store.commitEach, store.commit) ? batchVariant.of(commitEach, commit) : commitEach,
      enqueue: (emits, options) => noted(store.enqueue(emits, options))
    }
    return { store: watched, last: () => last }
  })

/** Looks once. */
export const look = (health: Effect.Effect<Health>, last: () => LastWrite): Effect.Effect<Look> =>
  Effect.suspend(() => {
    const began = now()
    const before = last()
    return Effect.map(Effect.timeoutOption(health, patience), (found) => ({
      began,
      ended: now(),
      before,
      after: last(),
      health: Option.getOrUndefined(found)
    }))
  })

type Worker = Pick<Health["outbox"], "backlog" | "held" | "outage" | "runningSince">

const leftOf = (name: string, { backlog, held, outage, runningSince }: Worker): ReadonlyArray<string> => [
  ...(backlog === 0 ? [] : [`${backlog} rows in the memory of ${name}`]),
  ...(held === 0 ? [] : [`${held} lanes of ${name} held back`]),
  ...(Option.isNone(runningSince) ? [] : [`work of ${name} that runs`]),
  ...Option.toArray(outage).map(({ message }) => `an outage of ${name}: ${message}`)
]

/** What a process says is wrong where all work is done and no fault comes any more. That a write was refused it says for a minute. */
export const unwell = (health: Health): ReadonlyArray<string> => [
  ...health.problems.filter((problem) => !problem.startsWith(refusing)),
  ...(["outbox", "spawns", "timers", "activities"] as const).flatMap((name) => leftOf(name, health[name])),
  ...(Option.isNone(health.store) ? ["it knows nothing of its store"] : [])
]

const Line = Schema.parseJson(Schema.Struct({ ready: Schema.Boolean, wrong: Schema.Array(Schema.String) }))

type Line = typeof Line.Type

/** Writes down looks in `directory/by.health`, which outlives the process. */
export const makeWriter = (directory: string, by: string) => {
  const fd = openSync(join(directory, `${by}.health`), "a")
  return (found: Look): void => {
    const line: Line = { ready: found.health?.ready === true, wrong: wrong(found) }
    writeSync(fd, `${JSON.stringify(line)}\n`)
  }
}

/** What all looks of the processes came to. */
export interface Looks {
  readonly count: number
  readonly unready: number
  readonly problems: ReadonlyArray<string>
}

const linesOf = (path: string): ReadonlyArray<Line> =>
  readFileSync(path, "utf8")
    .split("\n")
    // The last one may have been cut short by the end of its process.
    .slice(0, -1)
    .map((text) => Schema.decodeUnknownSync(Line)(text))

export const read = (directory: string): Looks => {
  const files = readdirSync(directory).filter((file) => file.endsWith(".health"))
  const all = files.flatMap((file) =>
    linesOf(join(directory, file)).map((line) => ({ ...line, by: file.replace(/\.health$/, "") }))
  )
  return {
    count: all.length,
    unready: all.filter(({ ready }) => !ready).length,
    problems: all.flatMap(({ by, wrong }) => wrong.map((what) => `the health of ${by}: ${what}`)).slice(0, 5)
  }
}
