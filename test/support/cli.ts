import * as NodeContext from "@effect/platform-node/NodeContext"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import { usage } from "../../src/internal/cli/failure.js"
import { Screen } from "../../src/internal/cli/screen.js"
import { run } from "../../src/internal/cliCommands/main.js"

/** What a command came to: its exit code, its lines on stdout and on stderr, and what it asked. */
export interface Ran {
  readonly code: number
  readonly out: ReadonlyArray<string>
  readonly notes: ReadonlyArray<string>
  readonly asked: ReadonlyArray<string>
}

/**
 * - `answer`: what is answered to a question; without it nobody can be asked.
 * - `colors`, `width`: of the terminal that there seems to be.
 * - `seen`: gets the lines of stdout as they come.
 */
export interface Terminal {
  readonly answer?: boolean | undefined
  readonly colors?: boolean | undefined
  readonly width?: number | undefined
  readonly seen?: Array<string> | undefined
  readonly env?: ReadonlyMap<string, string> | undefined
}

/** Runs a command line in this process. */
export const holdfast = (
  args: ReadonlyArray<string>,
  { answer, colors = false, env = new Map(), seen, width }: Terminal = {}
): Effect.Effect<Ran> =>
  Effect.gen(function* () {
    const out = seen ?? []
    const notes: Array<string> = []
    const asked: Array<string> = []
    const screen: Screen = {
      out: (line) => Effect.sync(() => void out.push(...line.split("\n"))),
      note: (line) => Effect.sync(() => void notes.push(line)),
      colors,
      width,
      confirm: (question) => {
        asked.push(question)
        return answer === undefined ? Effect.fail(usage("nobody can be asked")) : Effect.succeed(answer)
      },
      progress: () => Effect.void,
      clear: Effect.void
    }
    const code = yield* run(args).pipe(
      Effect.provideService(Screen, screen),
      Effect.provide(NodeContext.layer),
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map(env)))
    )
    return { code, out, notes, asked }
  })

/** The values of the lines that a command printed as JSON. */
export const values = ({ out }: Ran): ReadonlyArray<unknown> => out.map((line): unknown => JSON.parse(line))
