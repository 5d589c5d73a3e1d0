import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { RqliteRejected } from "../../RqliteError.js"
import { type Decoded, refusedOption } from "./options.js"

const refuse = (path: string, detail: string) => Either.left(refusedOption({ path, detail }))

const credentialsOf = ({ password, username }: Decoded): Either.Either<Option.Option<Credentials>, RqliteRejected> => {
  if (username === undefined) {
    return password === undefined ? Either.right(Option.none()) : refuse("username", "is missing, a password is given")
  }
  const credentials = { username, password: password ?? Redacted.make("") }
  const problem = credentialsProblem(credentials)
  return problem === undefined ? Either.right(Option.some(credentials)) : refuse("username", problem)
}

/** The nodes that the options name, each with the credentials it is given. */
export const nodesOf = (options: Decoded): Either.Either<ReadonlyArray<Node>, RqliteRejected> =>
  Either.gen(function* () {
    const shared = yield* credentialsOf(options)
    const nodes: Array<Node> = []
    for (const [i, url] of options.urls.entries()) {
      const node = parseUrl(Redacted.value(url), shared)
      if (Either.isLeft(node)) return yield* refuse(`urls[${i}]`, node.left)
      nodes.push(node.right)
    }
    return nodes.length === 0 ? yield* refuse("urls", "there are none") : nodes
  })

export interface Credentials {
  readonly username: string
  readonly password: Redacted.Redacted
}

/** A node's API: `url` has no credentials, no query and no slash at its end, so it can be shown and extended. */
export interface Node {
  readonly url: string
  readonly credentials: Option.Option<Credentials>
}

const decodePart = (text: string): string =>
  text.replace(/(?:%[0-9A-Fa-f]{2})+/g, (escapes) => {
    try {
      return decodeURIComponent(escapes)
    } catch {
      return escapes
    }
  })

const parse = (text: string): URL | undefined => {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

const isHttp = (url: URL): boolean => url.protocol === "http:" || url.protocol === "https:"

// Also of a URL that a node redirects to: /\/+$/ would take the square of its slashes.
const withoutSlashes = (path: string): string => {
  let end = path.length
  while (path[end - 1] === "/") end--
  return path.slice(0, end)
}

const baseOf = (url: URL, path = url.pathname): string => url.origin + withoutSlashes(path)

/** Why these credentials cannot be sent. */
export const credentialsProblem = ({ username }: Credentials): string | undefined =>
  username.includes(":") ? "a user name cannot hold a colon: basic authentication ends it there" : undefined

/**
 * Reads a node's URL. What is wrong is said without quoting the text: where it does not parse, nobody can tell which part of it is the
 * password.
 */
export const parseUrl = (text: string, shared: Option.Option<Credentials>): Either.Either<Node, string> => {
  const url = parse(text.trim())
  if (url === undefined) {
    return Either.left(
      "is not a URL such as http://127.0.0.1:4001 (in a password, write / ? # and % as %2F %3F %23 and %25)"
    )
  }
  if (!isHttp(url)) return Either.left("must begin with http:// or https://")
  if (url.search !== "" || url.hash !== "" || url.pathname.includes("@")) {
    return Either.left("has more than host, port and base path (in a password, write / ? and # as %2F %3F and %23)")
  }
  if (url.username === "" && url.password === "") return Either.right({ url: baseOf(url), credentials: shared })
  const credentials = {
    username: decodePart(url.username),
    password: Redacted.make(decodePart(url.password))
  }
  const problem = credentialsProblem(credentials)
  return problem === undefined
    ? Either.right({ url: baseOf(url), credentials: Option.some(credentials) })
    : Either.left(problem)
}

export interface Redirect {
  readonly from: Node
  readonly path: string
  readonly location: string | undefined
  readonly genuine: boolean
}

/**
 * The node that a `Location` names, asked for by `from` with `path`: one of the known nodes where it is one, else a new one with the same
 * credentials. A node that answers over TLS cannot have them sent on in the clear. Where no node says so (`genuine`), but a gateway, whose page
 * for a login may be anywhere, nothing is sent to an address that was not given.
 */
export const redirected = (
  { from, genuine, location, path }: Redirect,
  known: ReadonlyArray<Node>
): Either.Either<Node, string> => {
  const url = location === undefined ? undefined : parse(location)
  if (url === undefined || !isHttp(url)) return Either.left("it redirects to no address")
  const pathname = path.replace(/\?.*$/, "")
  const base = url.pathname.endsWith(pathname) ? url.pathname.slice(0, -pathname.length) : ""
  const target = baseOf(url, base)
  const listed =
    known.find((node) => node.url === target) ?? known.find((node) => parse(node.url)?.origin === url.origin)
  if (listed !== undefined) return Either.right(listed)
  if (!genuine) {
    return Either.left(
      `what stands before the node redirects to ${target}, which is none of the URLs that were given: list it where it is a node`
    )
  }
  if (from.url.startsWith("https:") && url.protocol === "http:") {
    return Either.left(
      `it redirects to ${target}, which is not encrypted: have the nodes advertise https, or list the leader's URL`
    )
  }
  return Either.right({ url: target, credentials: from.credentials })
}
