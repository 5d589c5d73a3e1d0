import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as Commit from "holdfast/Commit"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import { ExecutionStore } from "holdfast/ExecutionStore"
import type * as Monitor from "holdfast/Monitor"
import type { Browser, Page } from "playwright-core"
import { launched, type Opened, opened, violations } from "../support/browser.js"
import { demo } from "../support/monitorDemo.js"

const scope = Effect.runSync(Scope.make())
let browser: Browser

beforeAll(async () => {
  browser = await Effect.runPromise(Scope.extend(launched, scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const nothing = Effect.void

/** A test in the browser, at the end of which the console has said nothing. */
const test = <E>(
  title: string,
  fill: Effect.Effect<void, E, ExecutionStore>,
  body: (opened: Opened) => Promise<void>,
  options: Parameters<typeof opened>[2] = {}
) =>
  it.scopedLive(title, () =>
    Effect.gen(function* () {
      const test = yield* opened(browser, fill, options)
      yield* Effect.promise(() => body(test))
      expect(test.trouble).toEqual([])
    })
  )

const pages = [
  { at: "#/", shows: "Definitions" },
  { at: "#/executions", shows: "invoice-0000" },
  { at: "#/executions?status=FAILED", shows: "FAILED" },
  { at: "#/executions/order-1042", shows: "Ada Brunner" },
  { at: "#/work/outbox", shows: "shop:881" },
  { at: "#/work/timers", shows: "refund" },
  { at: "#/work/activities", shows: "refund" },
  { at: "#/work/spawns", shows: "order-1042:Refunds:0" },
  { at: "#/dead-letters", shows: "ECONNREFUSED" },
  { at: "#/jobs", shows: "No jobs" },
  { at: "#/executions/nobody", shows: "No such execution" },
  { at: "#/executions?prefix=zzz", shows: "Nothing matches" }
]

const looks = [
  { name: "1280 pixels, light", context: { colorScheme: "light", viewport: { width: 1280, height: 800 } } },
  { name: "1280 pixels, dark", context: { colorScheme: "dark", viewport: { width: 1280, height: 800 } } },
  { name: "360 pixels, light", context: { colorScheme: "light", viewport: { width: 360, height: 740 } } },
  { name: "360 pixels, dark", context: { colorScheme: "dark", viewport: { width: 360, height: 740 } } }
] as const

const go = async (page: Page, address: string, shows: string): Promise<void> => {
  await page.goto(address)
  await page.locator("main").getByText(shows).filter({ visible: true }).first().waitFor()
}

describe("the pages of the monitor", () => {
  for (const { context, name } of looks) {
    test(
      `show what there is, accessibly and with nothing cut off: ${name}`,
      demo,
      async ({ page, url }) => {
        const wrong: Array<unknown> = []
        for (const { at, shows } of pages) {
          await go(page, `${url}${at}`, shows)
          const cut = await page.evaluate<number>(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
          )
          const found = await violations(page)
          if (cut > 0 || found.length > 0) wrong.push({ at, cut, found })
        }
        expect(wrong).toEqual([])
      },
      { context }
    )
  }

  test(
    "have addresses of their own, also where their place is given without its last slash",
    demo,
    async ({ page, url }) => {
      await page.goto(`${url.replace(/\/$/, "")}#/executions?definition=order&status=FAILED`)
      await page.getByText("order-0007").waitFor()
      expect(await page.locator("tbody .badge").allInnerTexts()).toEqual(["FAILED", "FAILED", "FAILED", "FAILED"])
      await page.getByRole("button", { name: "DONE", exact: true }).click()
      await page.getByText("order-0001").waitFor()
      expect(page.url()).toContain("status=FAILED%2CDONE")
      await page.goBack()
      await page.getByText("order-0001").waitFor({ state: "detached" })
      expect(await page.title()).toBe("Executions \u00b7 Holdfast")
    }
  )

  test("go on by cursor, and search by how an id begins", demo, async ({ page, url }) => {
    await go(page, `${url}#/executions`, "invoice-0000")
    await page.getByRole("button", { name: "Next page" }).click()
    await page.getByText("invoice-0000").waitFor({ state: "detached" })
    await page.getByRole("button", { name: "First page" }).click()
    await page.getByText("invoice-0000").waitFor()
    await page.getByPlaceholder("Id begins with").fill("order-10")
    await page.getByText("order-1042", { exact: true }).waitFor()
    await page.getByText("Columns").click()
    await page.getByLabel("Parent").check()
    await page.getByRole("columnheader", { name: "Parent" }).waitFor()
  })

  test("find executions by attributes, by an address, a field and the page of one", demo, async ({ page, url }) => {
    await go(page, `${url}#/executions?where=customer%3Dc-3&where=express%3Dfalse`, "invoice-0003")
    expect(await page.locator("tbody tr").count()).toBe(8)
    await page.getByRole("button", { name: "Without express=false" }).click()
    await page.getByRole("button", { name: "Without customer=c-3" }).click()
    await page.getByText("invoice-0000").waitFor()
    const field = page.getByLabel("Attribute, as name=value")
    await field.fill("customer")
    await field.press("Enter")
    await page.getByText("Write it as name=value").waitFor()
    expect(await violations(page)).toEqual([])
    await field.fill("customer=c-1042")
    await field.press("Enter")
    await page.getByRole("link", { name: "order-1042", exact: true }).click()
    await page.getByRole("link", { name: "express=true" }).click()
    await page.getByText("invoice-0000").waitFor()
    expect(page.url()).toContain("where=express%3Dtrue")
    await page.goto(`${url}#/executions?where=customer%3Dnobody`)
    await page.getByText("Nothing matches").waitFor()
    expect(await page.getByRole("button", { name: "Act on all" }).isDisabled()).toBe(true)
  })

  const sharing = Effect.gen(function* () {
    const { leases } = yield* ExecutionStore
    const claim = Array.from({ length: 30 }, (_, i) => String(i))
    yield* leases.renew({ pool: "shards/32/shop", holder: "orders-1", ttl: 3600, claim: claim.slice(0, 20) })
    yield* leases.renew({ pool: "shards/32/shop", holder: "orders-2", ttl: 3600, claim: claim.slice(20) })
    yield* leases.renew({ pool: "shards/16/shop", holder: "orders-3", ttl: 3600 })
  })

  test("show who shares the work of the store", Effect.zipRight(demo, sharing), async ({ page, url }) => {
    await go(page, url, "orders-1")
    await page.getByText("20 of 32").waitFor()
    await page.getByText("0\u201319").waitFor()
    await page.getByText("2 of 32 lanes of shop are held by nobody.").waitFor()
    await page.getByText("Some processes divide lanes of shop into 16 shards and others into 32").waitFor()
    expect(await violations(page)).toEqual([])
  })

  let access: Monitor.Access = "all"

  test(
    "say that a login has ended, and go on with the next one",
    demo,
    async ({ page, url }) => {
      access = "all"
      await go(page, `${url}#/executions`, "invoice-0000")
      await page.getByText("Live").waitFor()
      access = "none"
      await page.getByText("You may not look at this monitor").waitFor({ timeout: 60_000 })
      await page.getByText("What is shown is of").waitFor()
      expect(await violations(page)).toEqual([])
      access = "read"
      await page.getByText("Read only").waitFor({ timeout: 60_000 })
      await page.getByText("You may not look at this monitor").waitFor({ state: "detached" })
    },
    { access: () => Effect.sync(() => access) }
  )

  test("are told of what commits here change", demo, async ({ page, store, url }) => {
    await go(page, `${url}#/executions/order-0003`, "order-0003").catch(() => undefined)
    await go(page, `${url}#/executions/order-0004`, "RUNNING")
    await Effect.runPromise(
      Effect.gen(function* () {
        const found = Option.getOrThrow(yield* store.load("order-0004"))
        yield* store.save({ ...found, status: "DONE", outcome: "arrived", activePath: "Arrived" })
      })
    )
    await page.getByText("arrived", { exact: true }).waitFor()
    await page.goto(`${url}#/`)
    await page.getByText("Live").waitFor()
  })

  test("are for the keyboard too", demo, async ({ page, url }) => {
    await go(page, url, "Definitions")
    await page.keyboard.press("g")
    await page.keyboard.press("e")
    await page.getByText("invoice-0000").waitFor()
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "invoice-0003" }).waitFor()
    await page.keyboard.press("?")
    await page.getByRole("dialog", { name: "Keyboard" }).waitFor()
    await page.keyboard.press("Escape")
    await page.getByRole("dialog").waitFor({ state: "detached" })
    await page.keyboard.press("/")
    await page.locator("#search:focus").waitFor()
    await page.keyboard.type("order-1042")
    await page.getByText("order-1042:Shipments:0").waitFor()
    await page.getByRole("button", { name: "Dark colours" }).click()
    await page.getByRole("button", { name: "Light colours" }).waitFor()
  })

  test("say what to do where there is nothing", nothing, async ({ page, url }) => {
    await go(page, url, "No execution yet")
    await go(page, `${url}#/executions`, "Start one in your application")
    await go(page, `${url}#/work/timers`, "Timers that steps arm are here")
    await go(page, `${url}#/dead-letters`, "No dead letters")
  })

  test(
    "have no buttons for who may only look",
    demo,
    async ({ page, url }) => {
      await go(page, `${url}#/executions/order-1042`, "Ada Brunner")
      await page.getByText("Read only").waitFor()
      for (const name of ["Resume", "Terminate", "Send event", "Redrive"]) {
        expect(await page.getByRole("button", { name }).count()).toBe(0)
      }
      await go(page, `${url}#/dead-letters`, "ECONNREFUSED")
      expect(await page.getByRole("button", { name: /Redrive|Discard/ }).count()).toBe(0)
      await go(page, `${url}#/executions`, "invoice-0000")
      expect(await page.getByRole("button", { name: "Act on all" }).count()).toBe(0)
    },
    { access: () => Effect.succeed("read") }
  )

  const hostile = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\u202e\u0000'

  test(
    "show as text whatever is in ids, contexts and errors",
    Effect.flatMap(ExecutionStore, (store) =>
      store.commit(
        Execution.make({
          id: hostile,
          definitionId: hostile,
          status: "FAILED",
          error: hostile,
          activePath: hostile,
          context: { [hostile]: hostile, deep: [{ [hostile]: hostile }] }
        }),
        {
          emits: [
            { targetId: hostile, event: Event.make({ id: hostile, kind: hostile, data: { [hostile]: hostile } }) }
          ],
          timers: [Commit.scheduleTimer(hostile, 9_000_000_000)],
          trace: Commit.traceStep({
            eventKind: hostile,
            timestamp: 1,
            contextOut: { [hostile]: hostile },
            actions: [hostile]
          })
        }
      )
    ),
    async ({ page, url }) => {
      await go(page, `${url}#/executions`, "<img src=x")
      await page.getByRole("link", { name: "<img src=x" }).first().click()
      await page.getByText("It failed").waitFor()
      for (const at of ["#/", "#/work/outbox", "#/work/timers"]) await go(page, `${url}${at}`, "<img src=x")
      expect(await page.evaluate<boolean>('"hacked" in window')).toBe(false)
      expect(await page.locator("main img, main script").count()).toBe(0)
      expect(await page.locator("main").textContent()).toContain("\\u202e")
    }
  )

  test("say that the monitor does not answer, and find it again", demo, async ({ page, url }) => {
    await go(page, `${url}#/executions`, "invoice-0000")
    await page.route("**/api/executions*", (route) => route.abort())
    await page.getByRole("button", { name: "DONE", exact: true }).click()
    await page.getByText("The monitor does not answer").waitFor()
    await page.unroute("**/api/executions*")
    await page.getByRole("button", { name: "Try again" }).click()
    await page.getByText("The monitor does not answer").waitFor({ state: "detached" })
    await page.getByText("invoice-0000").waitFor()
  })
})
