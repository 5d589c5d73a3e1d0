/**
 * A monitor: pages, and an API for scripts, that show what is in a store and let an operator change it. An application mounts it behind its
 * own login, under any path.
 *
 * It needs `@effect/platform`, and loads nothing from elsewhere: `docs/monitor.md`.
 *
 * @since 0.1.0
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import type * as HttpApp from "@effect/platform/HttpApp"
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Definition from "./Definition.js"
import type { ExecutionStore } from "./ExecutionStore.js"
import * as internal from "./internal/monitor/monitor.js"
import * as checked from "./internal/monitor/options.js"
import * as api from "./internal/monitorApi/api.js"
import * as access from "./internal/monitorHttp/access.js"
import * as listener from "./internal/monitorHttp/listener.js"
import { versionOfPackage } from "./internal/util/version.js"
import type { StoreRejected } from "./StoreError.js"

/**
 * What somebody may do with a monitor: look and change, look alone, or nothing.
 *
 * @since 0.1.0
 * @category models
 */
export type Access = "all" | "read" | "none"

/**
 * What a server knows of a request that the request itself does not say.
 *
 * - `remoteAddress`: the address of whoever sent it, as Node has it in `request.socket.remoteAddress`. Without it nobody counts as being on
 *   this machine.
 *
 * @since 0.1.0
 * @category models
 */
export interface RequestInfo {
  readonly remoteAddress?: string | undefined
}

/**
 * - `basePath`: the path where it is mounted, such as `"/admin/holdfast"`, as the server sees it in the URL. Without it the server takes that
 *   path off before.
 * - `access`: what whoever sent a request may do, asked for each request. By default everything from this machine, and nothing from
 *   elsewhere; see {@link isLoopback}.
 * - `redact`: masks what executions hold before it is shown: contexts, results, payloads. It is given JSON values and gives JSON values. What
 *   it throws shows nothing of them. Stored texts that do not decode are not shown then.
 * - `definitions`: definitions whose events have forms; what is sent by the monitor is checked by their schemas.
 * - `interval`: how often open pages are told of changes, by default each second; at least 100 milliseconds.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options<R = never> {
  readonly basePath?: string | undefined
  readonly access?: ((request: HttpServerRequest.HttpServerRequest) => Effect.Effect<Access, never, R>) | undefined
  readonly redact?: ((json: unknown) => unknown) | undefined
  readonly definitions?: ReadonlyArray<Definition.Any> | undefined
  readonly interval?: Duration.DurationInput | undefined
}

/**
 * A monitor, in the forms in which servers take it. Each is the same.
 *
 * - `handler`: for servers of web standards: Bun, Hono, Deno.
 * - `listener`: for a server of `node:http`.
 * - `httpApp`: for `@effect/platform`, as in `HttpRouter.mountApp` or `HttpServer.serve`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Monitor {
  readonly handler: (request: Request, info?: RequestInfo) => Promise<Response>
  readonly listener: (request: IncomingMessage, response: ServerResponse) => void
  readonly httpApp: HttpApp.Default<never, Scope.Scope>
}

/**
 * The service of a monitor.
 *
 * @since 0.1.0
 * @category tags
 */
export const Monitor: Context.Tag<Monitor, Monitor> = Context.GenericTag<Monitor>("holdfast/Monitor")

/**
 * The API of a monitor, for `HttpApiClient` and for documents; a monitor serves its OpenAPI document at `api/openapi.json`.
 *
 * @since 0.1.0
 * @category api
 */
export const Api: typeof api.Api = api.Api

/**
 * Whether a request comes from this machine, as far as that can be known: from a loopback address, to a name that only this machine has, with
 * no sign of a proxy. A proxy on the same machine that gives no sign of itself cannot be told from a local user: an application behind one
 * says itself who may look.
 *
 * @since 0.1.0
 * @category access
 */
export const isLoopback: (request: HttpServerRequest.HttpServerRequest) => boolean = access.isLoopback

/**
 * A monitor of the store in context. Where an `ExecutionRuntime` is in context too, it shows its health.
 *
 * While no page is open it reads nothing. While some are, it reads the store once each `interval`, however many look. Jobs that pages began
 * run until they end, or until the scope closes.
 *
 * Fails with `StoreRejected` where an option is invalid.
 *
 * @example
 * ```ts
 * import { createServer } from "node:http"
 * import { Effect } from "effect"
 * import { MemoryStore } from "holdfast"
 * import * as Monitor from "holdfast/Monitor"
 *
 * const program = Effect.gen(function* () {
 *   const monitor = yield* Monitor.make({ basePath: "/admin/holdfast" })
 *   return createServer(monitor.listener)
 * }).pipe(Effect.scoped, Effect.provide(MemoryStore.layer))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <R = never>(
  options: Options<R> = {}
): Effect.Effect<Monitor, StoreRejected, ExecutionStore | R | Scope.Scope> =>
  Effect.gen(function* () {
    const interval = yield* checked.check(options)
    const { handler, httpApp } = yield* internal.make<R>({
      basePath: options.basePath,
      access: options.access,
      redact: options.redact,
      definitions: options.definitions ?? [],
      interval,
      version: versionOfPackage()
    })
    return { handler, httpApp, listener: listener.make(handler) }
  })

/**
 * {@link make} as a layer.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <R = never>(
  options: Options<R> = {}
): Layer.Layer<Monitor, StoreRejected, ExecutionStore | Exclude<R, Scope.Scope>> => Layer.scoped(Monitor, make(options))
