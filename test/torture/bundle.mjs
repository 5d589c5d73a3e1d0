import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"

const root = fileURLToPath(new URL("../..", import.meta.url))

/**
 * Bundles modules of this folder, each into a file of `build/torture`; gives their paths by name. `options` are those of
 * esbuild. What has native code stays outside.
 */
export const bundle = async (entries, options = {}) => {
  const outdir = join(root, "build", "torture")
  await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(
      Object.entries(entries).map(([name, file]) => [name, join(root, "test", "torture", file)])
    ),
    outdir,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    target: "node20",
    tsconfig: join(root, "tsconfig.json"),
    external: ["better-sqlite3", "@libsql/client", "bun:sqlite"],
    // Some packages ask for others in the old way.
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);'
    },
    logLevel: "warning",
    ...options
  })
  return Object.fromEntries(Object.keys(entries).map((name) => [name, join(outdir, `${name}.mjs`)]))
}
