import type { Status } from "./types.js"

/** Each status has a shape of its own, for whoever does not see colours. */
const shapes: { readonly [status in Status]: string } = {
  PENDING: "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11z",
  RUNNING: "M5 3l8 5-8 5z",
  DONE: "M3 8.5l3.3 3.3L13 4.6",
  CANCELLED: "M3.5 8h9",
  SUSPENDED: "M5.5 3v10M10.5 3v10",
  CANCELLING: "M3 5.5h10M3 10.5h10",
  FAILED: "M4 4l8 8M12 4l-8 8"
}

export const StatusIcon = ({ status }: { readonly status: Status }) => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={shapes[status]} />
  </svg>
)

const lines = {
  copy: "M6 2h7v9M3 5h7v9H3z",
  chevron: "M6 3.5l4.5 4.5L6 12.5",
  moon: "M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z",
  sun: "M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7",
  warning: "M8 2.2L14.5 13.5h-13zM8 6.5v3.2M8 11.6v.2",
  clock: "M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 4.7V8l2.3 1.6",
  right: "M3 8h9M8.5 4.5L12 8l-3.5 3.5",
  close: "M4 4l8 8M12 4l-8 8"
} as const

export const Icon = ({ name }: { readonly name: keyof typeof lines }) => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={lines[name]} />
  </svg>
)
