import { useEffect, useRef } from "preact/hooks"
import uPlot from "uplot"
import * as format from "./format.js"
import { theme } from "./theme.js"
import type { Sample } from "./types.js"

/** A line of a chart. Lines differ in their strokes, not in their colours alone. */
export interface Line {
  readonly name: string
  readonly color: string
  readonly dash?: Array<number> | undefined
  readonly of: (sample: Sample) => number | null
}

const colorOf = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim()

const options = (width: number, lines: ReadonlyArray<Line>, show: (value: number) => string): uPlot.Options => ({
  width,
  height: 132,
  padding: [8, 8, 0, 0],
  cursor: { y: false, points: { size: 6 } },
  legend: { show: false },
  scales: { x: { time: true }, y: { range: (_, __, max) => [0, max > 0 ? max * 1.15 : 1] } },
  axes: [
    {
      stroke: colorOf("--faint"),
      grid: { show: false },
      ticks: { show: false },
      size: 22,
      font: "11px system-ui",
      values: (_, splits) => splits.map((time) => format.moment(time).slice(11, 19)),
      space: 90
    },
    {
      stroke: colorOf("--faint"),
      grid: { stroke: colorOf("--line"), width: 1 },
      ticks: { show: false },
      size: 54,
      font: "11px system-ui",
      values: (_, splits) => splits.map(show),
      space: 28
    }
  ],
  series: [
    {},
    ...lines.map(({ color, dash, name }) => ({
      label: name,
      stroke: colorOf(color),
      width: 1.6,
      spanGaps: true,
      points: { show: false },
      ...(dash === undefined ? {} : { dash })
    }))
  ]
})

const dataOf = (samples: ReadonlyArray<Sample>, lines: ReadonlyArray<Line>): uPlot.AlignedData => [
  samples.map(({ time }) => time),
  ...lines.map(({ of }) => samples.map(of))
]

const lastOf = (samples: ReadonlyArray<Sample>, of: Line["of"]): number | null => {
  for (let i = samples.length - 1; i >= 0; i--) {
    const sample = samples[i]
    const value = sample === undefined ? null : of(sample)
    if (value !== null) return value
  }
  return null
}

export const Chart = ({
  lines,
  samples,
  show,
  title
}: {
  readonly title: string
  readonly lines: ReadonlyArray<Line>
  readonly samples: ReadonlyArray<Sample>
  readonly show: (value: number) => string
}) => {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  const shade = theme.value

  useEffect(() => {
    const element = place.current
    if (element === null) return
    const chart = new uPlot(options(element.clientWidth || 300, lines, show), dataOf(samples, lines), element)
    plot.current = chart
    const observer = new ResizeObserver(() => chart.setSize({ width: element.clientWidth || 300, height: 132 }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      chart.destroy()
      plot.current = undefined
    }
  }, [shade, lines])

  useEffect(() => {
    plot.current?.setData(dataOf(samples, lines))
  }, [samples, lines])

  return (
    <figure class="chart">
      <figcaption>
        <span>{title}</span>
        <span class="legend">
          {lines.map(({ color, dash, name, of }) => {
            const last = lastOf(samples, of)
            return (
              <span key={name}>
                <svg class={`swatch ${color.slice(2)}`} viewBox="0 0 18 6" aria-hidden="true">
                  <path d="M0 3h18" stroke-dasharray={dash?.join(" ")} />
                </svg>
                {name} <b class="num">{last === null ? "unknown" : show(last)}</b>
              </span>
            )
          })}
        </span>
      </figcaption>
      <div ref={place} class="plot" aria-hidden="true" />
    </figure>
  )
}
