/** A text of several lines, without the indentation that it has in the source, and without empty lines. A store makes hundreds as it opens. */
export const lines = (strings: TemplateStringsArray, ...parts: ReadonlyArray<string | number>): string => {
  let text = strings[0] ?? ""
  for (const [i, part] of parts.entries()) text += part + (strings[i + 1] ?? "")
  return text.trim().replace(/\s*\n\s*/g, "\n")
}
