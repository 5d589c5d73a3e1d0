import { afterAll, beforeAll, describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import type { ExecutionStore } from "holdfast/ExecutionStore"
import type { Browser, Page } from "playwright-core"
import { launched, type Opened, opened, violations } from "../support/browser.js"
import { demo } from "../support/monitorDemo.js"

const scope = Effect.runSync(Scope.make())
let browser: Browser

beforeAll(async () => {
  browser = await Effect.runPromise(Scope.extend(launched, scope))
})
afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))

const test = (title: string, body: (opened: Opened) => Promise<void>) =>
  it.scopedLive(title, () =>
    Effect.gen(function* () {
      const test = yield* opened(browser, demo)
      yield* Effect.promise(() => body(test))
      expect(test.trouble).toEqual([])
    })
  )

const statusOf = (store: ExecutionStore, id: string): Promise<string> =>
  Effect.runPromise(Effect.map(store.load(id), Option.match({ onNone: () => "none", onSome: ({ status }) => status })))

/** Does something to the execution that is shown, by its button and the window that this opens. */
const act = async (page: Page, name: string): Promise<void> => {
  await page.locator("header.title").getByRole("button", { name, exact: true }).click()
  const dialog = page.getByRole("dialog", { name })
  await dialog.waitFor()
  expect(await violations(page)).toEqual([])
  const reason = dialog.getByLabel("Reason")
  if ((await reason.count()) > 0) await reason.fill("asked for by the customer")
  await dialog.locator("footer").getByRole("button", { name, exact: true }).click()
  await dialog.waitFor({ state: "detached" })
}

const at = async ({ page, url }: Opened, id: string): Promise<void> => {
  await page.goto(`${url}#/executions/${id}`)
  await page.getByRole("heading", { name: id }).waitFor()
  await page.locator("header.title .badge").waitFor()
}

const becomes = (page: Page, status: string) => page.locator("header.title .badge", { hasText: status }).waitFor()

