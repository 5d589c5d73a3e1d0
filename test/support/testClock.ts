/**
 * Effect's clock of a test lets three milliseconds pass at each of its steps, in which what runs can come to rest. Most of a run would be
 * such waiting. Here it lets turns of the event loop pass, which take a hundredth of that, where nothing is under way outside of them: no
 * request, no file, no process.
 */
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"

/** After so many turns without anything under way, or milliseconds with something, all is taken to be at rest, as Effect does. */
const enough = 3

/** How many turns more are given to those who ask for turns, of whom some always do. */
const most = 100

/** Timers of the process, its pipes and its terminal are there while nothing is under way. */
const idle = new Set(["Timeout", "PipeWrap", "TTYWrap", "MessagePort"])

const underWay = (): "outside" | "turns" | "nothing" => {
  const resources = process.getActiveResourcesInfo().filter((resource) => !idle.has(resource))
  if (resources.length === 0) return "nothing"
  return resources.every((resource) => resource === "Immediate") ? "turns" : "outside"
}

const rest = Effect.async<void>((resume) => {
  let waited = 0
  let given = 0
  const turn = (): void => {
    if (waited === enough) {
      resume(Effect.void)
      return
    }
    const found = underWay()
    if (found !== "turns" || ++given > most) waited++
    if (found === "outside") setTimeout(turn, 0)
    else setImmediate(turn)
  }
  turn()
})

// Bun does not tell what is under way.
if (typeof process.getActiveResourcesInfo === "function" && process.versions["bun"] === undefined) {
  const clock = Effect.runSync(Effect.provide(TestClock.testClock(), TestContext.TestContext))
  Object.defineProperty(Object.getPrototypeOf(clock), "awaitSuspended", { configurable: true, value: () => rest })
}
