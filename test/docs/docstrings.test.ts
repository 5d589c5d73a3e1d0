import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import ts from "typescript"
import { describe, expect, it } from "vitest"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** Something that a public module exports, or the module itself, and its docstring. */
interface Documented {
  readonly place: string
  readonly isModule: boolean
  readonly text: string
  readonly tags: ReadonlyMap<string, string>
}

const textOf = (comment: ts.JSDoc["comment"]): string => ts.getTextOfJSDocComment(comment)?.trim() ?? ""

const documented = (place: string, isModule: boolean, docs: ReadonlyArray<ts.JSDoc>): Documented => {
  const doc = docs.at(-1)
  return {
    place,
    isModule,
    text: textOf(doc?.comment),
    tags: new Map(doc?.tags?.map((tag) => [tag.tagName.text, textOf(tag.comment)]))
  }
}

const isExported = (node: ts.Node): boolean =>
  ts.canHaveModifiers(node) &&
  (ts.getModifiers(node) ?? []).some((modifier) => modifier.kind === ts.SyntaxKind.ExportKeyword)

const namesOf = (statement: ts.Statement): ReadonlyArray<string> => {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map((declaration) => declaration.name.getText())
  }
  const isNamed =
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isModuleDeclaration(statement)
  return isNamed && statement.name !== undefined ? [statement.name.text] : []
}

/** The exports of a list of statements, namespaces and what is in them too. Of overloads the first has the docstring. */
const exportsOf = (file: string, statements: ReadonlyArray<ts.Statement>): ReadonlyArray<Documented> => {
  const functions = new Set<string>()
  return statements.filter(isExported).flatMap((statement) => {
    const inner =
      ts.isModuleDeclaration(statement) && statement.body !== undefined && ts.isModuleBlock(statement.body)
        ? exportsOf(file, Array.from(statement.body.statements))
        : []
    const own = namesOf(statement)
      .filter((name) => !ts.isFunctionDeclaration(statement) || !functions.has(name))
      .map((name) => documented(`${file} ${name}`, false, ts.getJSDocCommentsAndTags(statement).filter(ts.isJSDoc)))
    if (ts.isFunctionDeclaration(statement)) for (const name of namesOf(statement)) functions.add(name)
    return [...own, ...inner]
  })
}

/** What a module exports that is declared in a room: there is its docstring. */
const declaredElsewhere = (file: string, statements: ReadonlyArray<ts.Statement>): ReadonlyArray<Documented> =>
  statements.flatMap((statement) => {
    if (!ts.isExportDeclaration(statement) || statement.exportClause === undefined) return []
    const { exportClause, moduleSpecifier } = statement
    if (!ts.isNamedExports(exportClause) || moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) {
      return []
    }
    if (!moduleSpecifier.text.startsWith("./internal/")) return []
    const target = join(root, "src", moduleSpecifier.text.replace(/\.js$/, ".ts"))
    const source = ts.createSourceFile(target, readFileSync(target, "utf8"), ts.ScriptTarget.Latest, true)
    const names = new Set(exportClause.elements.map(({ name }) => `${file} ${name.text}`))
    return exportsOf(file, Array.from(source.statements)).filter(({ place }) => names.has(place))
  })

/** The docstring that a module begins with. It stands before the first statement, whose own comes behind it. */
const moduleOf = (file: string, source: ts.SourceFile): Documented => {
  const [first] = source.statements
  const docs = first === undefined ? [] : ts.getJSDocCommentsAndTags(first).filter(ts.isJSDoc)
  return documented(file, true, docs.slice(0, 1))
}

const all = ["src", "src/testing"].flatMap((folder) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".ts") && name !== "index.ts")
    .flatMap((name) => {
      const file = `${folder}/${name}`
      const text = readFileSync(join(root, file), "utf8")
      const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
      const statements = Array.from(source.statements)
      return [moduleOf(file, source), ...exportsOf(file, statements), ...declaredElsewhere(file, statements)]
    })
)

const places = (wrong: (documented: Documented) => boolean): ReadonlyArray<string> =>
  all.filter(wrong).map(({ place }) => place)

/** Where no user starts: what other modules give or fail with, and what authors of a store implement. */
const withoutExample = [
  "ActivityError",
  "ControlError",
  "CronError",
  "DefinitionError",
  "EncodedStore",
  "Json",
  "ProcessorError",
  "QueueWorker",
  "RqliteError",
  "TransferError",
  "testing/Generators",
  "testing/Subject"
]

describe("the docstrings of what users import", () => {
  it("are found", () => {
    expect(all.filter(({ isModule }) => isModule).length).toBeGreaterThan(40)
    expect(all.length).toBeGreaterThan(400)
  })

  it("say something of each module and each export", () => {
    expect(places(({ text }) => !/[.:]$|\.\)$/.test(text))).toEqual([])
  })

  it("say since when", () => {
    expect(places(({ tags }) => !/^\d+\.\d+\.\d+$/.test(tags.get("since") ?? ""))).toEqual([])
  })

  it("sort the exports", () => {
    expect(places(({ isModule, tags }) => !isModule && !/^[a-z][a-z -]*$/.test(tags.get("category") ?? ""))).toEqual([])
  })

  it("have their examples as blocks of TypeScript, which are compiled", () => {
    expect(
      places(({ tags }) => tags.has("example") && !/^```ts\n[\s\S]*\n```$/.test(tags.get("example") ?? ""))
    ).toEqual([])
  })

  it("have an example in each module that a user starts with", () => {
    const modules = new Set(places(({ isModule }) => isModule).map((file) => file.replace(/^src\/|\.ts$/g, "")))
    const shown = new Set(
      places(({ tags }) => tags.has("example")).map((place) => place.replace(/^src\/([\w/]+)\.ts.*$/, "$1"))
    )
    const missing = Array.from(modules).filter((module) => !shown.has(module))
    expect(missing.toSorted()).toEqual(withoutExample.toSorted())
  })

  it("have lines of at most 140 characters", () => {
    expect(places(({ text }) => text.split("\n").some((line) => line.length > 140))).toEqual([])
  })
})
