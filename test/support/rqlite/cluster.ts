import * as Effect from "effect/Effect"
import type * as RqliteClient from "holdfast/RqliteClient"
import { connect } from "./client.js"
import * as RqliteServer from "./server.js"

const create = [{ sql: "CREATE TABLE t(a)" }]
export const insert = [{ sql: "INSERT INTO t(a) VALUES(?)", params: ["value"] }]
export const count = [{ sql: "SELECT count(*) FROM t" }]

/** `0 query?level=none`: the node that was asked, and what for, without what every request says. */
const brief = ({ node, url }: RqliteServer.Received): string => {
  const [path = "", query = ""] = url.replace("/db/", "").split("?")
  const said = query.split("&").filter((option) => !["", "transaction", "blob_array"].includes(option))
  return `${node} ${path}${said.length === 0 ? "" : `?${said.join("&")}`}`
}

/**
 * A cluster with an empty table `t`.
 *
 * - `stored`: how many rows the table has.
 * - `asked`: the requests since this was asked the last time.
 */
export const cluster = (options?: RqliteServer.Options & { readonly credentials?: Partial<RqliteClient.Options> }) =>
  Effect.gen(function* () {
    const server = yield* RqliteServer.make(options)
    const setup = yield* connect(server.urls, options?.credentials)
    yield* setup.execute(create)
    const stored = Effect.map(server.rows("SELECT count(*) FROM t"), ([row]) => row?.[0])
    let seen = 0
    const asked = Effect.map(server.received, (received) => {
      const news = received.slice(seen)
      seen = received.length
      return news.map(brief)
    })
    yield* asked
    return { ...server, stored, asked }
  })

/** The only value of a query. */
export const value = (results: ReadonlyArray<RqliteClient.QueryResult>) => results[0]?.values[0]?.[0]

export const node = (server: Pick<RqliteServer.RqliteServer, "nodes">, index: number): RqliteServer.ClusterNode => {
  const node = server.nodes[index]
  if (node === undefined) throw new Error(`there is no node ${index}`)
  return node
}
