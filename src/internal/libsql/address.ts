import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import type { StoreRejected } from "../../StoreError.js"
import { refused } from "../options/decode.js"
import { isFilename } from "../sqlite/checkFile.js"

/** A database in this process: `filename` is none for one in memory. */
export interface Local {
  readonly _tag: "Local"
  readonly filename: string | undefined
}

/** A server: `url` holds no secret; `token` is what the address brought along. */
export interface Remote {
  readonly _tag: "Remote"
  readonly url: string
  readonly token: Redacted.Redacted | undefined
}

export type Address = Local | Remote

const wrongOption = refused("open", "LibsqlStore")

/** Refuses an option of the store. */
export const refuse = (path: string, detail: string): Either.Either<never, StoreRejected> =>
  Either.left(wrongOption({ path, detail }))

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

const parseFile = (path: string, rest: string): Either.Either<Address, StoreRejected> => {
  // After "file:" comes a path, or a host, which can only be this one, and an absolute path.
  const name = decoded(rest.replace(/^\/\/(localhost)?(?=\/)/i, ""))
  if (name === ":memory:") return Either.right({ _tag: "Local", filename: undefined })
  if (/[?#]/.test(rest)) return refuse(path, "a file: URL takes no parameters here: write ? and # as %3F and %23")
  if (name === undefined || !isFilename(name) || name.startsWith("//")) {
    return refuse(path, "expected file: and a path such as file:store.db or file:/var/lib/store.db")
  }
  return Either.right({ _tag: "Local", filename: name })
}

const parseUrl = (text: string): URL | undefined => {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/** What is wrong is said without quoting the text, a part of which may be a secret. */
const parseRemote = (path: string, scheme: string, rest: string): Either.Either<Address, StoreRejected> => {
  const url = parseUrl(`https:${rest}`)
  if (url === undefined || !rest.startsWith("//")) {
    return refuse(path, `${scheme}: does not begin a URL such as ${scheme}://db.example.com`)
  }
  if (url.username !== "" || url.password !== "") {
    return refuse(path, "a user name or password in the URL is not sent: give authToken")
  }
  const params = new Map(url.searchParams)
  const tls = params.get("tls") ?? (scheme === "http" ? "0" : "1")
  const token = params.get("authToken")
  params.delete("tls")
  params.delete("authToken")
  if (params.size > 0 || url.hash !== "") {
    return refuse(path, "the URL has parameters other than tls and authToken, or a fragment")
  }
  if ((tls !== "0" && tls !== "1") || (scheme === "http" && tls === "1") || (scheme === "https" && tls === "0")) {
    return refuse(path, "tls=0 and tls=1 say of a libsql: URL whether it is http or https")
  }
  const port = /^\/\/(?:\[[^\]]*\]|[^/?#:]*):(\d+)/.exec(rest)?.[1]
  if (scheme === "libsql" && tls === "0" && port === undefined) return refuse(path, "tls=0 needs a port in the URL")
  // A port that is the default of https is not that of http.
  const host = port === undefined ? url.hostname : `${url.hostname}:${port}`
  return Either.right({
    _tag: "Remote",
    url: `${tls === "1" ? "https" : "http"}://${host}${url.pathname.replace(/\/+$/, "")}`,
    token: token === undefined ? undefined : Redacted.make(token)
  })
}

/** Reads where a database is; `path` names the option. */
export const parse = (text: string, path: string): Either.Either<Address, StoreRejected> => {
  if (text === ":memory:") return Either.right({ _tag: "Local", filename: undefined })
  const [, scheme = "", rest = ""] = /^([A-Za-z][A-Za-z0-9+.-]*):(.*)$/s.exec(text) ?? []
  switch (scheme.toLowerCase()) {
    case "file":
      return parseFile(path, rest)
    case "libsql":
    case "http":
    case "https":
      return parseRemote(path, scheme.toLowerCase(), rest)
    case "ws":
    case "wss":
      return refuse(path, "WebSockets are not used here: write libsql:, https: or http: for the same server")
    default:
      return refuse(path, "expected a URL that begins with file:, libsql:, https: or http:, or :memory:")
  }
}
