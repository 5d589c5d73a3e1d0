import { createServer, type Server } from "node:http"
import * as Command from "@effect/cli/Command"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import { ExecutionStore } from "../../ExecutionStore.js"
import * as Monitor from "../../Monitor.js"
import { type CliError, failed, usage } from "../cli/failure.js"
import { toText } from "../cli/json.js"
import { common, flag, value, whole, withStore } from "../cli/options.js"
import { Screen } from "../cli/screen.js"

const usualHost = "127.0.0.1"
const usualPort = 4600

const isLocal = (host: string): boolean => /^(127\.\d+\.\d+\.\d+|::1|localhost)$/i.test(host)

const given = {
  host: value("host"),
  port: value("port"),
  "read-only": flag("read-only"),
  "allow-changes": flag("allow-changes")
}

/** Why nothing can be heard there. */
const whyNot = (error: unknown, host: string, port: number): CliError => {
  const code = Predicate.hasProperty(error, "code") ? String(error.code) : String(error)
  const place = `port ${port} of ${host}`
  switch (code) {
    case "EADDRINUSE":
      return failed(`${place} is in use: give another --port, or --port 0 for one that is free`)
    case "EACCES":
      return failed(`${place} is not for this user: give a --port of 1024 or more`)
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
      return usage(`--host ${JSON.stringify(host)} is no address of this machine`)
    default:
      return failed(`${place} cannot be listened to: ${code}`)
  }
}

/** A server that listens until the scope closes; gives the port. */
const listening = (server: Server, host: string, port: number) =>
  Effect.acquireRelease(
    Effect.async<number, CliError>((resume) => {
      server.once("error", (error) => resume(Effect.fail(whyNot(error, host, port))))
      server.listen(port, host, () => {
        const address = server.address()
        resume(Effect.succeed(typeof address === "object" && address !== null ? address.port : port))
      })
    }),
    () =>
      Effect.async<void>((resume) => {
        server.close(() => resume(Effect.void))
        server.closeAllConnections()
      })
  )

const urlOf = (host: string, port: number): string => `http://${host.includes(":") ? `[${host}]` : host}:${port}/`

interface Options {
  readonly host: Option.Option<string>
  readonly port: Option.Option<string>
  readonly "read-only": boolean
  readonly "allow-changes": boolean
}

/** Who may do what: whoever is on this machine all; whoever comes from elsewhere looks, unless more is allowed. */
const accessOf = (local: boolean, options: Options): Monitor.Options["access"] => {
  const most = options["read-only"] || !(local || options["allow-changes"]) ? "read" : "all"
  return (request) => Effect.succeed(local && !Monitor.isLoopback(request) ? "none" : most)
}

const warning =
  "whoever reaches this address sees what is in the store: there is no login. Mount the monitor in an application behind yours, or keep to this machine"

export const serve = Command.make("serve", { ...common, ...given }, (options) =>
  withStore(options, options["read-only"] ? "read" : "write", ({ name, store }) =>
    Effect.gen(function* () {
      const screen = yield* Screen
      const host = Option.getOrElse(options.host, () => usualHost)
      const local = isLocal(host)
      if (options["read-only"] && options["allow-changes"]) {
        return yield* usage("--read-only and --allow-changes cannot both be")
      }
      const asked = yield* Option.match(options.port, {
        onNone: () => Effect.succeed(usualPort),
        onSome: (text) => whole("--port", text, 0, 65_535)
      })
      const monitor = yield* Effect.provideService(
        Monitor.make({ basePath: "/", access: accessOf(local, options) }),
        ExecutionStore,
        store
      )
      const port = yield* listening(createServer(monitor.listener), host, asked)
      const url = urlOf(host, port)
      if (!local) yield* screen.note(warning)
      yield* screen.out(options.json ? yield* toText({ url, store: name }) : url)
      yield* screen.note(`the monitor of ${name} is there; Ctrl+C ends it`)
      return yield* Effect.never
    })
  )
).pipe(Command.withDescription("Serves pages that show what is in the store, and change it."))
