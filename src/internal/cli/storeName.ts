import { existsSync } from "node:fs"
import * as Either from "effect/Either"
import * as Redacted from "effect/Redacted"
import { nearest } from "./suggestion.js"

/** - `urls`: of nodes; they may hold a password. - `url`: of a server; it may hold a token. */
export type StoreName =
  | { readonly _tag: "Sqlite"; readonly filename: string }
  | { readonly _tag: "LibsqlFile"; readonly filename: string }
  | { readonly _tag: "LibsqlServer"; readonly url: Redacted.Redacted }
  | { readonly _tag: "Rqlite"; readonly urls: ReadonlyArray<Redacted.Redacted> }

/** How a store is named. */
export const forms = "sqlite:FILE, libsql:file:FILE, libsql:URL or rqlite:URL[,URL...]"

type Parsed = Either.Either<StoreName, string>

const file = (scheme: string, filename: string): Either.Either<string, string> =>
  filename === "" || filename === ":memory:"
    ? Either.left(`expected the name of a file after ${scheme}`)
    : Either.right(filename)

const server = (url: string): Parsed =>
  /^[a-z]+:\/\/[^/?#]*@/.test(url)
    ? Either.left("a libSQL server takes no user name and no password: its token is in LIBSQL_AUTH_TOKEN")
    : Either.right({ _tag: "LibsqlServer", url: Redacted.make(url) })

const parseLibsql = (text: string, rest: string): Parsed => {
  if (rest.startsWith("file:")) {
    return Either.map(file("libsql:file:", rest.slice(5)), (filename) => ({ _tag: "LibsqlFile", filename }))
  }
  if (rest.startsWith("//")) return server(text)
  return /^(https?|libsql):\/\//.test(rest)
    ? server(rest)
    : Either.left("expected file:FILE, libsql://HOST, https://HOST:PORT or http://HOST:PORT after libsql:")
}

const parseRqlite = (rest: string): Parsed => {
  const urls = rest.split(",").map((url) => url.trim())
  return urls.every((url) => /^https?:\/\//.test(url))
    ? Either.right({ _tag: "Rqlite", urls: urls.map((url) => Redacted.make(url)) })
    : Either.left("expected http://HOST:PORT or https://HOST:PORT after rqlite:")
}

/** What was probably meant by a name that begins with none of the three words. */
const meant = (text: string, scheme: string | undefined, rest: string): string => {
  if (existsSync(text)) return `; did you mean "sqlite:${text}"?`
  const word = scheme === undefined ? undefined : nearest(scheme, ["sqlite", "libsql", "rqlite"])
  return word === undefined ? "" : `; did you mean "${word}:${rest}"?`
}

/** The store that a text names, or what is wrong with it. The text may hold a secret where it is a URL. */
export const parse = (text: string): Parsed => {
  const [, scheme, rest = ""] = /^([^:]*):(.*)$/s.exec(text) ?? []
  switch (scheme) {
    case "sqlite":
      return Either.map(file("sqlite:", rest), (filename) => ({ _tag: "Sqlite", filename }))
    case "libsql":
      return parseLibsql(text, rest)
    case "rqlite":
      return parseRqlite(rest)
    default:
      return rest.includes("@") || rest.includes("?")
        ? Either.left(`expected ${forms}`)
        : Either.left(`${JSON.stringify(text)} is no store: expected ${forms}${meant(text, scheme, rest)}`)
  }
}

const hostOf = (url: Redacted.Redacted): string => {
  const text = Redacted.value(url)
  return URL.canParse(text) ? new URL(text).host : "an address that is none"
}

/** The store as people call it, without the secrets that its address may hold. */
export const describe = (name: StoreName): string => {
  switch (name._tag) {
    case "Sqlite":
    case "LibsqlFile":
      return name.filename
    case "LibsqlServer":
      return `the libSQL server at ${hostOf(name.url)}`
    case "Rqlite":
      return `rqlite at ${name.urls.map(hostOf).join(", ")}`
  }
}
