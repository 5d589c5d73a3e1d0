import * as Config from "effect/Config"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Options } from "../../RqliteClient.js"

const urls = Config.map(Config.redacted("RQLITE_URL"), (text) =>
  Redacted.value(text)
    .split(",")
    .map((url) => url.trim())
    .filter((url) => url !== "")
    .map((url) => Redacted.make(url))
)

/** @internal */
export const options: Config.Config<Options> = Config.all({
  urls,
  username: Config.map(Config.option(Config.string("RQLITE_USERNAME")), Option.getOrUndefined),
  password: Config.map(Config.option(Config.redacted("RQLITE_PASSWORD")), Option.getOrUndefined),
  timeout: Config.map(Config.option(Config.duration("RQLITE_TIMEOUT")), Option.getOrUndefined)
})
