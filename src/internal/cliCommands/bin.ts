#!/usr/bin/env node
// The program `holdfast`. What it is made of is loaded below, so that what is not installed can be told in a sentence.

const packages = "@effect/cli @effect/platform @effect/platform-node"

const isMissing = (error: unknown): error is { readonly message: string } =>
  typeof error === "object" && error !== null && "code" in error && error.code === "ERR_MODULE_NOT_FOUND"

try {
  const { start } = await import("./start.js")
  start()
} catch (error) {
  if (!isMissing(error)) throw error
  process.stderr.write(`holdfast: the command needs packages that are not installed: run npm install ${packages}\n`)
  process.exitCode = 1
}
