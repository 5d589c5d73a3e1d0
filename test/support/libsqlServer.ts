/**
 * Real servers to run tests on, where the environment names them: `LIBSQL_URL` that of a database, `LIBSQL_SYNC_URL` that of one to make
 * replicas of, `LIBSQL_AUTH_TOKEN` the token for both. What is in these databases is lost.
 */
import { createClient } from "@libsql/client"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"

export interface Server {
  readonly url: string
  readonly authToken: Redacted.Redacted | undefined
}

const server = (name: string): Option.Option<Server> =>
  Effect.runSync(
    Effect.all({
      url: Config.option(Config.string(name)),
      authToken: Config.map(Config.option(Config.redacted("LIBSQL_AUTH_TOKEN")), Option.getOrUndefined)
    }).pipe(Effect.map(({ authToken, url }) => Option.map(url, (url) => ({ url, authToken }))))
  )

export const remote = server("LIBSQL_URL")
export const primary = server("LIBSQL_SYNC_URL")

/** Drops all tables of a database. */
export const empty = ({ authToken, url }: Server): Effect.Effect<void> =>
  Effect.promise(async () => {
    const client = createClient({ url, ...(authToken === undefined ? {} : { authToken: Redacted.value(authToken) }) })
    const { rows } = await client.execute({
      sql: "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'harel\\_%' ESCAPE '\\'",
      args: []
    })
    await client.batch(
      rows.map((row) => ({ sql: `DROP TABLE ${String(row[0])}`, args: [] })),
      "write"
    )
    client.close()
  })
