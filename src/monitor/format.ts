const many = new Intl.NumberFormat("en-US")
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 })

export const whole = (n: number): string => many.format(n)

/** A number in few characters. */
export const compact = (n: number): string =>
  Math.abs(n) < 100_000 ? many.format(Math.round(n * 10) / 10) : short.format(n)

const pad = (n: number): string => String(n).padStart(2, "0")

/** A time of day with its date, in the reader's zone. */
export const moment = (seconds: number): string => {
  const date = new Date(seconds * 1000)
  if (Number.isNaN(date.getTime())) return String(seconds)
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`
  return `${day} ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`
}

const units: ReadonlyArray<readonly [number, string]> = [
  [31_557_600, "y"],
  [86_400, "d"],
  [3600, "h"],
  [60, "m"]
]

/** A length of time in its two largest units. */
export const span = (seconds: number): string => {
  const length = Math.abs(seconds)
  if (length < 1) return `${Math.round(length * 1000)} ms`
  if (length < 10) return `${Math.round(length * 10) / 10} s`
  if (length < 60) return `${Math.floor(length)} s`
  const at = units.findIndex(([size]) => length >= size)
  const [size, name] = units[at] ?? [1, "s"]
  const [lesser, lesserName] = units[at + 1] ?? [1, "s"]
  const rest = Math.floor((length % size) / lesser)
  return `${Math.floor(length / size)}${name}${rest === 0 ? "" : ` ${rest}${lesserName}`}`
}

/** A time as how far away it is. */
export const relative = (seconds: number, now: number): string => {
  const away = seconds - now
  if (Math.abs(away) < 1) return "now"
  return away < 0 ? `${span(away)} ago` : `in ${span(away)}`
}

export const times = (count: number, one: string, more = `${one}s`): string =>
  `${whole(count)} ${count === 1 ? one : more}`

/** A text with a capital at its beginning. */
export const sentence = (text: string): string => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`
