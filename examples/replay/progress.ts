/**
 * How far it is, on stderr, so that stdout stays clean.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

/** Is told how many rows are sent, again and again. */
export type Progress = (sent: number) => Effect.Effect<void>

/** Shows nothing. */
export const none: Progress = () => Effect.void

const number = new Intl.NumberFormat("en")

/** One line each time. */
export const lines =
  (total: number): Progress =>
  (sent) =>
    write(`${number.format(sent)} of ${number.format(total)} rows\n`)

/** How long there is at least between two lines, in milliseconds. */
const pause = 5000

/** A line now and then, and the first at once: enough for a log file to show that it goes on. */
export const linesNowAndThen = (total: number): Effect.Effect<Progress> =>
  Effect.sync(() => {
    const line = lines(total)
    let next = Number.NEGATIVE_INFINITY
    return (sent) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        if (now < next) return Effect.void
        next = now + pause
        return line(sent)
      })
  })

const barWidth = 30

/** A bar that is drawn over itself, and gone when the scope closes: what comes after it begins on a clean line. */
export const bar = (total: number): Effect.Effect<Progress, never, Scope.Scope> => {
  const draw: Progress = (sent) => {
    const filled = Math.round((barWidth * sent) / total)
    const text = `${number.format(sent)} of ${number.format(total)} rows`
    return write(`\r\u001b[K${"█".repeat(filled)}${"░".repeat(barWidth - filled)} ${text}`)
  }
  return Effect.acquireRelease(Effect.succeed(draw), () => write("\r\u001b[K"))
}

const write = (text: string): Effect.Effect<void> => Effect.sync(() => void process.stderr.write(text))
