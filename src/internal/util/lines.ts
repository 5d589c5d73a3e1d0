/** A text of several lines, without the indentation that it has in the source, and without empty lines. */
export const lines = (strings: TemplateStringsArray, ...parts: ReadonlyArray<string | number>): string =>
  String.raw({ raw: strings }, ...parts)
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .join("\n")
