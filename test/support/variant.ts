/**
 * The simulation on sources of this library in which texts are replaced: by others that are wrong, which it must find, or by limits that are
 * so small that little work reaches them.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import * as Effect from "effect/Effect"
import { build } from "esbuild"

/** A text that is once in a file, by its path in `src`, and what takes its place. */
export interface Edit {
  readonly file: string
  readonly from: string
  readonly to: string
}

/** The simulation, of which sources ever. */
export type Simulated = Pick<typeof import("holdfast/testing/internal/simulation/run"), "run"> &
  Pick<typeof import("holdfast/testing/internal/simulation/shrink"), "shrink"> &
  Pick<typeof import("holdfast/testing/Simulation"), "orders">

const root = fileURLToPath(new URL("../..", import.meta.url))
// Packages are found from here, and are the same that the tests have.
const folder = join(root, "node_modules", ".cache", "holdfast-variants")

const entry = `
  export { run } from "./src/testing/internal/simulation/run.ts"
  export { shrink } from "./src/testing/internal/simulation/shrink.ts"
  export { orders } from "./src/testing/Simulation.ts"`

const edited = async (path: string, edits: ReadonlyArray<Edit>): Promise<string> => {
  let text = await readFile(path, "utf8")
  for (const { file, from, to } of edits) {
    if (path !== join(root, "src", file)) continue
    const parts = text.split(from)
    if (parts.length !== 2) throw new Error(`${file} has this ${parts.length - 1} times, and not once: ${from}`)
    text = parts.join(to)
  }
  return text
}

const bundle = async (edits: ReadonlyArray<Edit>): Promise<string> => {
  const { outputFiles } = await build({
    stdin: { contents: entry, resolveDir: root },
    bundle: true,
    write: false,
    format: "esm",
    target: "node20",
    packages: "external",
    logLevel: "silent",
    plugins: [
      {
        name: "edits",
        setup: ({ onLoad }) => {
          onLoad({ filter: /\/src\/.*\.ts$/ }, async ({ path }) => ({
            contents: await edited(path, edits),
            loader: "ts"
          }))
        }
      }
    ]
  })
  return outputFiles[0]?.text ?? ""
}

let made = 0

/** The simulation with these replacements. */
export const variant = (edits: ReadonlyArray<Edit>): Effect.Effect<Simulated> =>
  Effect.promise(async () => {
    const place = join(folder, `${process.pid}-${++made}.mjs`)
    await mkdir(folder, { recursive: true })
    await writeFile(place, await bundle(edits))
    const simulated: Simulated = await import(/* @vite-ignore */ pathToFileURL(place).href)
    await rm(place)
    return simulated
  })
