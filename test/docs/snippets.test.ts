import { execFile } from "node:child_process"
import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"

const run = promisify(execFile)
const root = fileURLToPath(new URL("../..", import.meta.url))

interface Snippet {
  readonly place: string
  readonly text: string
}

const filesBelow = async (folder: string, ending: string): Promise<ReadonlyArray<string>> =>
  (await readdir(join(root, folder), { recursive: true }))
    .filter((file) => file.endsWith(ending))
    .map((file) => join(folder, file))

/** The blocks of TypeScript in a text, each with the line that it begins on. */
const blocksOf = (place: string, text: string): ReadonlyArray<Snippet> =>
  Array.from(text.matchAll(/^```ts\n([\s\S]*?)^```/gm), ({ index, 1: block = "" }) => ({
    place: `${place}:${text.slice(0, index).split("\n").length}`,
    text: block
  }))

/** What stands in docstrings, each line where it was, without the asterisks. */
const docstringsOf = (source: string): string =>
  source
    .split("\n")
    .map((line) => (/^\s*\*/.test(line) ? line.replace(/^\s*\* ?/, "") : ""))
    .join("\n")

const read = (file: string): Promise<string> => readFile(join(root, file), "utf8")

const snippetsOfPages = async (): Promise<ReadonlyArray<Snippet>> => {
  const pages = [
    ...(await readdir(root)).filter((file) => file.endsWith(".md")),
    // Its blocks are files of examples/, which belong together and are compiled there.
    ...(await filesBelow("docs", ".md")).filter(
      (file) => file !== join("docs", "getting-started.md") && !file.startsWith(join("docs", ".site"))
    )
  ]
  return (await Promise.all(pages.map(async (page) => blocksOf(page, await read(page))))).flat()
}

const snippetsOfDocstrings = async (): Promise<ReadonlyArray<Snippet>> => {
  const sources = await filesBelow("src", ".ts")
  return (await Promise.all(sources.map(async (source) => blocksOf(source, docstringsOf(await read(source)))))).flat()
}

/** Whether it registers tests, which a test cannot do. */
const isSuite = ({ text }: Snippet): boolean => text.includes('from "holdfast/testing/ContractSuite"')

/** Whether it has a program to run. The others only declare something: most need a server, or an application's own code. */
const hasProgram = ({ text }: Snippet): boolean => /^const program\b/m.test(text)

// Exporters of others, which this checkout does not install.
const elsewhere = `
declare module "@effect/opentelemetry/NodeSdk" {
  export const layer: (configuration: () => object) => import("effect/Layer").Layer<never>
}
declare module "@opentelemetry/exporter-metrics-otlp-http"
declare module "@opentelemetry/exporter-trace-otlp-http"
declare module "@opentelemetry/sdk-metrics"
declare module "@opentelemetry/sdk-trace-base"
`

describe("the snippets of the pages and the docstrings", () => {
  let directory = ""
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "holdfast-snippets-"))
    await symlink(join(root, "node_modules"), join(directory, "node_modules"))
  })
  afterAll(() => rm(directory, { recursive: true, force: true }))

  it("compile, each by itself", async () => {
    const all = [...(await snippetsOfPages()), ...(await snippetsOfDocstrings())]
    expect(all.length).toBeGreaterThan(5)
    const config = {
      extends: join(root, "tsconfig.base.json"),
      compilerOptions: {
        noEmit: true,
        noUnusedLocals: false,
        // A program of its own, as a reader would begin it.
        module: "NodeNext",
        paths: { holdfast: [join(root, "src/index.ts")], "holdfast/*": [join(root, "src/*.ts")] }
      },
      include: ["*.ts"]
    }
    await writeFile(join(directory, "package.json"), JSON.stringify({ type: "module" }))
    await writeFile(join(directory, "tsconfig.json"), JSON.stringify(config))
    await writeFile(join(directory, "elsewhere.d.ts"), elsewhere)
    for (const [i, { text }] of all.entries()) await writeFile(join(directory, `snippet${i}.ts`), text)

    const tsc = join(root, "node_modules", "typescript-7", "bin", "tsc")
    // Several checkers would each work out the types of Effect.
    const output = await run(process.execPath, [tsc, "-p", ".", "--checkers", "1"], { cwd: directory }).then(
      () => "",
      (error: { readonly stdout: string }) => error.stdout
    )
    const placed = output.replace(
      /snippet(\d+)\.ts\((\d+)/g,
      (_, i, line) => `${all[Number(i)]?.place}, its line (${line}`
    )
    expect(placed).toBe("")
  })

  it("run, those of docstrings: each loads, and its program succeeds", async () => {
    const all = (await snippetsOfDocstrings()).filter((snippet) => !isSuite(snippet))
    expect(all.filter(hasProgram).length).toBeGreaterThan(10)
    const failures: Array<string> = []
    for (const [i, snippet] of all.entries()) {
      const file = join(directory, `example${i}.ts`)
      await writeFile(file, hasProgram(snippet) ? `${snippet.text}\nexport { program }\n` : snippet.text)
      try {
        const { program } = await import(file)
        if (program !== undefined) await Effect.runPromise(program)
      } catch (error) {
        failures.push(`${snippet.place}: ${error}`)
      }
    }
    expect(failures).toEqual([])
  })
})
