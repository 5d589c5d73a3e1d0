import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** What happens to a recipe's definitions: a program behind its block, with `live`, the layers that are to run. */
interface Scenario {
  readonly name: string
  readonly has: string
  readonly live: string
  readonly program: string
  readonly expected: unknown
}

const scenarios: ReadonlyArray<Scenario> = [
  {
    name: "a person approves, or does not in time",
    has: "ApprovalLive",
    live: "ApprovalLive",
    program: `
      for (const id of ["a", "b"]) yield* Approval.start(id, { request: "leave", approver: "ada" })
      yield* idle
      yield* Approval.send("a", "Decided", { approved: true, by: "ada" })
      yield* adjust("6 days")
      return [yield* Approval.await("a"), yield* Approval.await("b")]`,
    expected: [
      { approved: true, by: "ada" },
      { approved: false, by: null }
    ]
  },
  {
    name: "images are resized side by side",
    has: "AlbumLive",
    live: "AlbumLive, ResizeLive",
    program: `
      yield* Album.start("a", { images: ["x", "y"] })
      yield* idle
      yield* Resize.send("a:Images:0", "Resized", { url: "small-x" })
      yield* Resize.send("a:Images:1", "Broken", {})
      return yield* Album.await("a")`,
    expected: { urls: ["small-x"], broken: 1 }
  },
  {
    name: "a flight is cancelled where there is no hotel",
    has: "HotelRefused",
    live: "TripLive",
    program: `
      yield* Trip.start("a", { flight: "f", hotel: "h" })
      yield* idle
      yield* Trip.send("a", "FlightBooked", { reference: "r" })
      yield* Trip.send("a", "HotelRefused", {})
      yield* idle
      const { activePath } = yield* Trip.get("a")
      yield* Trip.send("a", "FlightCancelled", {})
      return [activePath, yield* Trip.await("a")]`,
    expected: ["CancellingFlight", { booked: false }]
  },
  {
    name: "a flight is cancelled by an activity where there is no hotel",
    has: "CancelFlight = Activity.make",
    live: `TripLive, BookFlight.toLayer(() => $.Effect.succeed({ reference: "r" })),
      BookHotel.toLayer(() => $.Effect.fail(new SoldOut({ part: "hotel" }))),
      CancelFlight.toLayer(({ reference }, { attempt }) => attempt < 3 ? $.Effect.die("no answer") : $.Effect.sync(() => { cancelled.push(reference) }))`,
    program: `
      yield* Trip.start("a", { flight: "f", hotel: "h", booked: null })
      yield* adjust("1 hour")
      return [yield* Trip.await("a"), cancelled]`,
    expected: [{ booked: false }, ["r"]]
  },
  {
    name: "a partner is called 50 times a minute at most",
    has: "ExportLive",
    live: "ExportLive, Push.toLayer(({ order }) => $.Effect.sync(() => { pushed.push(order) }))",
    program: `
      yield* Export.start("a", { partner: "p", orders: Array.from({ length: 120 }, (_, i) => String(i)) })
      yield* adjust("30 seconds")
      const first = pushed.length
      yield* adjust("10 minutes")
      yield* Export.await("a")
      return [first < 120, new Set(pushed).size]`,
    expected: [true, 120]
  },
  {
    name: "a job is looked at until it is done",
    has: "WatchLive",
    live: `WatchLive.pipe($.Layer.provide($.Layer.succeed(Jobs, { state: () => $.Effect.sync(() => ++looks < 3 ? "running" : "done") })))`,
    program: `
      yield* Watch.start("a", { job: "j", looks: 0 })
      yield* adjust("1 minute")
      return [yield* Watch.await("a"), looks]`,
    expected: ["done", 3]
  },
  {
    name: "a day is settled",
    has: "SettlementLive",
    live: "SettlementLive, EveryDay",
    program: `
      const id = yield* $h.Cron.trigger("settlement")
      yield* idle
      yield* Settlement.send(id, "Confirmed", { total: 5 })
      return yield* Settlement.await(id)`,
    expected: { total: 5 }
  },
  {
    name: "jobs of a queue are handed over, and run once",
    has: "handOver",
    live: `MailingLive, SendMail.toLayer(({ to }, { attempt }) => attempt < 3 ? $.Effect.die("no answer") : $.Effect.sync(() => {
      sent.push(to)
      return { message: "m-" + to }
    }))`,
    program: `
      const job = { id: "7", data: { to: "ada", template: "welcome" } }
      yield* handOver(job)
      yield* handOver(job)
      yield* adjust("1 hour")
      return [yield* Mailing.await("mailing:7"), sent]`,
    expected: [{ message: "m-ada" }, ["ada"]]
  }
]

const behind = ({ live, program }: Scenario): string => `
import * as $ from "effect"
import * as $h from "holdfast"
const [cancelled, pushed, sent] = [[], [], []]
let looks = 0
const adjust = $.TestClock.adjust
const idle = $.Effect.flatMap($h.ExecutionRuntime.ExecutionRuntime, (runtime) => runtime.awaitIdle)
export const program = $.Effect.gen(function* () {${program}
}).pipe(
  $.Effect.provide($.Layer.mergeAll(${live}).pipe($.Layer.provideMerge($h.ExecutionRuntime.layer()), $.Layer.provideMerge($h.MemoryStore.layer))),
  $.Effect.provide($.TestContext.TestContext)
)
`

describe("docs/recipes.md", () => {
  let directory = ""
  let blocks: ReadonlyArray<string> = []
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "holdfast-recipes-"))
    await symlink(join(root, "node_modules"), join(directory, "node_modules"))
    const page = await readFile(join(root, "docs", "recipes.md"), "utf8")
    blocks = Array.from(page.matchAll(/```ts\n([\s\S]*?)```/g), ([, block = ""]) => block)
  })
  afterAll(() => rm(directory, { recursive: true, force: true }))

  for (const [i, scenario] of scenarios.entries()) {
    it(`has a block that runs: ${scenario.name}`, async () => {
      const block = blocks.find((block) => block.includes(scenario.has))
      const file = join(directory, `recipe${i}.ts`)
      await writeFile(file, `${block}${behind(scenario)}`)
      const { program } = await import(file)
      expect(await Effect.runPromise(program)).toEqual(scenario.expected)
    })
  }

  it("has no block that is not run here", () => {
    const run = scenarios.map(({ has }) => blocks.findIndex((block) => block.includes(has)))
    expect(run.toSorted((a, b) => a - b)).toEqual(blocks.map((_, i) => i))
  })
})
