import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Options } from "../../RqliteClient.js"
import { RqliteRejected } from "../../RqliteError.js"
import { type Credentials, credentialsProblem, type Node, parseUrl } from "./nodes.js"

const refuse = (path: string, detail: string) =>
  Either.left(new RqliteRejected({ operation: "open", reason: "invalid-input", path, detail }))

const credentialsOf = ({ password, username }: Options): Either.Either<Option.Option<Credentials>, RqliteRejected> => {
  if (username === undefined) {
    return password === undefined ? Either.right(Option.none()) : refuse("username", "is missing, a password is given")
  }
  const credentials = { username, password: password ?? Redacted.make("") }
  const problem = credentialsProblem(credentials)
  return problem === undefined ? Either.right(Option.some(credentials)) : refuse("username", problem)
}

/** The nodes that the options name, each with the credentials it is given. */
export const nodesOf = (options: Options): Either.Either<ReadonlyArray<Node>, RqliteRejected> =>
  Either.gen(function* () {
    const shared = yield* credentialsOf(options)
    const nodes: Array<Node> = []
    for (const [i, url] of options.urls.entries()) {
      const node = parseUrl(Redacted.isRedacted(url) ? Redacted.value(url) : url, shared)
      if (Either.isLeft(node)) return yield* refuse(`urls[${i}]`, node.left)
      nodes.push(node.right)
    }
    return nodes.length === 0 ? yield* refuse("urls", "there are none") : nodes
  })
