import { existsSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { assert, it } from "@effect/vitest"

const root = fileURLToPath(new URL("../../", import.meta.url))

it("Each test that SECURITY.md names exists", () => {
  const named = readFileSync(`${root}SECURITY.md`, "utf8").match(/`test\/[^`]+`/g) ?? []
  assert.isAtLeast(named.length, 8)
  assert.deepStrictEqual(
    named.filter((name) => !existsSync(root + name.slice(1, -1))),
    []
  )
})
