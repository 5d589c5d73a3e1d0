// Bundles the pages of the monitor, and puts them in the place of `src/internal/monitorPages/pages.ts` in `dist`.
import { createHash } from "node:crypto"
import { readFile, rm, writeFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { build } from "esbuild"

const at = (path) => fileURLToPath(new URL(path, import.meta.url))
const place = at("../../dist/internal/monitorPages/pages.js")

const bundled = await build({
  entryPoints: { app: at("main.tsx"), style: at("style.css"), plot: at("../../node_modules/uplot/dist/uPlot.min.css") },
  outdir: at("out"),
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022"],
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "none",
  write: false,
  logLevel: "warning"
})

const textOf = (name) => bundled.outputFiles.find(({ path }) => path.endsWith(name))?.text ?? ""

const page = (type, text) => ({
  type,
  text,
  tag: createHash("sha256").update(text).digest("base64url").slice(0, 16)
})

const pages = {
  "": page("text/html; charset=utf-8", await readFile(at("index.html"), "utf8")),
  "app.js": page("text/javascript; charset=utf-8", textOf("app.js")),
  "app.css": page("text/css; charset=utf-8", textOf("plot.css") + textOf("style.css")),
  "icon.svg": page("image/svg+xml", await readFile(at("icon.svg"), "utf8"))
}

await writeFile(place, `export const pages = ${JSON.stringify(pages)}\n`)
// It tells of the file that was there before.
await rm(`${place}.map`, { force: true })
