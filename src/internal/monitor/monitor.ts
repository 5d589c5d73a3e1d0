import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApp from "@effect/platform/HttpApp"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as JSONSchema from "effect/JSONSchema"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import type * as Scope from "effect/Scope"
import { make as makeControl } from "../../Control.js"
import type { Any as Definition } from "../../Definition.js"
import { ExecutionRuntime } from "../../ExecutionRuntime.js"
import { ExecutionStore } from "../../ExecutionStore.js"
import type { StoreRejected } from "../../StoreError.js"
import { Api } from "../monitorApi/api.js"
import { Failed, Missing, type Problem, Refused } from "../monitorApi/problems.js"
import { type Access, AccessEnds, CurrentAccess, ends, isLoopback, RemoteAddress } from "../monitorHttp/access.js"
import { asset } from "../monitorHttp/assets.js"
import { checkOrigin, guarded } from "../monitorHttp/guard.js"
import type { RequestInfo } from "../monitorHttp/listener.js"
import { locate, normalBase } from "../monitorHttp/place.js"
import { problemResponse } from "../monitorHttp/reply.js"
import * as shared from "../monitorHttp/shared.js"
import * as log from "../telemetry/log.js"
import * as handlers from "./handlers.js"
import * as jobs from "./jobs.js"
import * as live from "./live.js"
import * as overviews from "./overview.js"
import { type Redact, safely } from "./redactJson.js"

type Request = HttpServerRequest.HttpServerRequest
type Response = HttpServerResponse.HttpServerResponse

/** The options, as they were checked. `interval` is in milliseconds. */
export interface Options<R> {
  readonly basePath: string | undefined
  readonly access: ((request: Request) => Effect.Effect<Access, never, R>) | undefined
  readonly redact: Redact | undefined
  readonly definitions: ReadonlyArray<Definition>
  readonly interval: number
  readonly version: string
}

export interface Monitor {
  readonly handler: (request: globalThis.Request, info?: RequestInfo) => Promise<globalThis.Response>
  readonly httpApp: HttpApp.Default<never, Scope.Scope>
}

/** The schemas of a definition's events, for forms; one that is none in JSON Schema has a form for any JSON. */
const eventsOf = ({ schemas }: Definition) =>
  Object.fromEntries(
    Object.entries(schemas.events).map(([kind, schema]) => {
      try {
        return [kind, JSONSchema.make(schema)]
      } catch {
        return [kind, {}]
      }
    })
  )

const openApi = HttpServerResponse.text(JSON.stringify(OpenApi.fromApi(Api)), { contentType: "application/json" })

const noPlace = (path: string) =>
  problemResponse(404, new Missing({ title: "Not found", detail: `there is nothing at ${JSON.stringify(path)}` }))

const noAccess = (isDefault: boolean): Response =>
  problemResponse(
    403,
    new Refused({
      title: "No access",
      detail: isDefault
        ? "the monitor is open to this machine alone, unless it is given who may look: see its option access"
        : "you may not look at this monitor"
    })
  )

const noWrites = new Refused({ title: "No access", detail: "you may look at this monitor, and change nothing" })

const statusOf = ({ _tag }: Problem): number =>
  ({ Invalid: 400, Refused: 403, Missing: 404, Conflict: 409, TooLarge: 413, Failed: 500, Unavailable: 503 })[_tag]

const isSafe = ({ method }: Request): boolean => method === "GET" || method === "HEAD"

/** What depends on who asks, or is not of the store, is no answer for others. */
const isShared = (path: string): boolean => !/^\/api\/(session|jobs|live)$/.test(path)

const makeParts = <R>(options: Options<R>, store: ExecutionStore, kept: shared.Shared) =>
  Effect.gen(function* () {
    const runtime = yield* Effect.serviceOption(ExecutionRuntime)
    const { definitions, interval, redact, version } = options
    const control = yield* makeControl()
    const found = yield* overviews.make(store, runtime, interval)
    const acting = { store, control, definitions, forget: found.forget }
    const background = yield* jobs.make(acting)
    const stream = yield* live.make({ store, overviews: found, shared: kept, jobs: background.list, interval })
    const redacted = redact !== undefined
    return {
      reading: { store, redact: safely(redact), redacted, live: stream },
      acting,
      overviews: found,
      jobs: background,
      session: {
        version,
        interval,
        redacted,
        runtime: Option.isSome(runtime),
        definitions: definitions.map((definition) => ({ name: definition.name, events: eventsOf(definition) }))
      }
    }
  })

