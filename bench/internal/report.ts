import * as os from "node:os"
import type { Figure, Target } from "./figure.js"

/** Where and how the figures were taken. */
export interface Context {
  readonly node: string
  readonly sqlite: string
  readonly processor: string
  readonly cores: number
  readonly platform: string
  readonly settings: string
  readonly seconds: number
}

export const context = (sqlite: string, settings: string, seconds: number): Context => ({
  node: process.version,
  sqlite,
  processor: os.cpus()[0]?.model ?? "unknown processor",
  cores: os.cpus().length,
  platform: `${os.type()} ${os.arch()}`,
  settings,
  seconds
})

const heading = ["figure", "value", "baseline", "baseline's value", "ratio", "target", ""] as const

const digits = (value: number): string => {
  const size = Math.abs(value)
  if (!Number.isFinite(value)) return "-"
  if (size >= 100) return Math.round(value).toLocaleString("en-US")
  return value.toFixed(size >= 10 ? 1 : 2)
}

const withUnit = (value: number, unit: string): string =>
  unit.startsWith("/") ? `${digits(value)}${unit}` : `${digits(value)} ${unit}`

const targetText = (target: Target | null, unit: string): string => {
  if (target === null) return ""
  const { bound, limit, of } = target
  const text = of === "ratio" ? `x${limit}` : `${limit.toLocaleString("en-US")} ${unit}`
  return `${bound} ${text}${of === "difference" ? " more" : ""}`
}

const verdict = ({ met }: Figure): string => (met === null ? "" : met ? "met" : "MISSED")

/** The ratio, and from where to where it went in the rounds. */
const ratioText = ({ ratio, ratios }: Figure): string =>
  ratios.length > 1
    ? `x${digits(ratio)} (${digits(Math.min(...ratios))} to ${digits(Math.max(...ratios))})`
    : `x${digits(ratio)}`

const cells = (figure: Figure): ReadonlyArray<string> => [
  figure.name,
  withUnit(figure.value, figure.unit),
  figure.baseline.name,
  withUnit(figure.baseline.value, figure.unit),
  ratioText(figure),
  targetText(figure.target, figure.unit),
  verdict(figure)
]

const byTopic = (figures: ReadonlyArray<Figure>): ReadonlyArray<readonly [string, ReadonlyArray<Figure>]> =>
  Array.from(new Set(figures.map((figure) => figure.topic)), (topic) => [
    topic,
    figures.filter((figure) => figure.topic === topic)
  ])

const describe = (context: Context): string =>
  `${context.processor}, ${context.cores} cores, ${context.platform}, Node ${context.node}, SQLite ${context.sqlite}; ${context.settings}; ${Math.round(context.seconds)} s in all`

/** A table for a terminal. */
export const text = (context: Context, figures: ReadonlyArray<Figure>): string => {
  const rows = figures.map(cells)
  const widths = heading.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (row: ReadonlyArray<string>): string =>
    row
      .map((cell, i) => (numeric.has(i) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join("  ")
      .trimEnd()
  const sections = byTopic(figures).flatMap(([topic, those]) => [
    "",
    topic,
    line(heading),
    ...those.map((figure) => line(cells(figure)))
  ])
  return [describe(context), ...sections].join("\n")
}

const numeric = new Set([1, 3])

/** The same as Markdown, as it stands in docs/performance.md. */
export const markdown = (context: Context, figures: ReadonlyArray<Figure>): string => {
  const line = (row: ReadonlyArray<string>): string => `| ${row.join(" | ")} |`
  const rule = line(heading.map((_, i) => (numeric.has(i) ? "---:" : "---")))
  const sections = byTopic(figures).flatMap(([topic, those]) => [
    "",
    `### ${topic}`,
    "",
    line(heading),
    rule,
    ...those.map((figure) => line(cells(figure)))
  ])
  return [`${describe(context)}.`, ...sections].join("\n")
}

export const json = (context: Context, figures: ReadonlyArray<Figure>): string =>
  JSON.stringify({ ...context, figures }, undefined, 2)
