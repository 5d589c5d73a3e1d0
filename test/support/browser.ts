/** Pages of a monitor in headless Chromium. */
import { existsSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as Monitor from "holdfast/Monitor"
import * as SqliteStore from "holdfast/SqliteStore"
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import * as Server from "./http.js"
import { Order } from "./monitorDemo.js"

const places = [
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome-stable",
  "/usr/bin/google-chrome"
]

const executable = (): string => {
  const found = [process.env["CHROMIUM"] ?? "", ...places].find((place) => place !== "" && existsSync(place))
  if (found === undefined)
    throw new Error("there is no Chromium: run apt-get install chromium, or set CHROMIUM to its path")
  return found
}

/** A browser for as long as the scope. */
export const launched: Effect.Effect<Browser, never, Scope.Scope> = Effect.acquireRelease(
  // Root has no sandbox in a container.
  Effect.promise(() =>
    chromium.launch({ executablePath: executable(), args: ["--no-sandbox", "--disable-dev-shm-usage"] })
  ),
  (browser) => Effect.promise(() => browser.close())
)

/** What a test has: a page, where its monitor is, what the console said of trouble, and the store behind it. */
export interface Opened {
  readonly page: Page
  readonly url: string
  readonly trouble: ReadonlyArray<string>
  readonly store: ExecutionStore.ExecutionStore
}

const base = "/admin/holdfast"

/** A monitor of a store on SQLite, with what `fill` puts there, and a page that is not at it yet. */
export const opened = <E>(
  browser: Browser,
  fill: Effect.Effect<void, E, ExecutionStore.ExecutionStore>,
  options: Monitor.Options & { readonly context?: BrowserContextOptions | undefined } = {}
) =>
  Effect.gen(function* () {
    const store = yield* SqliteStore.make({ filename: ":memory:" })
    const provided = Effect.provideService(ExecutionStore.ExecutionStore, store)
    yield* provided(fill)
    const { context: contextOptions, ...rest } = options
    const monitor = yield* provided(
      Monitor.make({ basePath: base, definitions: [Order], interval: "200 millis", ...rest })
    )
    const server = yield* Effect.acquireRelease(Server.listen(monitor.listener, 0), Server.close)
    const context = yield* Effect.acquireRelease(
      Effect.promise(() => browser.newContext({ viewport: { width: 1280, height: 800 }, ...contextOptions })),
      (context) => Effect.promise(() => context.close())
    )
    const page = yield* Effect.promise(() => context.newPage())
    page.setDefaultTimeout(10_000)
    const trouble: Array<string> = []
    page.on("pageerror", (error) => trouble.push(String(error)))
    page.on("console", (message) => {
      // That an answer was a problem is part of some tests.
      if (message.type() === "error" && !message.text().includes("Failed to load resource"))
        trouble.push(message.text())
    })
    const opened: Opened = { page, url: `http://127.0.0.1:${Server.portOf(server)}${base}/`, trouble, store }
    return opened
  })

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")

interface Violation {
  readonly id: string
  readonly nodes: ReadonlyArray<{ readonly html: string; readonly failureSummary?: string }>
}

interface Found {
  readonly violations: ReadonlyArray<Violation>
}

/** What is not accessible on a page, in words. */
export const violations = async (page: Page): Promise<ReadonlyArray<string>> => {
  await page.evaluate(axe)
  const found = await page.evaluate<Found>('axe.run({ resultTypes: ["violations"] })')
  return found.violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html} ${nodes[0]?.failureSummary ?? ""}`)
}
