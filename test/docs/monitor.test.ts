import { readFile } from "node:fs/promises"
import * as Http from "node:http"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as MemoryStore from "holdfast/MemoryStore"
import * as Monitor from "holdfast/Monitor"
import { close, portOf } from "../support/http.js"

const page = Effect.promise(() => readFile(fileURLToPath(new URL("../../docs/monitor.md", import.meta.url)), "utf8"))

/** The lines that the page gives for a server. */
const linesFor = (server: string) =>
  Effect.map(page, (text) => {
    const [, block = ""] =
      new RegExp(`^In (?:a server of )?${server}[^\\n]*\\n\\n\`\`\`js\\n([\\s\\S]*?)^\`\`\``, "m").exec(
        text.replace("Then, in a server", "In a server")
      ) ?? []
    return block
  })

type Handler = (request: Request, server: object) => Promise<Response>

/** Runs the lines with what they take from around them. */
const runLines = (lines: string, around: { readonly [name: string]: unknown }) =>
  Effect.promise(async () => {
    const names = Object.keys(around)
    const run = new Function(
      ...names,
      `return (async () => { ${lines}; return typeof server === "undefined" ? undefined : server })()`
    )
    const result: unknown = await run(...names.map((name) => around[name]))
    return result
  })

const runtimeOf = (options: Monitor.Options = {}) =>
  Effect.acquireRelease(
    Effect.sync(() =>
      ManagedRuntime.make(
        Monitor.layer({ basePath: "/admin/holdfast", ...options }).pipe(Layer.provide(MemoryStore.layer))
      )
    ),
    (runtime) => runtime.disposeEffect
  )

const url = "http://localhost:3000/admin/holdfast/api/session"

describe("the page about the monitor", () => {
  it.scopedLive("mounts it in three lines in a server of Node", () =>
    Effect.gen(function* () {
      const lines = yield* linesFor("Node")
      expect(lines.trim().split("\n")).toHaveLength(3)
      const around = { Monitor, runtime: yield* runtimeOf(), createServer: Http.createServer }
      const server = yield* runLines(lines.replace("3000", "0, '127.0.0.1'"), around)
      if (!(server instanceof Http.Server)) return expect(server).toBeInstanceOf(Http.Server)
      yield* Effect.addFinalizer(() => close(server))
      yield* Effect.async<void>((resume) => void server.once("listening", () => resume(Effect.void)))
      const answer = yield* Effect.promise(() => fetch(url.replace("localhost:3000", `127.0.0.1:${portOf(server)}`)))
      expect(answer.status).toBe(200)
    })
  )

  it.scopedLive("mounts it in three lines in Bun, which has a stand-in here", () =>
    Effect.gen(function* () {
      const lines = yield* linesFor("Bun")
      expect(lines.trim().split("\n")).toHaveLength(3)
      let served: Handler | undefined
      const Bun = { serve: ({ fetch }: { readonly fetch: Handler }) => (served = fetch) }
      yield* runLines(lines, { Monitor, runtime: yield* runtimeOf(), Bun })
      const ask = (address: string) =>
        Effect.promise(async () => {
          const request = new Request(url, { headers: { host: "localhost:3000" } })
          return (await served?.(request, { requestIP: () => ({ address }) }))?.status
        })
      expect(yield* ask("127.0.0.1")).toBe(200)
      expect(yield* ask("10.0.0.7")).toBe(403)
    })
  )

  it.scopedLive("mounts it in three lines in Hono, which has a stand-in here", () =>
    Effect.gen(function* () {
      const lines = yield* linesFor("Hono")
      expect(lines.trim().split("\n")).toHaveLength(3)
      const routes = new Map<string, (context: object) => Promise<Response>>()
      const app = {
        all: (path: string, handler: (context: object) => Promise<Response>) => void routes.set(path, handler)
      }
      yield* runLines(lines, { Monitor, runtime: yield* runtimeOf({ access: () => Effect.succeed("read") }), app })
      expect(Array.from(routes.keys())).toEqual(["/admin/holdfast", "/admin/holdfast/*"])
      const statusOf = (route: string, raw: Request) =>
        Effect.promise(async () => (await routes.get(route)?.({ req: { raw } }))?.status)
      expect(yield* statusOf("/admin/holdfast/*", new Request(url))).toBe(200)
      expect(yield* statusOf("/admin/holdfast", new Request("http://localhost/admin/holdfast"))).toBe(307)
    })
  )
})
