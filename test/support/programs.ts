/**
 * Programs that tests run in processes of their own, each bundled once for all workers of a run: one that is compiled as it starts, and
 * reads each of Effect's modules by itself, takes ten times as long.
 */
import { mkdtemp, rename, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"
import { inject } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))

// For the parts of a bundle that are CommonJS.
const require = 'import { createRequire as requireOf } from "node:module"; const require = requireOf(import.meta.url)'

/** Bundles a TypeScript file, its path from the root, into one that `node` runs where it finds the packages with native code. */
export const bundle = (source: string, outfile: string): Promise<unknown> =>
  build({
    entryPoints: [join(root, source)],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    tsconfig: join(root, "tsconfig.json"),
    external: ["better-sqlite3", "@libsql/client", "bun:sqlite"],
    banner: { js: require },
    logLevel: "silent"
  })

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false
  )

/** The path of the program that a TypeScript file is, its path from the root. */
export const program = async (source: string): Promise<string> => {
  const folder = inject("programs")
  const path = join(folder, source.replaceAll("/", "-").replace(/\.ts$/, ".mjs"))
  if (await isThere(path)) return path
  const own = await mkdtemp(join(folder, "own-"))
  await bundle(source, join(own, "program.mjs"))
  // Workers that bundle the same one at the same time make the same.
  await rename(join(own, "program.mjs"), path)
  await rm(own, { recursive: true })
  return path
}
