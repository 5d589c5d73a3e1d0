import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { CliError } from "./failure.js"

/**
 * Where a command writes to, and whom it asks.
 *
 * - `out`: writes a line of data to stdout; `note`: writes one for people to stderr.
 * - `colors`, `width`: what the terminal of stdout can show. `width` is none where stdout is no terminal.
 * - `confirm`: asks for a yes; fails where nobody can answer.
 * - `progress`: shows how far something has come, in place of what it showed before; shows nothing where stderr is no terminal.
 * - `clear`: empties the terminal, for what is shown anew again and again.
 */
export interface Screen {
  readonly out: (line: string) => Effect.Effect<void>
  readonly note: (line: string) => Effect.Effect<void>
  readonly colors: boolean
  readonly width: number | undefined
  readonly confirm: (question: string) => Effect.Effect<boolean, CliError>
  readonly progress: (line: string) => Effect.Effect<void>
  readonly clear: Effect.Effect<void>
}

export const Screen: Context.Tag<Screen, Screen> = Context.GenericTag<Screen>("holdfast/cli/Screen")

export const out = (line: string) => Effect.flatMap(Screen, (screen) => screen.out(line))
export const note = (line: string) => Effect.flatMap(Screen, (screen) => screen.note(line))
export const progress = (line: string) => Effect.flatMap(Screen, (screen) => screen.progress(line))
