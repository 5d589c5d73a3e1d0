/** What all workers of a run of the tests share, and what is removed at its end. */
import { mkdtemp, rm, symlink } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  export interface ProvidedContext {
    /** The folder of the programs that tests bundle. */
    readonly programs: string
  }
}

export default async ({ provide }: TestProject): Promise<() => Promise<void>> => {
  const folder = await mkdtemp(join(tmpdir(), "holdfast-programs-"))
  await symlink(fileURLToPath(new URL("../../node_modules", import.meta.url)), join(folder, "node_modules"))
  provide("programs", folder)
  return () => rm(folder, { recursive: true, force: true })
}
