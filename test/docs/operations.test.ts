import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import * as Effect from "effect/Effect"
import * as Event from "holdfast/Event"
import * as Execution from "holdfast/Execution"
import * as ExecutionStore from "holdfast/ExecutionStore"
import * as SqliteStore from "holdfast/SqliteStore"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { program } from "../support/programs.js"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../..", import.meta.url))
const read = (path: string) => readFile(join(root, path), "utf8")

describe("docs/operations.md", () => {
  let directory = ""
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "holdfast-operations-"))
  })
  afterAll(() => rm(directory, { recursive: true, force: true }))

  it("shows the example as it is", async () => {
    const blocks = Array.from((await read("docs/operations.md")).matchAll(/```ts\n([\s\S]*?)```/g), (match) => match[1])
    expect(blocks).toEqual([await read("examples/operator.ts")])
  })

  it("has an example that does what it says", async () => {
    const filename = join(directory, "orders.db")
    const onStore = <A, E>(use: (store: ExecutionStore.ExecutionStore) => Effect.Effect<A, E>) =>
      Effect.runPromise(
        Effect.flatMap(ExecutionStore.ExecutionStore, use).pipe(Effect.provide(SqliteStore.layer({ filename })))
      )
    await onStore((store) =>
      Effect.gen(function* () {
        yield* store.save(Execution.make({ id: "order-17", definitionId: "order", status: "RUNNING" }))
        const event = Event.make({ id: "e1", kind: "Paid" })
        const [seq = -1] = yield* store.enqueue([{ targetId: "order-18", event }])
        yield* store.deadLetters.bury(
          { _tag: "Outbox", seq },
          { reason: "no-target", attempts: 1, error: "there is none" }
        )
      })
    )
    const operator = await program("examples/operator.ts")
    const operate = async (...args: ReadonlyArray<string>) => {
      const { stderr, stdout } = await run(process.execPath, [operator, filename, ...args])
      return stdout + stderr
    }
    expect(await operate("suspend", "order-17")).toBe("suspend: order-17\n")
    expect(await operate("purge", "order-17")).toBe(
      'cannot purge execution "order-17": it is SUSPENDED, not DONE or CANCELLED\n'
    )
    expect(await operate("dead-letters")).toBe("1 order-18 no-target after 1: there is none\n")
    expect(await operate("try-again", "1")).toBe("it is pending again\n")
    expect(await operate()).toMatch(/^1 events since .*, 0 spawns, 0 timers due, 0 dead letters\n$/)
    const found = await onStore((store) => store.load("order-17"))
    expect(found).toMatchObject({ value: { status: "SUSPENDED" } })
  })
})
