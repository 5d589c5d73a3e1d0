import * as Config from "effect/Config"
import * as Option from "effect/Option"
import * as RqliteClient from "../../RqliteClient.js"
import type { Options } from "../../RqliteStore.js"

/** @internal */
export const options: Config.Config<Options> = Config.all({
  client: RqliteClient.config,
  level: Config.option(Config.literal("linearizable", "strong", "weak", "none")("RQLITE_LEVEL")),
  prefix: Config.option(Config.string("RQLITE_TABLE_PREFIX")),
  connectRetries: Config.option(Config.integer("RQLITE_CONNECT_RETRIES")),
  retryDelay: Config.option(Config.duration("RQLITE_RETRY_DELAY"))
}).pipe(
  Config.map(({ client, connectRetries, level, prefix, retryDelay }) => ({
    ...client,
    ...Option.match(level, { onNone: () => ({}), onSome: (level) => ({ level }) }),
    ...Option.match(prefix, { onNone: () => ({}), onSome: (prefix) => ({ prefix }) }),
    ...Option.match(connectRetries, { onNone: () => ({}), onSome: (connectRetries) => ({ connectRetries }) }),
    ...Option.match(retryDelay, { onNone: () => ({}), onSome: (retryDelay) => ({ retryDelay }) })
  }))
)
