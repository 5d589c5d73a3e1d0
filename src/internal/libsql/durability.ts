import * as Effect from "effect/Effect"
import type { Statement } from "../../SqlDriver.js"
import * as log from "../telemetry/log.js"
import { Failure } from "./error.js"
import type { Remote } from "./remoteConnection.js"

type Wanted = "full" | "normal" | undefined

/** How SQLite syncs: 2 is at each commit. */
const full = 2

// Unlike the PRAGMA itself, this function may be called with a read-only token.
const synchronous = "SELECT synchronous FROM pragma_synchronous"

/**
 * Fails where the connection that it runs on does not sync each commit. Asking when the store opens is not enough: a server that is started
 * without namespaces forgets what its database is set to.
 */
export const guard: Statement = {
  sql: `SELECT json(iif((${synchronous}) >= ${full}, 'null', 'not synced'))`,
  params: []
}

const lossy =
  "the server writes commits to its disk without waiting for it (PRAGMA synchronous is 1): what it has acknowledged survives its own end, " +
  "but not a loss of power. Set the database's durability_mode to strong"

/** How the server syncs its disk; nothing where it does not say so. */
const asked = ({ query }: Remote): Effect.Effect<number | undefined, Failure> =>
  query({ sql: synchronous, params: [] }).pipe(
    Effect.map(({ value: [row] }) => (typeof row?.[0] === "number" ? row[0] : undefined)),
    Effect.catchIf(
      ({ reason }) => reason === "sql",
      () => Effect.succeed(undefined)
    )
  )

const refuse = (detail: string): Failure =>
  new Failure({ reason: "open", outcome: "not-applied", path: "durability", detail })

/** Asks a server whether a commit survives a loss of power, and refuses it, or says so, where it does not. */
export const check = (server: Remote, wanted: Wanted): Effect.Effect<void, Failure> =>
  Effect.flatMap(asked(server), (synchronous) => {
    if (wanted === "normal" || (synchronous !== undefined && synchronous >= full)) return Effect.void
    if (wanted === "full") return refuse(synchronous === undefined ? "the server does not tell how it syncs" : lossy)
    if (synchronous === undefined) return Effect.void
    const silence = 'or give durability: "normal" to accept it'
    return log.annotate({ package: "holdfast", module: "LibsqlStore" })(log.warning(`${lossy}, ${silence}`))
  })
