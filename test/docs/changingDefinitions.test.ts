import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as BigDecimal from "effect/BigDecimal"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Execution from "holdfast/Execution"
import * as ExecutionRuntime from "holdfast/ExecutionRuntime"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as MemoryStore from "holdfast/MemoryStore"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))

describe("docs/changing-definitions.md", () => {
  let directory = ""
  let blocks: ReadonlyArray<string> = []
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "holdfast-changing-"))
    await symlink(join(root, "node_modules"), join(directory, "node_modules"))
    const page = await readFile(join(root, "docs", "changing-definitions.md"), "utf8")
    blocks = Array.from(page.matchAll(/```ts\n([\s\S]*?)```/g), ([, block = ""]) => block)
  })
  afterAll(() => rm(directory, { recursive: true, force: true }))

  const load = async (has: string) => {
    const block = blocks.find((block) => block.includes(has))
    if (block === undefined) throw new Error(`there is no block with ${has}`)
    const file = join(directory, `block${blocks.indexOf(block)}.ts`)
    await writeFile(file, /^const program\b/m.test(block) ? `${block}\nexport { program }\n` : block)
    return import(file)
  }

  const store = (definitionVersion: number, context: Execution.Execution["context"], activePath: string) =>
    Effect.flatMap(ExecutionStore.ExecutionStore, (store) =>
      store.save(
        Execution.make({
          id: "order-17",
          definitionId: "order",
          definitionVersion,
          context,
          activePath,
          status: "RUNNING"
        })
      )
    )

  it("has a program whose order is migrated, and ends", async () => {
    const { program } = await load("AwaitingPayment { cents: 3998 }")
    expect(await Effect.runPromise(program)).toEqual({ cents: 3998 })
  })

  it("has a check that finds what it says", async () => {
    const { program } = await load("Definition.check(")
    expect(await Effect.runPromise(program)).toEqual(["context", 'event "Reminded"'])
  })

  it("leads an order through two versions", async () => {
    const { Order } = await load("Definition.migration(")
    const got: Effect.Effect<unknown, unknown, ExecutionStore.ExecutionStore> = Order.get("order-17")
    const program = Effect.zipRight(store(1, { total: "39.98" }, "Paying"), got)
    expect(await Effect.runPromise(Effect.provide(program, MemoryStore.layer))).toMatchObject({
      definitionVersion: 1,
      activePath: "Paying",
      context: { amount: BigDecimal.unsafeFromString("39.98"), placed: null }
    })
  })

  it("has two versions side by side, each with its executions", async () => {
    const { Order, OrderLive } = await load("Layer.merge(")
    const live: Layer.Layer<never, unknown, ExecutionRuntime.ExecutionRuntime> = OrderLive
    const program = Effect.gen(function* () {
      const runtime = yield* ExecutionRuntime.ExecutionRuntime
      yield* store(1, { total: "39.98" }, "Paying")
      const sent: Effect.Effect<unknown, unknown, ExecutionStore.ExecutionStore> = Order.send("order-17", "Paid", {})
      const started: typeof sent = Order.start("order-18", { cents: 1 })
      yield* Effect.zipRight(sent, started)
      yield* runtime.awaitIdle
      const { load } = yield* ExecutionStore.ExecutionStore
      const ids = ["order-17", "order-18"]
      return yield* Effect.forEach(ids, (id) => Effect.flatten(load(id)))
    }).pipe(
      Effect.provide(live.pipe(Layer.provideMerge(ExecutionRuntime.layer()), Layer.provideMerge(MemoryStore.layer)))
    )
    expect(await Effect.runPromise(program)).toMatchObject([
      { status: "DONE", definitionVersion: 1 },
      { status: "RUNNING", definitionVersion: 2, activePath: "AwaitingPayment" }
    ])
  })

  it("has no block that is not run here", () => {
    expect(blocks.length).toBe(4)
  })
})
