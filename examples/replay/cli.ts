/**
 * The command line: what can be asked for, and what is wrong with what was asked.
 */
import { parseArgs } from "node:util"
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Columns } from "./log.js"
import * as Target from "./target.js"

export const help = `Replays an event log through a durable runtime into a database.

  npm start -- [LOG] [OPTIONS]

Each case of the log becomes an execution, each of its rows an event that is sent to it durably. Stop it at any moment, by Ctrl-C or
kill -9, and run the same command again: it goes on where it was, and ends with the same table.

LOG is a CSV file with one row an event, the rows of a case in order. Without it, a small log that comes with this example is replayed.

Options:
  --store STORE         where to:
                          sqlite:FILE            (default sqlite:./replay.db)
                          libsql:file:FILE       by libSQL
                          libsql:URL             a libSQL server, with LIBSQL_AUTH_TOKEN in the environment
                          rqlite:URL[,URL...]    the nodes of a cluster, with RQLITE_USERNAME and RQLITE_PASSWORD
  --case NAME           the column with the case (default case:concept:name)
  --activity NAME       the column with the activity (default concept:name)
  --timestamp NAME      the column with the time (default time:timestamp)
  --delimiter CHAR      what is between the columns: one character, or "tab" (default: "," ";" tab or "|", as the header tells)
  --inactivity TIME     how long a case may go without an event before it is marked idle (default "1 hour")
  --batch N             how many rows are sent by one commit, 1 to 10000 (default 250)
  --verify              compare every stored state with a plain fold of the log in memory
  --json                print the final table as one line of JSON
  --verbose             show progress as lines (without it, as a bar where stderr is a terminal) and what the runtime logs
  --help                print this
`

export interface Options {
  /** None for the log that comes with the example. */
  readonly log: Option.Option<string>
  readonly store: Target.Target
  readonly columns: Columns
  /** None for what the header tells. */
  readonly delimiter: Option.Option<string>
  readonly inactivity: Duration.Duration
  readonly batch: number
  readonly verify: boolean
  readonly json: boolean
  readonly verbose: boolean
}

export class UsageError extends Schema.TaggedError<UsageError>()("UsageError", { problem: Schema.String }) {
  override get message(): string {
    return `${this.problem} (--help lists what there is)`
  }
}

/** What to do, or what is wrong with the arguments. `Option.none` asks for the help. */
export const parse = (args: ReadonlyArray<string>): Either.Either<Option.Option<Options>, UsageError> =>
  Either.gen(function* () {
    const { values, positionals } = yield* split(args)
    if (values.help === true) return Option.none()
    if (positionals.length > 1) {
      return yield* usage(`one log at a time: ${positionals.map((path) => JSON.stringify(path)).join(", ")}`)
    }
    return Option.some({
      log: Option.fromNullable(positionals[0]),
      store: yield* parseStore(values.store),
      columns: { case: values.case, activity: values.activity, timestamp: values.timestamp },
      delimiter: yield* parseDelimiter(values.delimiter),
      inactivity: yield* parseInactivity(values.inactivity),
      batch: yield* parseBatch(values.batch),
      verify: values.verify,
      json: values.json,
      verbose: values.verbose
    })
  })

const usage = (problem: string): Either.Either<never, UsageError> => Either.left(new UsageError({ problem }))

const split = (args: ReadonlyArray<string>) =>
  Either.try({
    try: () =>
      parseArgs({
        args: [...args],
        allowPositionals: true,
        options: {
          store: { type: "string", default: "sqlite:./replay.db" },
          case: { type: "string", default: "case:concept:name" },
          activity: { type: "string", default: "concept:name" },
          timestamp: { type: "string", default: "time:timestamp" },
          delimiter: { type: "string" },
          inactivity: { type: "string", default: "1 hour" },
          batch: { type: "string", default: "250" },
          verify: { type: "boolean", default: false },
          json: { type: "boolean", default: false },
          verbose: { type: "boolean", default: false },
          help: { type: "boolean", default: false }
        }
      }),
    // Its first sentence says what is wrong, and the others how to begin a file's name with a dash.
    catch: (error) =>
      new UsageError({ problem: String(error instanceof Error ? error.message : error).split(/[.\n]/)[0] ?? "" })
  })

const parseStore = (store: string): Either.Either<Options["store"], UsageError> =>
  Either.mapLeft(Target.parse(store), (problem) => new UsageError({ problem: `--store ${problem}` }))

const parseDelimiter = (text: string | undefined): Either.Either<Option.Option<string>, UsageError> => {
  if (text === undefined) return Either.right(Option.none())
  if (text === "tab" || text === "\\t") return Either.right(Option.some("\t"))
  return Array.from(text).length === 1 && !/["\r\n]/.test(text)
    ? Either.right(Option.some(text))
    : usage(`--delimiter ${JSON.stringify(text)}: expected one character that is no quote and no end of line, or tab`)
}

const longest = Duration.days(36_500)

const parseInactivity = (text: string): Either.Either<Duration.Duration, UsageError> =>
  Duration.decodeUnknown(text).pipe(
    Option.filter((duration) => Duration.greaterThan(duration, Duration.zero) && Duration.lessThan(duration, longest)),
    Either.fromOption(() => new UsageError({ problem: `--inactivity ${text}: expected a time as in "30 minutes"` }))
  )

const parseBatch = (text: string): Either.Either<number, UsageError> => {
  const batch = Number(text)
  return /^\d+$/.test(text) && batch >= 1 && batch <= 10_000
    ? Either.right(batch)
    : usage(`--batch ${text}: expected a whole number of 1 to 10000`)
}
