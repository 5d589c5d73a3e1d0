import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vitepress"

const docs = fileURLToPath(new URL("../pages/", import.meta.url))

/** What a page calls itself. */
const titleOf = (file) => /^# (.*)$/m.exec(readFileSync(docs + file, "utf8"))?.[1] ?? file

const pages = (folder) =>
  readdirSync(docs + folder)
    .filter((file) => file.endsWith(".md") && file !== "README.md" && file !== "index.md")
    .map((file) => ({ text: titleOf(folder + file), link: `/${folder}${file.replace(/\.md$/, "")}` }))

/** The modules of the API, each a folder, and those of a folder of their own. */
const modules = (folder = "api/") =>
  readdirSync(docs + folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && readdirSync(`${docs}${folder}${entry.name}`).includes("README.md"))
    .map(({ name }) => ({ text: name, link: `/${folder}${name}/README` }))

export default defineConfig({
  title: "Holdfast",
  description: "The durable execution store for Effect applications",
  // `prepare.mjs` puts the pages there. A link to a page that is not there ends the build.
  srcDir: "pages",
  outDir: "dist",
  cleanUrls: true,
  // The index of the search is one chunk.
  vite: { build: { chunkSizeWarningLimit: 8000 } },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Guide", link: "/getting-started" },
      { text: "API", link: "/api/README" }
    ],
    sidebar: {
      "/api/": [{ text: "API", link: "/api/README", items: [...modules(), ...modules("api/testing/")] }],
      "/": [
        { text: "Guide", items: pages("") },
        { text: "Decisions", link: "/decisions/README", collapsed: true, items: pages("decisions/") }
      ]
    }
  }
})
