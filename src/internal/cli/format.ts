import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import type { Status } from "../../Execution.js"
import * as Time from "../../Time.js"
import type { Color } from "./table.js"

/** What stands for nothing. */
export const nothing = "-"

/** A time of the store, in seconds since the epoch. */
export const time = (seconds: number | null): string => {
  if (seconds === null) return nothing
  return Option.match(Time.toDateTime(seconds), { onNone: () => String(seconds), onSome: DateTime.formatIso })
}

export const optionalTime = (seconds: Option.Option<number>): string => time(Option.getOrNull(seconds))

export const text = (value: string | null): string => value ?? nothing

export const many = (count: number, one: string, more = `${one}s`): string =>
  `${count.toLocaleString("en-US")} ${count === 1 ? one : more}`

const colors: { readonly [status in Status]?: Color } = {
  DONE: "green",
  FAILED: "red",
  RUNNING: "cyan",
  SUSPENDED: "yellow",
  CANCELLING: "yellow",
  CANCELLED: "dim"
}

export const statusColor = (status: Status): Color | undefined => colors[status]
