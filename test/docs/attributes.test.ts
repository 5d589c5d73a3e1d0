import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))

describe("docs/attributes.md", () => {
  let directory = ""
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "holdfast-attributes-"))
    await symlink(join(root, "node_modules"), join(directory, "node_modules"))
  })
  afterAll(() => rm(directory, { recursive: true, force: true }))

  it("has an example that runs, and one that indexes its executions anew", async () => {
    const page = await readFile(join(root, "docs", "attributes.md"), "utf8")
    const [example = "", , reindexing = ""] = Array.from(
      page.matchAll(/```ts\n([\s\S]*?)```/g),
      ([, block = ""]) => block
    )
    await writeFile(join(directory, "reindexing.ts"), `${reindexing}\nexport { reindexAll }\n`)
    const all = [
      'import { reindexAll } from "./reindexing.ts"',
      example,
      "const again = Effect.zipRight(reindexAll(Order), Order.count()).pipe(Effect.provide(Live))",
      "export { again, program }"
    ]
    await writeFile(join(directory, "example.ts"), `${all.join("\n")}\n`)
    const { again, program } = await import(join(directory, "example.ts"))
    expect(await Effect.runPromise(program)).toEqual({ open: ["order-17"], large: 1 })
    expect(await Effect.runPromise(again)).toBe(0)
  })
})