describe("the actions of the monitor", () => {
  test("are carried out on one execution", async (opened) => {
    const { page, store } = opened
    await at(opened, "order-0004")
    await act(page, "Suspend")
    await becomes(page, "SUSPENDED")
    await page.getByText("asked for by the customer").waitFor()
    await act(page, "Resume")
    await becomes(page, "RUNNING")
    await act(page, "Cancel")
    await becomes(page, "CANCELLING")
    await act(page, "Terminate")
    await becomes(page, "CANCELLED")
    await act(page, "Purge")
    await page.getByRole("heading", { name: "Executions" }).waitFor()
    expect(await statusOf(store, "order-0004")).toBe("none")
    await at(opened, "order-0007")
    await page.getByText("It failed").waitFor()
    await act(page, "Redrive")
    await becomes(page, "RUNNING")
  })

  test("say why one is not possible", async (opened) => {
    const { page, store } = opened
    await at(opened, "order-0004")
    await page.getByRole("button", { name: "Suspend" }).click()
    const found = Option.getOrThrow(await Effect.runPromise(store.load("order-0004")))
    await Effect.runPromise(store.save({ ...found, status: "DONE" }))
    await page.getByRole("dialog").locator("footer").getByRole("button", { name: "Suspend" }).click()
    await page.getByText("Not possible now").waitFor()
    await page.getByRole("dialog").getByRole("button", { name: "Back" }).click()
    await page.getByRole("dialog").waitFor({ state: "detached" })
  })

  test("send an event by the form of its schema", async (opened) => {
    const { page, store } = opened
    await at(opened, "order-0004")
    await page.getByRole("button", { name: "Send event" }).click()
    const dialog = page.getByRole("dialog")
    expect(await violations(page)).toEqual([])
    const send = dialog.locator("footer").getByRole("button", { name: "Send event" })
    expect(await send.isDisabled()).toBe(true)
    await dialog.getByLabel("amount").fill("12.5")
    await dialog.getByLabel("method").selectOption("card")
    await dialog.getByLabel("Event id").fill("desk:1")
    await send.click()
    await page.getByText("The event is in the outbox.").waitFor()
    const { events } = await Effect.runPromise(store.workOf("order-0004"))
    expect(events.map(({ event }) => [event.id, event.kind, event.data])).toEqual([
      ["desk:1", "Paid", { amount: 12.5, method: "card" }]
    ])
    await page.getByText("desk:1").waitFor()
  })

  test("send an event that nobody has a form for", async (opened) => {
    const { page, store } = opened
    await at(opened, "invoice-0003")
    await page.getByRole("button", { name: "Send event" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Kind").fill("Reminded")
    await dialog.getByLabel("Data").fill("{")
    await page.getByText("This is no JSON object yet.").waitFor()
    await dialog.getByLabel("Data").fill('{"by": "mail"}')
    await dialog.getByLabel("Delay in seconds").fill("3600")
    await dialog.locator("footer").getByRole("button", { name: "Send event" }).click()
    await page.getByText("The event is in the outbox.").waitFor()
    const { delayed } = await Effect.runPromise(store.workOf("invoice-0003"))
    expect(delayed.map(({ event }) => [event.kind, event.data])).toEqual([["Reminded", { by: "mail" }]])
  })

  test("redrive and discard dead letters, one and all", async ({ page, store, url }) => {
    await page.goto(`${url}#/dead-letters`)
    await page.getByRole("button", { name: "Details of 1" }).click()
    await page.getByText("What it was").waitFor()
    await page.getByRole("button", { name: "Redrive dead letter 1" }).click()
    await page.getByText("Dead letter 1 is back at work.").waitFor()
    await page.getByRole("button", { name: "Discard dead letter 2" }).click()
    await page.getByRole("dialog").locator("footer").getByRole("button", { name: "Discard" }).click()
    await page.getByText("Dead letter 2 is removed.").waitFor()
    await page.getByRole("button", { name: "Discard all" }).click()
    await page.getByText("1 is selected now.").waitFor()
    await page.getByRole("dialog").locator("footer").getByRole("button", { name: "Discard all" }).click()
    await page.getByText("1 changed").waitFor()
    expect((await Effect.runPromise(store.stats)).deadLetters.count).toBe(0)
  })

  test("are not begun on nothing", async ({ page, url }) => {
    await page.goto(`${url}#/executions?status=DONE&where=customer%3Dc-1`)
    await page.getByText("order-0001").waitFor()
    await page.getByRole("button", { name: "Act on all" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByText("4 are selected now.").waitFor()
    await page.keyboard.press("Escape")
    await page.goto(`${url}#/executions?status=FAILED&where=customer%3Dc-1`)
    await page.getByText("Nothing matches").waitFor()
    expect(await page.getByRole("button", { name: "Act on all" }).isDisabled()).toBe(true)
    await page.goto(`${url}#/executions?where=customer%3Dc-1042`)
    await page.getByText("order-1042", { exact: true }).waitFor()
    await page.getByRole("button", { name: "Act on all" }).click()
    await dialog.getByLabel("Action").selectOption("purge")
    await dialog.getByText("None is selected now: there is nothing to do.").waitFor()
    expect(await dialog.getByRole("button", { name: "Purge all" }).isDisabled()).toBe(true)
    expect(await violations(page)).toEqual([])
    await dialog.getByLabel("Action").selectOption("cancel")
    await dialog.getByText("1 is selected now.").waitFor()
    expect(await dialog.getByRole("button", { name: "Cancel all" }).isDisabled()).toBe(false)
  })

  test("are carried out on all that a filter selects, counted before and in the background", async ({
    page,
    store,
    url
  }) => {
    await page.goto(`${url}#/executions?definition=order&status=RUNNING`)
    await page.getByText("order-0004").waitFor()
    await page.getByRole("button", { name: "Act on all" }).click()
    const dialog = page.getByRole("dialog")
    await dialog.getByLabel("Action").selectOption("terminate")
    const { count } = (await Effect.runPromise(store.counts)).find(
      ({ definitionId, status }) => definitionId === "order" && Option.contains(status, "RUNNING")
    ) ?? { count: 0 }
    await dialog.getByText(`${count} are selected now.`).waitFor()
    expect(await violations(page)).toEqual([])
    await dialog.getByRole("button", { name: "Terminate all" }).click()
    await page.getByText(`${count} changed`).waitFor()
    await page.getByText("done", { exact: true }).waitFor()
    expect(await statusOf(store, "order-0004")).toBe("CANCELLED")
    expect(await violations(page)).toEqual([])
  })
})
