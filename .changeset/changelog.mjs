// Gives what is under "Unreleased" in the changelog the heading of the version that package.json has now.
import { readFileSync, writeFileSync } from "node:fs"

const changelog = new URL("../CHANGELOG.md", import.meta.url)
const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"))
const text = readFileSync(changelog, "utf8")
const heading = "\n## Unreleased\n"

if (!text.includes(heading)) throw new Error(`CHANGELOG.md has no heading ${JSON.stringify(heading.trim())}`)
if (!text.includes(`\n## ${version}\n`)) {
  const today = new Date().toISOString().slice(0, 10)
  writeFileSync(changelog, text.replace(heading, `${heading}\n## ${version}\n\n${today}\n`))
}