/** The routes of the API, with all that they need. */
const makeApi = (parts: handlers.Parts) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(
      Layer.mergeAll(
        handlers.make(parts),
        HttpApiBuilder.Router.Live,
        HttpApiBuilder.Middleware.layer,
        HttpServer.layerContext
      )
    )
    return Effect.provide(yield* Effect.provide(HttpApiBuilder.httpApp, context), context)
  })

type Answer = Effect.Effect<Response, Problem, HttpServerRequest.HttpServerRequest | Scope.Scope>

/** An answer to what no handler answered, or what one died of. */
const caught = (
  path: string,
  answer: Effect.Effect<Response, unknown, HttpServerRequest.HttpServerRequest | Scope.Scope>
): Answer =>
  Effect.catchAllCause(answer, (cause) => {
    if (cause._tag === "Fail" && Predicate.isTagged(cause.error, "RouteNotFound")) return Effect.succeed(noPlace(path))
    // Whoever asked is gone.
    if (Cause.isInterruptedOnly(cause)) return Effect.interrupt
    return Effect.zipRight(
      log.error("the monitor could not answer a request", cause),
      Effect.fail(new Failed({ title: "The monitor failed", detail: "what it met is in the log of its process" }))
    )
  })

const makeApp = <R>(
  options: Options<R>,
  api: Effect.Effect<Response, unknown, HttpServerRequest.HttpServerRequest | Scope.Scope>,
  kept: shared.Shared,
  context: Context.Context<R>
): HttpApp.Default<never, Scope.Scope> => {
  const base = options.basePath === undefined ? undefined : normalBase(options.basePath)

  const accessOf = (request: Request): Effect.Effect<Access> =>
    options.access === undefined
      ? Effect.succeed(isLoopback(request) ? "all" : "none")
      : Effect.provide(options.access(request), context)

  const asked = (request: Request, path: string, url: string, access: Access): Answer =>
    Effect.gen(function* () {
      yield* checkOrigin(request)
      if (!isSafe(request) && access !== "all") return yield* noWrites
      if (path === "/api/openapi.json") return openApi
      const answer = caught(path, api).pipe(
        Effect.provideService(HttpServerRequest.HttpServerRequest, request.modify({ url })),
        Effect.provideService(CurrentAccess, access),
        Effect.provideService(AccessEnds, ends(access, accessOf(request)))
      )
      if (isSafe(request)) return yield* isShared(path) ? kept.get(url, answer) : answer
      return yield* Effect.ensuring(answer, Effect.sync(kept.clear))
    })

  const inside = (request: Request, path: string, url: string): Answer =>
    Effect.gen(function* () {
      const access = yield* accessOf(request)
      if (access === "none") return noAccess(options.access === undefined)
      if (path.startsWith("/api/")) return yield* asked(request, path, url, access)
      return yield* (isSafe(request) ? asset(request, path) : undefined) ?? Effect.succeed(noPlace(path))
    })

  return Effect.gen(function* () {
    const remote = yield* Effect.serviceOption(RemoteAddress)
    const given = yield* HttpServerRequest.HttpServerRequest
    const request = Option.isNone(remote) ? given : given.modify({ remoteAddress: remote.value })
    const place = locate(request, base)
    switch (place._tag) {
      case "Outside":
        return noPlace(request.url)
      case "Beside":
        return HttpServerResponse.empty({ status: 307, headers: { location: place.to } })
      case "Inside":
        return yield* inside(request, place.path, place.url)
    }
  }).pipe(
    Effect.catchAll((problem) => Effect.succeed(problemResponse(statusOf(problem), problem))),
    Effect.map(guarded)
  )
}

export const make = <R>(options: Options<R>): Effect.Effect<Monitor, StoreRejected, ExecutionStore | R | Scope.Scope> =>
  Effect.gen(function* () {
    const store = yield* ExecutionStore
    const context = yield* Effect.context<R>()
    const kept = yield* shared.make
    const parts = yield* makeParts(options, store, kept)
    const httpApp = makeApp(options, yield* makeApi(parts), kept, context)
    const runtime = yield* Effect.runtime<never>()
    const handle = HttpApp.toWebHandlerRuntime(runtime)(httpApp)
    return {
      httpApp,
      handler: (request, info) =>
        handle(
          request,
          info?.remoteAddress === undefined
            ? undefined
            : Context.unsafeMake(new Map([[RemoteAddress.key, info.remoteAddress]]))
        )
    }
  })
