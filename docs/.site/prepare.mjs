// Copies the pages to where the site is built from. What they link to outside of docs/ is not on the site: such a link becomes its text.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

const docs = fileURLToPath(new URL("..", import.meta.url))
const pages = fileURLToPath(new URL("pages", import.meta.url))

rmSync(pages, { recursive: true, force: true })
mkdirSync(pages)
for (const name of readdirSync(docs)) {
  if (!name.startsWith(".")) cpSync(join(docs, name), join(pages, name), { recursive: true })
}

for (const file of readdirSync(pages, { recursive: true })) {
  if (!file.endsWith(".md")) continue
  const folder = dirname(file)
  const page = join(pages, file)
  const text = readFileSync(page, "utf8").replace(/\[([^\]]*)\]\((\.\.\/[^)]*)\)/g, (link, words, target) =>
    join(folder, target).startsWith("..") ? words : link
  )
  writeFileSync(page, text)
}

writeFileSync(
  join(pages, "index.md"),
  `---
layout: home
hero:
  name: Holdfast
  text: The durable execution store for Effect
  actions:
    - { text: Get started, link: /getting-started }
    - { theme: alt, text: API, link: /api/README }
---
`
)
