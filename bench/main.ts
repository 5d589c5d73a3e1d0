/**
 * What Holdfast costs, each figure beside a baseline that was measured in the same run.
 *
 *   npm run bench                          the topics that are short, as a table
 *   npm run bench -- --quick commit flow   these topics, small sizes
 *   npm run bench -- --markdown            the tables of docs/performance.md
 *   npm run bench -- --json
 */
import { parseArgs } from "node:util"
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Config from "effect/Config"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { activities } from "./activities.js"
import { attributes } from "./attributes.js"
import { chain } from "./chain.js"
import { commit } from "./commit.js"
import { contexts } from "./contexts.js"
import { drain } from "./drain.js"
import { flow } from "./flow.js"
import { flowLibsql, flowLibsqlFile, flowRqlite } from "./flowOn.js"
import type { Figure } from "./internal/figure.js"
import * as raw from "./internal/raw.js"
import * as report from "./internal/report.js"
import type { Settings, Topic } from "./internal/settings.js"
import { latency } from "./latency.js"
import { libsql, libsqlFile } from "./libsql.js"
import { memory } from "./memory.js"
import { monitor } from "./monitor.js"
import { processes } from "./processes.js"
import { reads } from "./reads.js"
import { rqlite } from "./rqlite.js"
import { scale } from "./scale.js"
import { startup } from "./startup.js"
import { timers } from "./timers.js"

/**
 * - `needs`: the variable of the environment without which a topic is left out.
 * - `named`: it runs only where it is named, so that all the others take less than five minutes.
 */
interface Entry {
  readonly run: Topic
  readonly needs?: string
  readonly named?: boolean
}

const topics: ReadonlyMap<string, Entry> = new Map<string, Entry>([
  ["commit", { run: commit }],
  ["reads", { run: reads }],
  ["flow", { run: flow }],
  ["chain", { run: chain }],
  ["scale", { run: scale, named: true }],
  ["timers", { run: timers }],
  ["contexts", { run: contexts, named: true }],
  ["startup", { run: startup }],
  ["activities", { run: activities, named: true }],
  ["attributes", { run: attributes, named: true }],
  ["latency", { run: latency }],
  ["memory", { run: memory }],
  ["monitor", { run: monitor, named: true }],
  ["drain", { run: drain, named: true }],
  ["processes", { run: processes, named: true }],
  ["libsql-file", { run: libsqlFile }],
  ["flow-libsql-file", { run: flowLibsqlFile, named: true }],
  ["flow-libsql", { run: flowLibsql, needs: "LIBSQL_URL" }],
  ["flow-rqlite", { run: flowRqlite, needs: "RQLITE_URL" }],
  ["libsql", { run: libsql, needs: "LIBSQL_URL" }],
  ["rqlite", { run: rqlite, needs: "RQLITE_URL" }]
])

const usage = `usage: npm run bench -- [--quick] [--json | --markdown] [--directory DIR] [topic ...]

topics: ${[...topics.keys()].join(", ")}; without any, all but
  ${[...topics].flatMap(([name, { named }]) => (named === true ? [name] : [])).join(", ")}, which take longer
  libsql and flow-libsql need LIBSQL_URL, rqlite and flow-rqlite need RQLITE_URL: they write on that server, into tables of their own, which they remove
--quick      small sizes and one round, to see that it runs
--json       all figures with their rounds as JSON
--markdown   the tables of docs/performance.md
--directory  where the database files are put, by default build/bench-files: it must be on a disk, in memory a sync costs nothing
`

class UsageError extends Data.TaggedError("UsageError")<{ readonly detail: string }> {}

const options = Effect.try({
  try: () =>
    parseArgs({
      allowPositionals: true,
      options: {
        quick: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        markdown: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
        directory: { type: "string", default: "build/bench-files" }
      }
    }),
  catch: (cause) => new UsageError({ detail: cause instanceof Error ? cause.message : String(cause) })
})

const settingsOf = (quick: boolean, directory: string): Settings =>
  quick
    ? { quick, directory, rounds: 1, seconds: 0.2, warmUp: 0.2 }
    : { quick, directory, rounds: 5, seconds: 0.4, warmUp: 1.5 }

const short = (): ReadonlyArray<string> => [...topics].flatMap(([name, { named }]) => (named === true ? [] : [name]))

/** Those that were named, or all that are short and whose variable is set. */
const chosen = (names: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const runs = new Map<string, Topic>()
    for (const name of names.length > 0 ? names : short()) {
      const topic = topics.get(name)
      if (topic === undefined) return yield* new UsageError({ detail: `there is no topic ${JSON.stringify(name)}` })
      const { needs, run } = topic
      const missing = needs !== undefined && Option.isNone(yield* Config.option(Config.string(needs)))
      if (!missing) runs.set(name, run)
      else if (names.length > 0) return yield* new UsageError({ detail: `${name} needs ${needs}` })
      else yield* Console.error(`${name}: left out, ${needs} is not set`)
    }
    return runs
  })

const measureAll = (runs: ReadonlyMap<string, Topic>, settings: Settings) =>
  Effect.gen(function* () {
    const figures: Array<Figure> = []
    for (const [name, run] of runs) {
      const begun = performance.now()
      figures.push(...(yield* run(settings)))
      yield* Console.error(`${name}: ${Math.round((performance.now() - begun) / 1000)} s`)
    }
    return figures
  })

const asked = Effect.gen(function* () {
  const { positionals, values } = yield* options
  return { values, runs: values.help ? undefined : yield* chosen(positionals) }
})

const program = Effect.matchEffect(asked, {
  onFailure: (error) =>
    Effect.zipRight(
      Console.error(`${error._tag === "UsageError" ? error.detail : String(error)}\n\n${usage}`),
      Effect.sync(() => {
        process.exitCode = 2
      })
    ),
  onSuccess: ({ runs, values }) =>
    Effect.gen(function* () {
      if (runs === undefined) return yield* Console.log(usage)
      const settings = settingsOf(values.quick, values.directory)
      const start = performance.now()
      const figures = yield* measureAll(runs, settings)
      const taken = settings.quick ? "quick: the figures mean little" : `the median of ${settings.rounds} rounds`
      const context = report.context(yield* raw.version, taken, (performance.now() - start) / 1000)
      const render = values.json ? report.json : values.markdown ? report.markdown : report.text
      yield* Console.log(render(context, figures))
    })
})

NodeRuntime.runMain(Effect.provide(program, NodeContext.layer))
