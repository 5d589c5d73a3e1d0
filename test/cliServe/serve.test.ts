import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { holdfast } from "../support/cli.js"
import { filled } from "../support/cliStore.js"
import * as temp from "../support/temp.js"

const turn = Effect.async<void>((resume) => void setImmediate(() => resume(Effect.void)))

/** A monitor that is served, with its URL. */
const served = (...args: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const filename = yield* temp.database
    yield* filled(filename)
    const seen: Array<string> = []
    const fiber = yield* Effect.forkScoped(
      holdfast(["serve", "--store", `sqlite:${filename}`, "--port", "0", ...args], { seen })
    )
    yield* Effect.repeat(turn, { until: () => seen.length > 0 })
    return { url: seen[0] ?? "", fiber, filename }
  })

const get = (url: string) =>
  Effect.promise(async () => {
    const response = await fetch(url)
    return { status: response.status, json: await response.json() }
  })

const suspend = (url: string) =>
  Effect.promise(async () => {
    const body = JSON.stringify({ action: "suspend" })
    const headers = { "content-type": "application/json" }
    return (await fetch(`${url}api/execution?id=order-17`, { method: "POST", headers, body })).status
  })

describe("holdfast serve", () => {
  it.scopedLive("serves a monitor to this machine until it is ended", () =>
    Effect.gen(function* () {
      const { fiber, url } = yield* served()
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/)
      expect(yield* get(`${url}api/session`)).toMatchObject({ status: 200, json: { access: "all" } })
      expect(yield* suspend(url)).toBe(200)
      expect(yield* get(`${url}api/execution?id=order-17`)).toMatchObject({
        json: { execution: { status: "SUSPENDED" } }
      })
      yield* Fiber.interrupt(fiber)
      const gone = yield* Effect.promise(() =>
        fetch(url).then(
          () => "there",
          () => "gone"
        )
      )
      expect(gone).toBe("gone")
    })
  )

  it.scopedLive("lets nobody change anything where it is told so", () =>
    Effect.gen(function* () {
      const { url } = yield* served("--read-only")
      expect(yield* get(`${url}api/session`)).toMatchObject({ json: { access: "read" } })
      expect(yield* suspend(url)).toBe(403)
    })
  )

  it.scopedLive("beyond this machine it is to look at, unless changes are allowed", () =>
    Effect.gen(function* () {
      const { url } = yield* served("--host", "0.0.0.0")
      const local = url.replace("0.0.0.0", "127.0.0.1")
      expect(yield* get(`${local}api/session`)).toMatchObject({ json: { access: "read" } })
      expect(yield* suspend(local)).toBe(403)
      const other = yield* served("--host", "0.0.0.0", "--allow-changes")
      expect(yield* suspend(other.url.replace("0.0.0.0", "127.0.0.1"))).toBe(200)
    })
  )

  it.scopedLive("says what is wrong with where it is to listen", () =>
    Effect.gen(function* () {
      const { filename, url } = yield* served()
      const run = (...args: ReadonlyArray<string>) => holdfast(["serve", "--store", `sqlite:${filename}`, ...args])
      const taken = yield* run("--port", new URL(url).port)
      expect(taken.code).toBe(1)
      expect(taken.notes.join()).toContain("is in use: give another --port")
      for (const port of ["x", "-1", "65536"]) expect((yield* run("--port", port)).code, port).toBe(2)
      expect((yield* run("--read-only", "--allow-changes")).code).toBe(2)
      expect((yield* run("--host", "203.0.113.1")).code).toBe(2)
    })
  )
})
