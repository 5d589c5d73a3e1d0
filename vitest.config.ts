import { fileURLToPath } from "node:url"
import { defineConfig } from "vitest/config"

const src = fileURLToPath(new URL("./src", import.meta.url))

export default defineConfig({
  resolve: {
    alias: [
      { find: /^holdfast$/, replacement: `${src}/index.ts` },
      { find: /^holdfast\/(.+)$/, replacement: `${src}/$1.ts` }
    ]
  },
  test: {
    include: ["test/**/*.test.ts", "examples/**/*.test.ts"],
    // By default one core is left idle, which on two is half of them.
    maxWorkers: "100%",
    testTimeout: 300_000,
    hookTimeout: 300_000,
    reporters: [["default", { summary: false }]]
  }
})
