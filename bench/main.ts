/**
 * What Holdfast costs, each figure beside a baseline that was measured in the same run.
 *
 *   npm run bench                          all topics, as a table
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
import { flow } from "./flow.js"
import type { Figure } from "./internal/figure.js"
import * as raw from "./internal/raw.js"
import * as report from "./internal/report.js"
import type { Settings, Topic } from "./internal/settings.js"
import { latency } from "./latency.js"
import { libsql, libsqlFile } from "./libsql.js"
import { memory } from "./memory.js"
import { monitor } from "./monitor.js"
import { reads } from "./reads.js"
import { rqlite } from "./rqlite.js"
import { scale } from "./scale.js"

/** `needs`: the variable of the environment without which a topic is left out. */
const topics: ReadonlyMap<string, { readonly run: Topic; readonly needs?: string }> = new Map([
  ["commit", { run: commit }],
  ["reads", { run: reads }],
  ["flow", { run: flow }],
  ["chain", { run: chain }],
  ["scale", { run: scale }],
  ["activities", { run: activities }],
  ["attributes", { run: attributes }],
  ["latency", { run: latency }],
  ["memory", { run: memory }],
  ["monitor", { run: monitor }],
  ["libsql-file", { run: libsqlFile }],
  ["libsql", { run: libsql, needs: "LIBSQL_URL" }],
  ["rqlite", { run: rqlite, needs: "RQLITE_URL" }]
])

const usage = `usage: npm run bench -- [--quick] [--json | --markdown] [--directory DIR] [topic ...]

topics: ${[...topics.keys()].join(", ")}; without any, all
  libsql needs LIBSQL_URL, rqlite needs RQLITE_URL: they write on that server, into tables of their own, which they remove
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

/** Those that were named, or all whose variable is set. */
const chosen = (names: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const runs = new Map<string, Topic>()
    for (const name of names.length > 0 ? names : topics.keys()) {
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
