import { rm, stat } from "node:fs/promises"
import type { Client, Config } from "@libsql/client"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Statement } from "../../SqlDriver.js"
import type { Token } from "../hrana/token.js"
import { redact } from "../http/redactSecrets.js"
import type { Rows } from "./driver.js"
import { Failure, ofHrana, ofLocal } from "./error.js"
import { urlOf } from "./localConnection.js"
import { makeRead } from "./values.js"

/** - `open`: what opens the local file with its connection to the server. */
export interface Options {
  readonly filename: string
  readonly syncUrl: string
  readonly token: Token
  readonly open: (config: Config) => Client
}

/** The files of a copy are not as libSQL left them. The copy can be made again from the server. */
export class Damaged extends Data.TaggedError("Damaged")<{ readonly detail: string }> {}

/**
 * A copy of a server's database in a local file.
 *
 * - `filename`: of its data.
 * - `pull`: brings it up to date, and gives the last frame of the server's log that is in it; none where there is nothing.
 * - `read`: reads what is in it.
 * - `close`: closes it until it is used again.
 * - `remove`: removes its files. The next use makes a new one.
 */
export interface Copy {
  readonly filename: string
  readonly pull: Effect.Effect<number | undefined, Failure | Damaged>
  readonly read: (statement: Statement) => Effect.Effect<Rows, Failure | Damaged>
  readonly close: Effect.Effect<void>
  readonly remove: Effect.Effect<void, Failure>
}

/** A client that is open, and the token that it was opened with: with another its connection to the server only waits. */
interface Opened {
  readonly client: Client
  readonly token: string | undefined
}

/** What is beside the data file: libSQL's own index, and what SQLite keeps. */
const index = "-client_wal_index"
const beside = [index, "-wal", "-shm"]

/** A database that is not larger holds no table. */
const onePage = 4096

/** SQLite's log has a head, and then frames, each with a head of its own and a page. */
const logHead = 32
const frame = 24 + onePage

/** libSQL keeps the log of a copy in which there is something, also when it is closed. */
const isWhole = (log: number): boolean => log > logHead && (log - logHead) % frame === 0

/** The size of a file, none where there is no such file. */
const sizeOf = (file: string): Promise<number | undefined> =>
  stat(file).then(
    ({ size }) => size,
    () => undefined
  )

const refuse = (detail: string): Failure => new Failure({ reason: "open", outcome: "not-applied", path: "url", detail })

const noCopy = (filename: string): Failure =>
  refuse(
    `${filename} is no copy of a server, or one that lost its index: there is no ${filename + index}. Where it is a copy, ` +
      `remove ${["", ...beside].map((suffix) => filename + suffix).join(", ")}`
  )

/** Whether the files can be a copy. libSQL itself would go on with an empty one where the data is gone. */
const check = (filename: string): Effect.Effect<void, Failure | Damaged> =>
  Effect.gen(function* () {
    const sizes = Effect.promise(() => Promise.all([filename, filename + index, `${filename}-wal`].map(sizeOf)))
    const [data, known, log = 0] = yield* sizes
    if (known === undefined && data !== undefined && data > onePage) return yield* noCopy(filename)
    const lost = data === undefined || (data <= onePage && log === 0)
    // An index in which there is nothing is that of a copy which was never synced.
    if (known !== undefined && known > 0 && lost) {
      return yield* new Damaged({ detail: `${filename} is gone or was cut, ${filename + index} was not` })
    }
    // libSQL would go on behind what is in the index, and never have what was in the log.
    if (known !== undefined && known > 0 && !isWhole(log)) {
      return yield* new Damaged({ detail: `${filename}-wal is gone or was cut, ${filename + index} was not` })
    }
  })

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

// What libSQL's native code says, as a plain error without a code.
const damage = /malformed|not a database|SHORT_READ|Invalid meta file/

const noIndex = /without a wal_index/

/** Reads what opening a copy, syncing it or reading it failed with. */
const read = (options: Options, token: string | undefined, doing: string, error: unknown): Failure | Damaged => {
  const detail = redact(messageOf(error), token === undefined ? [] : [token])
  if (noIndex.test(detail)) return noCopy(options.filename)
  if (damage.test(detail)) return new Damaged({ detail: `${options.filename}: ${detail}` })
  return new Failure({
    reason: "connection",
    outcome: "not-applied",
    detail: `the copy in ${options.filename} cannot be ${doing}: ${detail}`
  })
}

export const make = (options: Options): Effect.Effect<Copy, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { filename, syncUrl } = options
    const rows = makeRead()
    let opened: Opened | undefined

    const close = Effect.sync(() => {
      opened?.client.close()
      opened = undefined
    })
    yield* Effect.addFinalizer(() => close)

    const open = (token: string | undefined) =>
      Effect.gen(function* () {
        yield* close
        yield* check(filename)
        const auth = token === undefined ? {} : { authToken: token }
        const config: Config = { url: urlOf(filename), syncUrl, intMode: "bigint", ...auth }
        const client = yield* Effect.try({
          try: () => options.open(config),
          catch: (error) => read(options, token, "opened", error)
        })
        opened = { client, token }
        return opened
      })

    const current = Effect.gen(function* () {
      const token = yield* Effect.mapError(options.token.current, ofHrana)
      return opened !== undefined && opened.token === token ? opened : yield* open(token)
    })

    return {
      filename,

      pull: Effect.gen(function* () {
        const { client, token } = yield* current
        const replicated = yield* Effect.tryPromise({
          try: () => client.sync(),
          catch: (error) => read(options, token, "synced", error)
        })
        return replicated?.frame_no
      }),

      read: (statement) =>
        Effect.flatMap(current, ({ client }) =>
          Effect.tryPromise({
            try: () => rows(client, statement),
            catch: (error) => {
              const failure = ofLocal(error)
              return damage.test(failure.detail) ? new Damaged({ detail: `${filename}: ${failure.detail}` }) : failure
            }
          })
        ),

      close,

      remove: Effect.zipRight(
        close,
        Effect.tryPromise({
          try: () => Promise.all(["", ...beside].map((suffix) => rm(filename + suffix, { force: true }))),
          catch: (error) => refuse(`the files of the copy in ${filename} cannot be removed: ${messageOf(error)}`)
        })
      )
    }
  })
